"use strict";
// Comforts only: every page works without this script.
const typing = (node) => node.matches?.("input,select,textarea,[contenteditable]");

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.matches("a,button")) target.click();
  else target.focus();
});

// A form that changes is sent at once; the page that comes then is shown where this one was.
for (const form of document.querySelectorAll("form[data-at-once]")) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-later]")) return;
    sessionStorage.setItem("at", JSON.stringify([location.pathname, event.target.name, scrollY]));
    form.requestSubmit();
  });
}
addEventListener("submit", () => document.body.classList.add("busy"));
addEventListener("pageshow", () => document.body.classList.remove("busy"));
const [wasAt, changed, scrolled] = JSON.parse(sessionStorage.getItem("at") ?? "[]");
sessionStorage.removeItem("at");
if (wasAt === location.pathname) {
  addEventListener("load", () => {
    document.getElementsByName(changed)[0]?.focus({ preventScroll: true });
    scrollTo(0, scrolled);
  });
}
for (const part of document.querySelectorAll("[data-without-script]")) part.hidden = true;

// Lists whose items are dragged into order; their buttons do the same.
for (const list of document.querySelectorAll("[data-sort]")) {
  let dragged = null;
  for (const item of list.children) item.draggable = true;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    dragged.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
  });
  list.addEventListener("dragover", (event) => {
    const over = event.target.closest("li");
    if (!dragged || !over) return;
    event.preventDefault();
    const { top, height } = over.getBoundingClientRect();
    if (over !== dragged) list.insertBefore(dragged, event.clientY < top + height / 2 ? over : over.nextSibling);
  });
  list.addEventListener("dragend", () => {
    dragged = null;
    sessionStorage.setItem("at", JSON.stringify([location.pathname, "", scrollY]));
    list.closest("form").requestSubmit();
  });
}

// A file that is dropped anywhere on the page is the one to send.
for (const input of document.querySelectorAll("input[data-drop]")) {
  for (const type of ["dragover", "dragleave", "drop"]) {
    addEventListener(type, (event) => {
      event.preventDefault();
      input.form.classList.toggle("over", type === "dragover");
      if (type !== "drop" || !event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.form.requestSubmit();
    });
  }
}

// A run at work: the server sends the parts of the page that have changed. A hidden page asks for
// nothing, as a browser opens only six connections to a server.
for (const live of document.querySelectorAll("[data-live]")) {
  let events;
  const follow = () => {
    events?.close();
    events = document.hidden ? undefined : new EventSource(live.dataset.live);
    events?.addEventListener("message", (event) => {
      for (const [id, html] of Object.entries(JSON.parse(event.data))) {
        const part = document.getElementById(id);
        if (part && !part.contains(document.activeElement?.closest("input"))) part.innerHTML = html;
      }
    });
  };
  addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => events?.close());
  follow();
}

// A part of a page that changes is asked for again; without script, the whole page is.
async function again(part) {
  const response = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => null);
  if (response?.redirected) return location.replace(response.url);
  if (response?.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById(part.id);
    if (next) {
      part.replaceWith(next);
      document.title = page.title;
      part = next;
    }
  }
  if (part.dataset.next) return location.replace(part.dataset.next);
  if (part.dataset.again) setTimeout(again, Number(part.dataset.again), part);
}
for (const part of document.querySelectorAll("[data-again]")) setTimeout(again, Number(part.dataset.again), part);

function copying(part) {
  for (const button of part.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    });
  }
}
copying(document);

// What a form would show is put into a part of the page when one of its fields changes.
for (const form of document.querySelectorAll("form[data-part]")) {
  form.addEventListener("change", async () => {
    const query = new URLSearchParams(new FormData(form));
    const response = await fetch(`${form.action}?${query}`, { headers: { accept: "text/html" } }).catch(() => null);
    if (!response?.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(form.dataset.part);
    if (!next) return;
    document.getElementById(form.dataset.part).replaceWith(next);
    copying(next);
  });
}
