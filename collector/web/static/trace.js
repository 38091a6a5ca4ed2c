// The page of a trace: picking places, keys, branches that open. Without it every link loads the page anew.
"use strict";
(() => {
  const page = document.getElementById("trace");
  if (!page) return;
  const { base, kept } = page.dataset;
  const panel = document.getElementById("panel");
  const tree = document.getElementById("tree");
  const named = /^#(error|finding)-[0-9a-f]+$/.test(location.hash) ? location.hash.slice(1) : "";
  // "error-ID" or "finding-ID": what the panel is to bring into view. Of an address that names no place the server
  // shows the worst error.
  let wanted = named || (page.dataset.opened && `error-${page.dataset.opened}`);

  // Picking: the panel shows it, the address names it.
  function show(query, next = "", push = true) {
    wanted = next;
    page.dataset.selected = query;
    if (push) history.pushState({ query, wanted }, "", `${base}?${query}${kept}${wanted ? `#${wanted}` : ""}`);
    mark(query);
    return htmx.ajax("GET", `${base}/panel?${query}${kept}`, { target: "#panel", swap: "innerHTML" }).then(() => reveal());
  }
  function mark(query) {
    for (const old of tree.querySelectorAll(".line.selected")) {
      old.classList.remove("selected");
      old.querySelector(".pick").removeAttribute("aria-current");
    }
    const pick = [...tree.querySelectorAll(".pick")].find((one) => one.dataset.panel === query);
    if (!pick) return;
    pick.setAttribute("aria-current", "true");
    pick.closest(".line").classList.add("selected");
    const box = tree.closest(".panel");
    const gap = pick.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (box.scrollHeight > box.clientHeight && (gap < 40 || gap > box.clientHeight - 40)) box.scrollTop += gap - box.clientHeight / 3;
  }
  // The row above the tree of the error that is wanted, or that has the finding.
  const jumps = () => [...document.querySelectorAll("#trace-errors .jump")];
  function rowOf(place) {
    const [kind, id] = place.split("-");
    return jumps().find((row) => (kind === "error" ? row.dataset.error === id : row.dataset.findings.split(" ").includes(id)));
  }
  // A place comes into view within what scrolls inside of the panel: the page itself stays where it is.
  function scrollPanel(place) {
    for (let frame = place.parentElement; frame && panel.contains(frame); frame = frame.parentElement) {
      if (frame.scrollHeight <= frame.clientHeight) continue;
      const [box, outer] = [place.getBoundingClientRect(), frame.getBoundingClientRect()];
      if (box.top < outer.top || box.bottom > Math.min(outer.bottom, innerHeight)) frame.scrollTop += box.top - outer.top - 80;
    }
  }
  function reveal(moved = true) {
    const row = wanted && rowOf(wanted);
    for (const one of jumps()) {
      if (one === row) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    const card = wanted && (document.getElementById(wanted) || (row && document.getElementById(`error-${row.dataset.error}`)));
    const finding = card && (card.matches(".agent-error") ? card.querySelector(".lead") : card).id.replace("finding-", "");
    const text = finding && panel.querySelector(`mark[data-findings~="${CSS.escape(finding)}"]`);
    const asked = new URLSearchParams(page.dataset.selected).get("span");
    const place = text || card || (asked && document.getElementById(`at-${asked}`));
    for (const one of [card, place]) {
      for (let fold = one?.closest?.("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    }
    if (moved) (card || panel).focus({ preventScroll: true });
    if (place) scrollPanel(place);
    // Below the tree, as on a phone, the panel may be far down: a page opens at its top.
    if (text && (moved || getComputedStyle(panel).position === "sticky")) text.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest?.("a[data-panel]");
    if (link) {
      event.preventDefault();
      show(link.dataset.panel, link.hash.slice(1));
      return;
    }
    const rest = event.target.closest?.("a[data-more]");
    if (rest) {
      event.preventDefault();
      htmx.ajax("GET", rest.getAttribute("href"), { target: rest.closest("li"), swap: "outerHTML" });
      return;
    }
    const twist = event.target.closest?.("button.twist");
    if (twist) toggle(twist);
  });
  addEventListener("popstate", (event) => {
    const query = event.state?.query || new URLSearchParams(location.search).toString() || page.dataset.selected;
    show(query, event.state?.wanted || "", false);
  });

  // Branches.
  async function toggle(twist, open = twist.getAttribute("aria-expanded") !== "true") {
    const node = twist.closest(".node");
    let list = node.querySelector(":scope > ul.nodes");
    if (open && !list) {
      list = document.createElement("ul");
      list.className = "nodes";
      node.append(list);
      await htmx.ajax("GET", twist.dataset.branch, { target: list, swap: "innerHTML" });
    }
    twist.setAttribute("aria-expanded", String(open));
    if (list) list.hidden = !open;
  }

  // Keys.
  function jump(step) {
    const all = jumps();
    if (!all.length) return;
    const now = all.findIndex((one) => one.getAttribute("aria-current") === "true");
    const next = now < 0 ? (step > 0 ? 0 : all.length - 1) : (now + step + all.length) % all.length;
    all[next].scrollIntoView({ block: "nearest" });
    show(all[next].dataset.panel, `error-${all[next].dataset.error}`);
  }
  const visible = () => [...tree.querySelectorAll(".pick")].filter((one) => one.offsetParent);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, dialog")) return;
    if (event.key === "n" || event.key === "p") return jump(event.key === "n" ? 1 : -1);
    if (event.key === ".") {
      (tree.querySelector(".selected .pick") || tree.querySelector(".pick"))?.focus();
      return;
    }
    const pick = event.target.closest?.("#tree .pick");
    if (!pick || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const all = visible();
    const at = all.indexOf(pick);
    const node = pick.closest(".node");
    const twist = node.querySelector(":scope > .line > button.twist");
    const open = twist?.getAttribute("aria-expanded") === "true";
    if (event.key === "ArrowDown") all[at + 1]?.focus();
    else if (event.key === "ArrowUp") all[at - 1]?.focus();
    else if (event.key === "ArrowRight") {
      if (twist && !open) toggle(twist, true);
      else all[at + 1]?.focus();
    } else if (event.key === "ArrowLeft") {
      if (open) toggle(twist, false);
      else node.parentElement.closest(".node")?.querySelector(":scope > .line > .pick")?.focus();
    }
  });

  // A form that names another span takes the one that is picked in the tree meanwhile.
  let field = null;
  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.("[data-pick-span]")) field = event.target;
    const span = event.target.matches?.("#tree .pick") && new URLSearchParams(event.target.dataset.panel).get("span");
    if (span && field?.isConnected && !field.value) field.value = span;
  });

  // A name that is given in one form is that of all.
  document.addEventListener("change", (event) => {
    if (!event.target.matches?.(".feedback input[name=annotator]") || !event.target.value.trim()) return;
    const name = event.target.value.trim();
    for (const one of document.querySelectorAll(".feedback input[name=annotator]:not([type=hidden])")) {
      if (one !== event.target) one.value = one.defaultValue = name;
      const told = one.closest(".who")?.querySelector("strong");
      if (told) told.textContent = name;
    }
  });

  // Opened by the server or by hand: what live.js keeps when the tree is drawn anew.
  window.tracejuryTrace = {
    base, kept, show, mark, reveal,
    opened: () => [...tree.querySelectorAll('button.twist[aria-expanded="true"]')].map((one) => one.closest(".node").dataset.key),
    closed: () => [...tree.querySelectorAll('button.twist[aria-expanded="false"]')].map((one) => one.closest(".node").dataset.key),
  };

  const lazy = document.getElementById("lazy");
  const anchor = /^#span-([0-9a-f]+)$/.exec(location.hash);
  if (anchor && !new URLSearchParams(location.search).has("span")) show(`span=${anchor[1]}`, "", false);
  else if (lazy) show(lazy.dataset.panel, wanted, false);
  else if (named && !document.getElementById(named) && rowOf(named)) show(rowOf(named).dataset.panel, named, false);
  else {
    mark(page.dataset.selected);
    reveal(Boolean(named));
    // Until the page has loaded the browser itself scrolls to what the address names, which is the error, not its quote.
    if (named) addEventListener("load", () => requestAnimationFrame(() => reveal()), { once: true });
  }
})();
