// Shows notifications while no page is open. A message has no text of agents: only how many items there are, of which
// kind, and an opaque id by which the server finds the card.
"use strict";

const KINDS = {
  questions: "An agent asks a question",
  permissions: "An agent asks for a permission",
  plans: "A plan waits for you",
  failed: "A task cannot go on",
  finished: "A task is finished",
};

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let told = {};
  try { told = event.data?.json() ?? {}; } catch { /* of another version: something is there, anyway */ }
  const count = Number(told.count);
  const single = count === 1 && typeof told.open === "string";
  const title = single ? KINDS[told.kind] ?? "Something waits for you"
    : count === 0 ? "Notifications work" : `${count > 1 ? `${count} updates` : "News"} from your agents`;
  // Browsers end subscriptions whose messages show nothing, so each message is shown.
  event.waitUntil(self.registration.showNotification(title, {
    tag: single ? told.open : "rapport",
    renotify: true,
    icon: "/assets/worker/icon-192.png",
    badge: "/assets/worker/badge-96.png",
    data: { open: single ? `/o/${encodeURIComponent(told.open)}` : "/" },
  }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data?.open ?? "/"));
});

// An open page decides itself: somebody may be writing there.
async function show(address) {
  const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!page) return self.clients.openWindow(address);
  page.postMessage({ open: address });
  return page.focus();
}
