// Keeps a page in step with the server, and makes keys do what they say. Everything works without it, by loading pages.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const SILENCE = 40_000; // the server says something every 15 seconds
  let stream = null;
  let heard = Date.now();
  let cut = false;
  let fetching = false;
  let again = false;
  let retry = 500;
  let ticked = Date.now();

  // What somebody wrote into forms, by the forms' ids.
  function written() {
    return $$("form[data-dirty]").map((form) => ({
      id: form.id,
      key: form.dataset.key,
      texts: $$("textarea, input[type=text]", form).map((field) => [field.name, field.value]),
      checked: $$("input[type=checkbox]", form).map((box) => [box.value, box.checked]),
    }));
  }

  // Puts it back into forms that were drawn anew, such as the form of a question that has a draft now. `restore` shows
  // the words for a form that is gone.
  function put_back(kept) {
    for (const { id, key, texts, checked } of kept) {
      if ($$("form[data-key]").some((form) => form.dataset.key === key)) continue;
      const form = id && document.getElementById(id);
      if (!form) continue;
      for (const [name, text] of texts) {
        const field = $$("textarea, input[type=text]", form).find((one) => one.name === name);
        if (field && text) field.value = text;
      }
      for (const [value, is_checked] of checked) {
        const box = $$("input[type=checkbox]", form).find((one) => one.value === value);
        if (box) box.checked = is_checked;
      }
      form.dataset.dirty = "yes";
    }
  }

  // Takes over what differs in another drawing of this page. What somebody wrote, or opened, stays.
  function take(html) {
    const next = new DOMParser().parseFromString(html, "text/html");
    if (next.body.dataset.build !== document.body.dataset.build) return location.reload();
    const kept = written();
    const open = $("dialog[open]");
    document.title = next.title;
    document.body.dataset.session = next.body.dataset.session || "";
    Idiomorph.morph(document.body, next.body, {
      morphStyle: "innerHTML",
      ignoreActiveValue: true,
      restoreFocus: true,
      callbacks: {
        beforeNodeMorphed(old, now) {
          if (old.nodeName === "DIALOG") return false;
          if (old.id === "link-state" || old.id === "unsent") return false;
          // What a person chose of how to look at things stays.
          if (old.classList?.contains("diff-switch")) return false;
          // What was fetched on request is not fetched again by drawing the page.
          if (old.id === "preview" && "fetched" in old.dataset && !("fetched" in now.dataset)) return false;
          // A message stays until the next act.
          if (old.id === "said" && now.childElementCount === 0) return false;
          if (old.nodeName === "FORM" && old.dataset.dirty && old.dataset.key === now.dataset.key) return false;
          return true;
        },
        beforeAttributeUpdated(name, node) {
          return !(name === "open" && node.nodeName === "DETAILS");
        },
      },
    });
    put_back(kept);
    if (!open) enhance();
    ages();
    restore();
    badge();
  }

  // What somebody began to write in a form.
  function words(form) {
    return $$("textarea", form).map((place) => place.value.trim()).filter(Boolean).join("\n");
  }

  // What is written and not sent, by its form. It survives a reload, such as that of a page of another version.
  const drafts = {
    all: (() => { try { return JSON.parse(sessionStorage.getItem("drafts")) ?? {}; } catch { return {}; } })(),
    key: (form) => form.id || `${location.pathname} ${form.dataset.key}`,
    keep() { try { sessionStorage.setItem("drafts", JSON.stringify(this.all)); } catch { /* this page has it */ } },
    set(form) {
      const text = words(form);
      if (!text) return this.drop(this.key(form));
      this.all[this.key(form)] = { text, at: location.pathname + location.search };
      this.keep();
    },
    drop(key) { delete this.all[key]; this.keep(); },
  };

  // Shows words that were written for a card that is gone, until somebody says that they are not needed.
  function unsent(key, text) {
    const place = $("#unsent");
    if (!place || $$("[data-draft]", place).some((one) => one.dataset.draft === key)) return;
    // The server shows what it refused.
    if ($("#said").textContent.includes(text)) return drafts.drop(key);
    const label = document.createElement("label");
    const about = document.createElement("span");
    about.textContent = "You wrote this, and it was not sent, because that no longer waits:";
    const kept = document.createElement("textarea");
    kept.readOnly = true;
    kept.value = text;
    label.append(about, kept);
    const close = document.createElement("button");
    close.type = "button";
    close.className = "small";
    close.textContent = "I do not need it";
    const shown = document.createElement("div");
    shown.dataset.draft = key;
    shown.append(label, close);
    close.addEventListener("click", () => {
      drafts.drop(key);
      shown.remove();
      place.hidden = place.childElementCount === 0;
    });
    place.append(shown);
    place.hidden = false;
  }

  // Puts back what was written before this page was drawn again, and shows it where its card is gone.
  function restore() {
    const forms = $$("form[data-key]");
    for (const [key, { text, at }] of Object.entries(drafts.all)) {
      const form = forms.find((one) => drafts.key(one) === key);
      const place = form && $("textarea", form);
      if (place && !place.value) { place.value = text; form.dataset.dirty = "yes"; }
      if (!form && at === location.pathname + location.search) unsent(key, text);
    }
  }

  // How much waits, on the icon of the installed page.
  function badge() {
    const waiting = Number($("[data-waiting]")?.textContent ?? 0);
    if (waiting) navigator.setAppBadge?.(waiting).catch(() => {}); else navigator.clearAppBadge?.().catch(() => {});
  }

  // The address of this page with the card that is in front of the person: no other card takes its place.
  function pinned() {
    const address = new URL(location.href);
    const front = $("[data-front]");
    if (!front) return address.href;
    if (address.pathname === "/" && !address.searchParams.has("s")) {
      address.searchParams.set("s", front.dataset.front);
      address.searchParams.set("q", front.dataset.question);
    } else if (document.body.dataset.session) {
      address.searchParams.set("pin", front.dataset.question);
    }
    return address.href;
  }

  // Fetches this page again. One request is under way at most; what changes meanwhile leads to one more.
  async function refresh() {
    if (fetching) { again = true; return; }
    fetching = true;
    try {
      const [here, address] = [location.href, pinned()];
      const response = await fetch(address, { headers: { accept: "text/html" }, redirect: "follow" });
      const html = await response.text();
      if (response.status === 401) return void take_as_is(html);
      // Meanwhile the person may have gone to another card.
      if (response.ok && here === location.href && address === pinned()) take(html);
    } catch { lost(); } finally {
      fetching = false;
      if (again) { again = false; refresh(); }
    }
  }

  // Another page altogether, such as one for a device that is not let in any more.
  function take_as_is(html) {
    const next = new DOMParser().parseFromString(html, "text/html");
    document.title = next.title;
    document.body.replaceWith(next.body);
    if (stream) stream.close();
    stream = null;
  }

  function state(words) {
    const place = $("#link-state");
    if (place && place.textContent !== words) place.textContent = words;
    document.body.classList.toggle("cut", words !== "" && cut);
  }

  function lost() {
    cut = true;
    state("Not connected. What you see may be old.");
  }

  function connect() {
    if (stream) stream.close();
    if (!$("header nav")) return; // nobody is let in here
    stream = new EventSource("/events");
    const hear = (name, then) => stream.addEventListener(name, (event) => {
      heard = Date.now();
      then(JSON.parse(event.data));
    });
    hear("hello", (data) => {
      retry = 500;
      if (data.build !== document.body.dataset.build) return location.reload();
      const was = cut;
      cut = false;
      refresh().then(() => {
        const now = new Date().toTimeString().slice(0, 5);
        state(was ? `Connected again. Up to date since ${now}.` : "");
      });
    });
    hear("changed", (data) => {
      const own = document.body.dataset.session;
      if (!own || !data.session || data.session === own) return refresh();
      count(data.waiting);
    });
    hear("doing", (data) => {
      const place = $("#doing");
      if (place && place.dataset.session === data.session) place.textContent = data.doing;
    });
    hear("beat", () => {});
    stream.onerror = () => {
      lost();
      // A stream that was refused is not tried again by itself.
      if (stream && stream.readyState === EventSource.CLOSED) {
        setTimeout(connect, retry);
        retry = Math.min(retry * 2, 15_000);
      }
    };
  }

  // How much waits, on a page about something else.
  function count(waiting) {
    const place = $("[data-waiting]");
    if (!place || waiting === undefined) return refresh();
    place.textContent = waiting;
    document.title = document.title.replace(/^\(\d+\) /, waiting ? `(${waiting}) ` : "");
    badge();
  }

  // After a sleep, the stream may look alive and be dead.
  function wake() {
    if (document.visibilityState !== "visible" || Date.now() - heard < SILENCE) return;
    lost();
    heard = Date.now();
    connect();
  }

  function ages() {
    for (const place of $$("time[data-ago]")) {
      const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(place.dateTime)) / 60_000));
      const hours = Math.floor(minutes / 60);
      const words = hours >= 48 ? `${Math.floor(hours / 24)} days ago`
        : hours >= 1 ? `${hours} h ago` : minutes >= 1 ? `${minutes} min ago` : "just now";
      if (place.textContent !== words) place.textContent = words;
    }
  }

  // What only a page with this script can do.
  function enhance() {
    for (const button of $$("[data-toggle-group]")) button.hidden = false;
    notifications();
    const view = localStorage.getItem("diff-view");
    for (const choice of $$(".diff-switch input")) if (choice.value === view) choice.checked = true;
  }

  // Where notifications can be turned on, and why not otherwise.
  function notifications() {
    const section = $("#notifications");
    if (!section) return;
    for (const place of $$("[data-zone]", section)) place.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
    const button = $("[data-subscribe]", section);
    if (!button) return void resubscribe(section);
    const isApple = /iPhone|iPad/.test(navigator.userAgent);
    const why = !isSecureContext ? "Notifications need HTTPS: docs/web.md says how."
      : !("PushManager" in window) && isApple ? "Add this page to the home screen, and open it from there, to get notifications."
      : !("PushManager" in window && "serviceWorker" in navigator) ? "This browser has no notifications."
      : Notification.permission === "denied" ? "This browser does not allow this page to notify you. Its settings can allow it." : "";
    $("#push-state").textContent = why;
    button.hidden = why !== "";
  }

  async function subscribe(section) {
    const said = $("#push-state");
    try {
      if (await Notification.requestPermission() !== "granted") return notifications();
      const registration = await navigator.serviceWorker.register("/worker.js");
      await navigator.serviceWorker.ready;
      const key = Uint8Array.from(atob(section.dataset.vapid.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
      const options = { userVisibleOnly: true, applicationServerKey: key };
      const manager = registration.pushManager;
      // A subscription with another key was made for another server.
      const subscription = await manager.subscribe(options).catch(async (error) => {
        if (!await (await manager.getSubscription())?.unsubscribe()) throw error;
        return manager.subscribe(options);
      });
      await subscribed(section, subscription);
    } catch (error) {
      said.textContent = `The browser could not subscribe: ${error.message}`;
    }
  }

  // Tells the server where this browser gets notifications.
  async function subscribed(section, subscription) {
    const { endpoint, keys } = subscription.toJSON();
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
    const body = new URLSearchParams({ form: section.dataset.form, do: "subscribe", endpoint, ...keys, zone });
    const response = await fetch("/push", { method: "POST", body, headers: { accept: "text/html" } });
    const html = await response.text();
    if (response.ok) take(html); else say(html);
  }

  // Browsers replace subscriptions now and then.
  async function resubscribe(section) {
    const registration = await navigator.serviceWorker?.getRegistration("/");
    const now = await registration?.pushManager?.getSubscription();
    if (now && section.dataset.endpoint && now.endpoint !== section.dataset.endpoint) {
      section.dataset.endpoint = now.endpoint;
      await subscribed(section, now);
    }
  }

  // What notifications were about is on the page that somebody looks at now.
  async function looked() {
    if (document.visibilityState !== "visible") return;
    const registration = await navigator.serviceWorker?.getRegistration("/");
    for (const shown of await registration?.getNotifications() ?? []) shown.close();
  }

  navigator.serviceWorker?.addEventListener("message", (event) => {
    const address = event.data?.open;
    if (typeof address !== "string" || !/^\/(o\/[0-9a-f]+)?$/.test(address)) return;
    if (!$("form[data-dirty]")) return void (location.href = address);
    // Somebody is writing here, and decides when to go.
    const link = document.createElement("a");
    link.href = address;
    link.textContent = "Open what the notification was about";
    const place = document.createElement("p");
    place.className = "said";
    place.append(link);
    $("#said").replaceChildren(place);
  });

  // Sends a form and takes over the page that follows.
  async function send(form, button) {
    const data = new FormData(form, button || undefined);
    const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
    form.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(form.action, { method: "POST", body, headers: { accept: "text/html" } });
      const html = await response.text();
      if (response.status === 401) return void take_as_is(html);
      if (!response.ok) return void say(html);
      // What was refused is still to be sent.
      if (!$("#said .refused", new DOMParser().parseFromString(html, "text/html"))) {
        delete form.dataset.dirty;
        drafts.drop(drafts.key(form));
      }
      if (form.hasAttribute("data-push") && button?.value === "off") {
        const registration = await navigator.serviceWorker?.getRegistration("/");
        await (await registration?.pushManager?.getSubscription())?.unsubscribe();
      }
      if (response.url !== location.href) history.pushState(null, "", response.url);
      take(html);
      const title = $("#card-title");
      const said = $("#said .refused");
      if (title && !said) title.focus({ preventScroll: false });
    } catch {
      lost();
      say(null);
    } finally {
      form.removeAttribute("aria-busy");
    }
  }

  // Why something did not happen.
  function say(html) {
    const why = html && $("main p", new DOMParser().parseFromString(html, "text/html"));
    const place = document.createElement("p");
    place.className = "said refused";
    place.textContent = why ? why.textContent : "The connection broke, so it is not known whether this was done. Look again when it is back, before you repeat it.";
    $("#said").replaceChildren(place);
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.getAttribute("action") === "/pair") return;
    event.preventDefault();
    if (!form.hasAttribute("aria-busy")) send(form, event.submitter);
  });

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-key]");
    if (!form) return;
    form.dataset.dirty = "yes";
    drafts.set(form);
  });

  // How differences are shown, from now on.
  document.addEventListener("change", (event) => {
    if (event.target.matches(".diff-switch input")) localStorage.setItem("diff-view", event.target.value);
  });

  // An item with a comment is left out.
  document.addEventListener("input", (event) => {
    const about = event.target.dataset?.comment;
    const box = about && $(`[data-item-check][value="${CSS.escape(about)}"]`);
    if (!box || !box.checked || !event.target.value.trim()) return;
    box.checked = false;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // What depends on an item that is left out says so.
  document.addEventListener("change", async (event) => {
    if (!event.target.matches("[data-item-check]")) return;
    const address = new URL(location.href);
    address.searchParams.delete("left");
    for (const box of $$("[data-item-check]:not(:checked)")) address.searchParams.append("left", box.value);
    try {
      const response = await fetch(address, { headers: { accept: "text/html" } });
      const next = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const note of $$(".depends")) note.textContent = $(`#${CSS.escape(note.id)}`, next)?.textContent ?? "";
    } catch { lost(); }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-subscribe]")) return void subscribe($("#notifications"));
    const toggle = event.target.closest("[data-toggle-group]");
    if (!toggle) return;
    const boxes = $$("[data-item-check]", toggle.closest("fieldset"));
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
    boxes[0]?.dispatchEvent(new Event("input", { bubbles: true }));
    boxes[0]?.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // Keys: j and k, 1 to 9, Enter, w, r, b, g i, g s, n, ?
  let going = false;
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at.matches("textarea")) {
      const form = at.form;
      form.requestSubmit($("[value=done], [value=text], [value=reply], [value=say]", form) || undefined);
      return event.preventDefault();
    }
    if (event.key === "Escape" && at.matches("input, textarea, select")) return at.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || at.matches("textarea, select, input:not([type=checkbox])")) return;
    if ($("dialog[open]")) return;
    const went = going;
    going = false;
    const item = (by) => {
      const all = $$("[data-item]");
      const now = all.findIndex((one) => one === document.activeElement);
      const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by))];
      if (next) next.focus();
      return Boolean(next);
    };
    const go = (address) => { location.href = address; return true; };
    const keys = {
      j: () => item(1),
      k: () => item(-1),
      g: () => { going = true; return true; },
      i: () => went && go("/"),
      s: () => went && go("/sessions"),
      n: () => $("header nav a[href='/new']") && go("/new"),
      w: () => { const own = $("[data-own]"); if (own) own.focus(); return Boolean(own); },
      r: () => { const again = $("[data-again]"); if (again) again.click(); return Boolean(again); },
      b: () => { const back = $("[data-back]"); if (back) back.click(); return Boolean(back); },
      "?": () => { $("#keys")?.showModal(); return true; },
    };
    if (/^[1-9]$/.test(event.key)) {
      const option = $(`[data-option="${event.key}"]`);
      if (!option) return;
      if (option.type === "checkbox") option.click();
      option.focus();
      return event.preventDefault();
    }
    if (event.key === "Enter" && at.matches("[data-option][type=checkbox]")) {
      at.form.requestSubmit($("[value=done]", at.form));
      return event.preventDefault();
    }
    if (keys[event.key]?.()) event.preventDefault();
  });

  window.addEventListener("popstate", () => location.reload());
  window.addEventListener("online", wake);
  window.addEventListener("pageshow", (event) => { if (event.persisted) { connect(); } });
  document.addEventListener("visibilitychange", () => { wake(); looked(); });
  setInterval(() => {
    // A timer that is far too late was asleep, and with it the connection.
    if (Date.now() - ticked > 20_000) heard = 0;
    ticked = Date.now();
    ages();
    wake();
  }, 5_000);
  enhance();
  restore();
  ages();
  badge();
  looked();
  connect();
})();
