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

  // Takes over what differs in another drawing of this page. What somebody wrote, or opened, stays.
  function take(html) {
    const next = new DOMParser().parseFromString(html, "text/html");
    if (next.body.dataset.build !== document.body.dataset.build) return location.reload();
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
          if (old.id === "link-state") return false;
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
    if (!open) enhance();
    ages();
  }

  // Fetches this page again. One request is under way at most; what changes meanwhile leads to one more.
  async function refresh() {
    if (fetching) { again = true; return; }
    fetching = true;
    try {
      const address = location.href;
      const response = await fetch(address, { headers: { accept: "text/html" }, redirect: "follow" });
      const html = await response.text();
      if (response.status === 401) return void take_as_is(html);
      if (response.ok && address === location.href) take(html);
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
  }

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
      if (!$("#said .refused", new DOMParser().parseFromString(html, "text/html"))) delete form.dataset.dirty;
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
    if (form) form.dataset.dirty = "yes";
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
    const toggle = event.target.closest("[data-toggle-group]");
    if (!toggle) return;
    const boxes = $$("[data-item-check]", toggle.closest("fieldset"));
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
    boxes[0]?.dispatchEvent(new Event("input", { bubbles: true }));
    boxes[0]?.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // Keys: j and k, 1 to 9, Enter, w, b, g i, g s, n, ?
  let going = false;
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at.matches("textarea")) {
      const form = at.form;
      form.requestSubmit($("[value=done], [value=text], [value=say]", form) || undefined);
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

  window.addEventListener("popstate", refresh);
  window.addEventListener("online", wake);
  window.addEventListener("pageshow", (event) => { if (event.persisted) { connect(); } });
  document.addEventListener("visibilitychange", wake);
  setInterval(() => { ages(); wake(); }, 20_000);
  enhance();
  ages();
  connect();
})();
