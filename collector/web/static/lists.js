// Lists: j and k walk the rows, Enter follows the row's link; what is empty stays out of the address.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("a.row-link")];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
    if (event.key !== "j" && event.key !== "k") return;
    const links = rows();
    if (!links.length) return;
    const at = links.findIndex((link) => link.closest("tr, li")?.contains(document.activeElement));
    const next = event.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0);
    links[next].focus();
    links[next].scrollIntoView({ block: "nearest" });
    event.preventDefault();
  });

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id !== "filters") return;
    for (const [name, value] of Object.entries(event.detail.parameters)) {
      if (value === "") delete event.detail.parameters[name];
    }
  });
  // Enter in a field that was changed both changes and submits: what shows already is not asked for again.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const asked = event.detail.pathInfo.finalRequestPath;
    if (event.target.id === "filters" && asked === location.pathname + location.search) event.preventDefault();
  });
  document.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) {
      if (value === "") event.formData.delete(name);
    }
  });
})();
