// Leads a worker with the client of the MCP project itself. Arguments: where that client is installed, the protocol ("modern" or
// "legacy"), who confirms the plan ("test" or "dialog"), and the command of the server. Prints a line of JSON for each thing that
// happens.
import { pathToFileURL } from 'node:url';

const [place, era, confirms, command, ...args] = process.argv.slice(2);
const dialogs = confirms === 'dialog';
const dist = `${place}/node_modules/@modelcontextprotocol/client/dist`;
const { Client } = await import(pathToFileURL(`${dist}/index.mjs`));
const { StdioClientTransport } = await import(pathToFileURL(`${dist}/stdio.mjs`));

const say = (event, data) => console.log(JSON.stringify({ event, data }));
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const capabilities = dialogs ? { elicitation: { form: {} } } : {};
const client = new Client({ name: 'foreign-client', version: '1' }, { versionNegotiation: { mode }, capabilities });
if (dialogs) {
  client.setRequestHandler('elicitation/create', async (request) => {
    say('dialog', request.params);
    return { action: 'accept', content: { answer: 'confirm' } };
  });
}
await client.connect(transport);
say('connected', { server: client.getServerVersion()?.name, protocol: client.getNegotiatedProtocolVersion?.() });
const { tools } = await client.listTools();
say('tools', tools.map((tool) => tool.name));

const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args }, { timeout: 60_000, resetTimeoutOnProgress: true });
  const told = { ...result.structuredContent, isError: result.isError === true, text: result.content[0].text };
  say(name, told);
  return told;
};
const { taskId } = await call('task_worker', { task: 'paint' });
await call('wait', { taskId });
await call('answer_worker_question', { taskId, answer: 'Blue' });
if (!dialogs) {
  await call('wait', { taskId });
  await call('answer_worker_question', { taskId, answer: 'confirm' });
}
const { diffId } = await call('wait', { taskId });
await call('review_changes', { diffId });
await call('apply_changes', { diffId });
await client.close();
say('closed', {});
