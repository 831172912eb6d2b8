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

for (const form of document.querySelectorAll("form[data-at-once]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

// A part of a page that changes is asked for again; without script, the whole page is.
async function again(part) {
  const response = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => null);
  if (response?.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById(part.id);
    if (next) {
      part.replaceWith(next);
      document.title = page.title;
      part = next;
    }
  }
  if (part.dataset.again) setTimeout(again, Number(part.dataset.again), part);
}
for (const part of document.querySelectorAll("[data-again]")) setTimeout(again, Number(part.dataset.again), part);

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  });
}
