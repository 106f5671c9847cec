/* The queue, kept as it is now while a page of it is open.
   - asks for the parts of the page again (elements marked data-live) and says with which tag it has them: an answer
     of 304 costs next to nothing; slower in a hidden tab and after failures; ends, saying so, when signed out
   - never moves what is under the pointer or has the focus: what is new is counted in a bar until it is asked for,
     or the pointer leaves
   - tells of new arrivals by a desktop notification where the person asked for that */
"use strict";

/* global say, linkTo, keepFresh -- of console.js and live.js, which every page has */

(() => {
  /** The row of tabs, which scrolls on a small screen. */
  const tabs = () => document.querySelector("#queue-tabs ul");

  /** How far the current tab is out of its row's view, to the end or (negative) to the beginning. */
  function outOfView(row) {
    const [tab, all] = [row.querySelector("[aria-current]"), row].map((each) => each?.getBoundingClientRect());
    return tab ? Math.max(0, tab.right - all.right) + Math.min(0, tab.left - all.left) : 0;
  }

  function showTab() {
    const row = tabs();
    if (row) row.scrollLeft += outOfView(row);
  }

  showTab();

  const list = document.getElementById("queue");
  if (!list?.dataset.poll) return; // a later page, which stays as it is

  let every = Number(list.dataset.seconds) * 1000;
  const bar = document.getElementById("queue-news");
  const state = document.getElementById("queue-state");
  let tag = list.dataset.tag;
  let waiting = null; // parts of an answer that is not shown yet
  let known = rowIds(list);

  function rowIds(root) {
    return new Set([...root.querySelectorAll("[data-row]")].map((row) => row.id));
  }

  /** What the rows, and the lines above them, show, in their order. */
  function versions(root) {
    return [...root.querySelectorAll("[data-version]")].map((each) => `${each.id} ${each.dataset.version}`).join();
  }

  function isBusy() {
    return list.matches(":hover") || list.contains(document.activeElement) || Boolean(list.querySelector("form[data-busy], [open]")) ||
      Boolean(document.querySelector("dialog[open]"));
  }

  function tell(words, link) {
    const text = state.querySelector("div");
    text.textContent = words;
    if (link) text.append(" ", linkTo(link));
    state.hidden = !words;
  }

  /** Puts the parts of an answer in their places, the list only if it may move. */
  function put(parts) {
    const [at, isSeen] = [tabs().scrollLeft, Math.abs(outOfView(tabs())) < 1];
    for (const part of parts) {
      const place = document.getElementById(part.id);
      if (place && place.innerHTML !== part.innerHTML) place.replaceChildren(...part.cloneNode(true).childNodes);
    }
    tabs().scrollLeft = at;
    if (isSeen) showTab(); // with their numbers the tabs are wider
    document.dispatchEvent(new CustomEvent("console:refreshed"));
  }

  function show(parts) {
    put(parts);
    known = rowIds(list);
    waiting = null;
    bar.hidden = true;
    window.htmx?.process(list);
  }

  /** Marks what has left the list while it may not move; the rest of it waits. */
  function hold(parts, fresh, news) {
    waiting = parts;
    put(parts.filter((part) => part.id !== "queue"));
    for (const row of list.querySelectorAll("[data-row]")) {
      const gone = !fresh.has(row.id);
      row.classList.toggle("gone", gone);
      for (const control of row.querySelectorAll("button, input")) control.disabled = gone;
    }
    document.dispatchEvent(new CustomEvent("console:refreshed"));
    bar.textContent = news ? `${news} new` : "The queue has changed";
    bar.hidden = false;
  }

  function receive(html) {
    const answer = new DOMParser().parseFromString(html, "text/html");
    const parts = [...answer.querySelectorAll("[data-live]")];
    const queue = parts.find((part) => part.id === "queue");
    if (!queue) return;
    every = Number(queue.dataset.seconds) * 1000; // slower while there is no index
    const fresh = rowIds(queue);
    const news = [...fresh].filter((id) => !known.has(id)).length;
    const count = queue.dataset.waiting;
    document.title = document.title.replace(/Queue( \(\S+\))?/, count ? `Queue (${count})` : "Queue");
    document.dispatchEvent(new CustomEvent("console:waiting", { detail: { count, news } }));
    if (versions(list) === versions(queue) && !waiting) put(parts.filter((part) => part !== queue));
    else if (isBusy()) hold(parts, fresh, news);
    else show(parts);
    if (news) say(`${news} new. ${document.querySelector("#queue-head h1")?.textContent ?? ""}`);
  }

  bar.addEventListener("click", () => {
    if (waiting) show(waiting);
    list.querySelector("[data-row] [data-open]")?.focus();
  });
  /** Once the list may move. On the way to the bar it stays: somebody is about to press that. */
  function settle(event) {
    if (event.relatedTarget === bar) return;
    setTimeout(() => waiting && !isBusy() && show(waiting));
  }

  for (const element of [list, bar]) {
    element.addEventListener("pointerleave", settle);
    element.addEventListener("focusout", settle);
  }

  keepFresh({
    url: () => list.dataset.poll,
    tag: () => tag,
    note: (response) => (tag = response.headers.get("ETag") ?? tag),
    every: () => every,
    receive(html, response) {
      tag = response.headers.get("ETag") ?? "";
      receive(html);
    },
    tell,
    what: "list",
    first: every,
  });
})();
