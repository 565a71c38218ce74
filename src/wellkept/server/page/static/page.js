// Comfort only: everything works without scripts. Keys, lists that submit when changed, and forms that are sent once.
"use strict";

document.documentElement.classList.add("scripted");

const typing = (element) => element instanceof HTMLElement && element.matches("input, textarea, select, [contenteditable]");
const cards = () => [...document.querySelectorAll("[data-card]")];

function step(by) {
  const all = cards();
  if (!all.length) return;
  const now = all.indexOf(document.activeElement?.closest("[data-card]"));
  const next = all[Math.min(all.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function press(key) {
  const place = key === "u" ? document : document.activeElement?.closest("[data-card]") ?? cards()[0];
  place?.querySelector(`[data-key="${key}"]`)?.click();
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (/^[1-4u]$/.test(event.key)) press(event.key);
  else if (event.key === "/") {
    const field = document.querySelector("[data-search]");
    if (field) { field.focus(); field.select(); }
    else { document.querySelector('nav[aria-label="Rooms"] a[href^="/page/memories"]')?.click(); }
    event.preventDefault();
  }
});

for (const list of document.querySelectorAll("select[data-submit]")) {
  list.addEventListener("change", () => list.form.requestSubmit());
}

// A decision is sent once, even when its button is pressed twice.
for (const form of document.querySelectorAll('form[method="post"]')) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    const button = event.submitter;
    if (button && !button.name && form.dataset.busy) button.textContent = form.dataset.busy;
    document.body.setAttribute("aria-busy", "true");
  });
}
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  document.body.removeAttribute("aria-busy");
});

for (const toast of document.querySelectorAll("[data-fades]")) setTimeout(() => toast.remove(), 60_000);
