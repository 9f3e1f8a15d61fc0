// The suite has no way to present a token, so this adds it to every request, whichever of Node's clients sends it.
import { subscribe } from 'node:diagnostics_channel';

const bearer = `Bearer ${process.env.RAPPORT_TEST_TOKEN}`;
subscribe('undici:request:create', ({ request }) => request.addHeader('authorization', bearer));
subscribe('http.client.request.created', ({ request }) => request.setHeader('authorization', bearer));
