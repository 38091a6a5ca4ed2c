// What grows while one looks: the page of an open trace, and the tail of findings.
"use strict";
(() => {
  const RETRY = 15000;

  // What an answer that is no stream says: an EventSource does not tell.
  async function why(address) {
    const stop = new AbortController();
    try {
      const answer = await fetch(address, { signal: stop.signal, headers: { Accept: "application/json" } });
      return answer.ok ? "" : (await answer.json()).detail;
    } catch {
      return "";
    } finally {
      stop.abort();
    }
  }

  // A stream while the page is visible: a browser has few connections for one site.
  function follow(address, handlers) {
    let source = null;
    let last = "";
    function open() {
      if (source || document.hidden) return;
      source = new EventSource(address(last));
      for (const [name, handler] of Object.entries(handlers)) {
        source.addEventListener(name, (event) => {
          last = event.lastEventId || last;
          handler(event);
        });
      }
      source.addEventListener("error", () => {
        handlers.lost?.("waiting for the collector");
        if (source?.readyState === EventSource.CLOSED) {
          source = null;
          setTimeout(open, RETRY);
          why(address(last)).then((words) => !source && words && handlers.refused?.(words));
        }
      });
    }
    function close() {
      source?.close();
      source = null;
    }
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    addEventListener("pagehide", close);
    addEventListener("pageshow", open);
    open();
    return { close };
  }

  // A trace.
  const page = document.getElementById("trace");
  if (page?.dataset.live && window.tracejuryTrace) {
    const trace = window.tracejuryTrace;
    let busy = false;
    let again = null;
    async function redraw(states) {
      if (busy) {
        again = { ...(again || {}), ...states };
        return;
      }
      busy = true;
      try {
        await draw(states);
      } finally {
        busy = false;
        if (again) {
          const next = again;
          again = null;
          redraw(next);
        }
      }
    }
    async function draw(states) {
      const tree = document.getElementById("tree");
      const focused = tree.contains(document.activeElement) ? document.activeElement.closest(".node")?.dataset.key : null;
      const scroll = tree.closest(".panel").scrollTop;
      const closed = new Set(trace.closed());
      const before = [...document.querySelectorAll("#trace-errors .jump")].map((one) => one.dataset.findings.split(" "));
      const query = new URLSearchParams(page.dataset.selected);
      for (const key of trace.opened().slice(0, 50)) query.append("open", key);
      await htmx.ajax("GET", `${trace.base}/tree?${query}${trace.kept}`, { target: "#tree", swap: "innerHTML" });
      for (const node of tree.querySelectorAll(".node")) {
        const twist = node.querySelector(":scope > .line > button.twist");
        const list = node.querySelector(":scope > ul.nodes");
        if (twist && list && closed.has(node.dataset.key)) {
          twist.setAttribute("aria-expanded", "false");
          list.hidden = true;
        }
        if (focused && node.dataset.key === focused) node.querySelector(":scope > .line > .pick").focus({ preventScroll: true });
      }
      tree.closest(".panel").scrollTop = scroll;
      for (const [id, state] of Object.entries(states)) {
        const rows = document.querySelectorAll(`#tree [data-findings~="${CSS.escape(id)}"], #trace-errors [data-findings~="${CSS.escape(id)}"]`);
        if (state !== "retracted" && state !== "superseded") for (const row of rows) row.classList.add("came");
      }
      const shown = new Set([...document.querySelectorAll("#trace-errors .jump")].flatMap((one) => one.dataset.findings.split(" ")));
      const gone = before.filter((ids) => !ids.some((id) => shown.has(id)));
      if (gone.length) window.tracejury.say(`${gone.length === 1 ? "An error was" : `${gone.length} errors were`} taken back`);
      await redrawPanel();
    }
    // The panel is drawn anew only where it says something else, and never under somebody's hands.
    let shown = "";
    const inHand = (panel) =>
      (panel.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) ||
      [...panel.querySelectorAll("textarea, input:not([type=hidden])")].some((field) => field.value !== field.defaultValue);
    const plain = (html) => html.replace(/<time[^>]*>[^<]*<\/time>/g, "");
    async function redrawPanel() {
      const panel = document.getElementById("panel");
      if (inHand(panel) || document.getElementById("lazy")) return;
      const query = page.dataset.selected;
      const answer = await fetch(`${trace.base}/panel?${query}${trace.kept}`, { headers: { "HX-Request": "true" } });
      if (!answer.ok || query !== page.dataset.selected) return;
      const html = await answer.text();
      if (plain(html) === shown || inHand(panel)) return;
      const active = panel.contains(document.activeElement) ? document.activeElement : null;
      shown = plain(html);
      const open = new Set([...panel.querySelectorAll("details[data-fold][open]")].map((one) => one.dataset.fold));
      const shut = new Set([...panel.querySelectorAll("details[data-fold]:not([open])")].map((one) => one.dataset.fold));
      const scroll = panel.scrollTop;
      htmx.swap("#panel", html, { swapStyle: "innerHTML" });
      for (const one of panel.querySelectorAll("details[data-fold]")) {
        if (open.has(one.dataset.fold)) one.open = true;
        else if (shut.has(one.dataset.fold)) one.open = false;
      }
      panel.scrollTop = scroll;
      if (active?.id) document.getElementById(active.id)?.focus({ preventScroll: true });
    }
    follow(
      (last) => `/live${trace.base}/events?mark=${encodeURIComponent(last || page.dataset.mark)}`,
      {
        changed: (event) => redraw(JSON.parse(event.data).findings || {}),
        refused: (words) => window.tracejury.say(words, true),
      },
    );
  }

  // The tail.
  const tail = document.getElementById("tail");

  // Errors that are selected, for one opinion on all of them.
  const all = document.getElementById("bulk-all");
  if (all) {
    const boxes = () => [...tail.querySelectorAll("[form=bulk]")];
    const count = () => {
      const picked = boxes().filter((box) => box.checked).length;
      document.getElementById("bulk-count").textContent = picked ? `${picked} selected` : "Select errors below";
    };
    all.hidden = false;
    all.addEventListener("change", (event) => {
      boxes().forEach((box) => (box.checked = event.target.checked));
      count();
    });
    tail.addEventListener("change", count);
    count();
  }
  if (tail?.dataset.after) {
    const MOST = 500;
    const status = document.getElementById("tail-status");
    const button = document.getElementById("tail-pause");
    let paused = false;
    let held = [];
    let passed = 0;
    const ids = (row, name = "findings") => (row.dataset[name] || "").split(" ").filter(Boolean);
    // A finding of several that goes leaves its error.
    const state = (id, word) => {
      const row = tail.querySelector(`[data-findings~="${CSS.escape(id)}"]`);
      if (!row) return;
      const left = ids(row).filter((one) => one !== id);
      if (word !== "current" && word !== "provisional" && left.length) {
        row.dataset.findings = left.join(" ");
        return;
      }
      row.dataset.state = word;
      row.classList.remove("provisional", "current");
      row.classList.add(word === "current" || word === "provisional" ? word : "went");
      row.querySelector(".state-tag").textContent = word;
    };
    function add(html) {
      const holder = document.createElement("template");
      holder.innerHTML = html; // the server's own row, in which what came from spans is escaped
      const row = holder.content.firstElementChild;
      if (!row || document.getElementById(row.id)) return;
      document.getElementById("tail-empty")?.remove();
      row.classList.add("came");
      const all = new Set(ids(row, "all"));
      const shown = [...tail.children].find((old) => ids(old).some((id) => all.has(id)));
      if (!shown) return put(row);
      row.dataset.findings = [...new Set([...ids(shown), ...ids(row)])].join(" ");
      row.querySelector("[form=bulk]").checked = shown.querySelector("[form=bulk]").checked;
      shown.replaceWith(row);
    }
    function put(row) {
      tail.prepend(row);
      while (tail.children.length > MOST) tail.lastElementChild.remove();
    }
    // Those that are shown nowhere here, as one row with a link to the list of all.
    function skip(count) {
      let row = tail.firstElementChild;
      if (!row?.matches(".tail-gap")) {
        row = document.getElementById("tail-gap").content.firstElementChild.cloneNode(true);
        put(row);
      }
      row.dataset.count = Number(row.dataset.count || 0) + count;
      row.querySelector("strong").textContent = Number(row.dataset.count).toLocaleString("en").replaceAll(",", "\u202f");
    }
    // While it is paused what comes waits, the latest of it; the others are counted.
    function hold(html) {
      held.push(html);
      if (held.length > MOST) {
        held.shift();
        passed += 1;
      }
    }
    function say() {
      status.textContent = paused ? `paused${held.length ? `, ${held.length + passed} new` : ""}` : "live";
    }
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.setAttribute("aria-pressed", String(paused));
      button.textContent = paused ? "Go on" : "Pause";
      if (!paused) {
        if (passed) skip(passed);
        held.forEach(add);
        held = [];
        passed = 0;
      }
      say();
    });
    follow(
      (last) => {
        const query = new URLSearchParams(location.search);
        query.set("after", last || tail.dataset.after);
        return `/live/events?${query}`;
      },
      {
        found: (event) => {
          const { html } = JSON.parse(event.data);
          if (paused) hold(html);
          else add(html);
          say();
        },
        skipped: (event) => {
          const { count } = JSON.parse(event.data);
          if (paused) {
            passed += held.length + count;
            held = [];
          } else skip(count);
          say();
        },
        state: (event) => Object.entries(JSON.parse(event.data)).forEach(([id, word]) => state(id, word)),
        lost: (words) => (status.textContent = words),
        refused: (words) => (status.textContent = words),
        open: say,
      },
    );
    say();
  }
})();
