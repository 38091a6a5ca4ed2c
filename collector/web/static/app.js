// What all pages do: keys, theme, explanations on hover and focus, copying, messages. Pages work without it.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const root = document.documentElement;

  // Theme.
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  $("#theme")?.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // It holds for this page then.
    }
    document.dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));

  // Keys.
  const keys = $("#keys");
  $("#help")?.addEventListener("click", () => keys.showModal());
  let pending = 0;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]") || keys?.open) return;
    if (event.key === "/") {
      event.preventDefault();
      $("#search")?.focus();
    } else if (event.key === "?") {
      keys?.showModal();
    } else if (event.key === "g") {
      pending = event.timeStamp;
      event.preventDefault();
    } else if (pending && event.timeStamp - pending < 1500) {
      pending = 0;
      const target = $(`[data-key="${CSS.escape(event.key)}"]`);
      if (target) {
        event.preventDefault();
        target.click();
      }
    }
  });

  // Explanations: a `title` that the keyboard reaches, too.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  let tipped = null;
  function showTip(element) {
    if (element.title) {
      element.dataset.tip = element.title;
      element.removeAttribute("title");
    }
    if (tipped === element) return;
    hideTip();
    tipped = element;
    tip.textContent = element.dataset.tip;
    tip.hidden = false;
    element.setAttribute("aria-describedby", "tip");
    const box = element.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const below = box.bottom + size.height + 8 < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8)) + scrollX}px`;
    tip.style.top = `${(below ? box.bottom + 6 : box.top - size.height - 6) + scrollY}px`;
  }
  function hideTip() {
    tipped?.removeAttribute("aria-describedby");
    tipped = null;
    tip.hidden = true;
  }
  const EXPLAINED = "a.term, a.severity, a.named, button.term";
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, (event) => {
      const element = event.target.closest?.(EXPLAINED);
      if (element && (element.title || element.dataset.tip)) showTip(element);
    });
    document.addEventListener(off, (event) => {
      if (tipped && !tipped.contains(event.relatedTarget)) hideTip();
    });
  }

  // Suggestions show what is hidden in a name; what is sent is the name.
  document.addEventListener("formdata", (event) => {
    for (const field of event.target.querySelectorAll("input[list]")) {
      const same = [...(field.list?.options ?? [])].filter((option) => option.value === field.value);
      if (same.length && same.every((option) => option.dataset.name)) event.formData.set(field.name, same[0].dataset.name);
    }
  });

  // Fields that are sent as soon as they change, and menus that close when one looks elsewhere.
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-submit]")) event.target.form?.requestSubmit();
  });
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    const copied = event.target.closest?.("[data-copy]");
    if (copied) {
      navigator.clipboard?.writeText(copied.dataset.copy).then(() => say("Copied"));
    }
  });

  // Messages.
  function say(text, bad = false) {
    const toast = document.createElement("p");
    toast.textContent = text;
    toast.className = bad ? "toast bad" : "toast";
    $("#toasts")?.append(toast);
    setTimeout(() => toast.remove(), 5000);
  }
  document.addEventListener("htmx:responseError", (event) => {
    let detail = "";
    try {
      detail = JSON.parse(event.detail.xhr.responseText).detail;
    } catch {
      detail = `The collector answered ${event.detail.xhr.status}`;
    }
    say(detail, true);
  });
  // What was loaded, or could not be, is busy no longer.
  document.addEventListener("htmx:afterRequest", (event) => event.detail.target?.removeAttribute("aria-busy"));
  document.addEventListener("htmx:sendError", () => say("The collector does not answer", true));
  window.tracejury = { say, dark };
})();
