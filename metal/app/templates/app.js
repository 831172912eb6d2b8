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
