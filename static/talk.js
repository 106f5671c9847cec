/* Reading a conversation, whichever store it is of:
   - it is opened at its end (data-scroll-end), which stays in view above the reply box, however high that is
   - earlier messages come in above without moving what one reads, and the focus stays with who asked for them
   - what was revealed (data-revealed) gets the focus and is read out */
"use strict";

/* global say -- of console.js, which every page has */

/** Shows the end of the talk, above the reply box; with what stands there if one cannot just write. */
function scrollToEnd() {
  const instead = document.querySelector("#reply[data-holds=yes]:not(:has(#reply-text))");
  (instead ?? document.getElementById("talk"))?.scrollIntoView({ block: "end" });
}

/** Whether the end of the talk is in view: at least the last line of it. */
function isEndInView() {
  const end = document.getElementById("talk")?.getBoundingClientRect().bottom ?? 0;
  return end > 0 && end <= innerHeight;
}

(() => {
  let asked = null; // before earlier messages come in: the first message shown, where it stands, whether the link had the focus

  function focusOn(element) {
    if (!element.matches("a, button")) element.tabIndex = -1;
    element.focus({ preventScroll: true });
  }

  /* ---- Earlier messages -------------------------------------------------------------------------------------- */

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const link = detail.target;
    const first = detail.shouldSwap && link.matches("li.earlier") && link.parentElement.querySelector(":scope > .msg");
    asked = first ? { first, top: first.getBoundingClientRect().top, hadFocus: link.contains(document.activeElement) } : null;
  });

  /** The browser keeps the place by itself, but not at the very beginning of a page. */
  function keepPlace({ first, top, hadFocus }) {
    scrollBy({ top: first.getBoundingClientRect().top - top, behavior: "instant" });
    const list = first.parentElement;
    const messages = [...list.querySelectorAll(":scope > .msg")];
    say(`${messages.indexOf(first)} earlier messages are above`);
    if (hadFocus) focusOn(list.querySelector(":scope > .earlier a") ?? first);
  }

  /* ---- What was revealed ------------------------------------------------------------------------------------- */

  function tellRevealed(panel) {
    const values = [...panel.querySelectorAll("[data-revealed]")];
    focusOn(values[0] ?? panel);
    say(values.map((each) => `${each.closest("dd").previousElementSibling.textContent} ${each.textContent}`).join(", "));
  }

  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (asked) keepPlace(asked);
    asked = null;
    if (detail.target.id === "recipient") tellRevealed(document.getElementById("recipient"));
  });

  /* ---- Start ------------------------------------------------------------------------------------------------- */

  const box = () => document.querySelector("#reply:has(#reply-text)");
  let height = 0; // of the reply box

  /** Keeps the end of the talk above the reply box, which gets higher with its text, and comes and goes. */
  function makeWay() {
    if (!box() || box().offsetHeight === height) return;
    const isAtEnd = isEndInView();
    height = box().offsetHeight;
    document.documentElement.style.setProperty("--reply-height", `${height}px`);
    if (isAtEnd) scrollToEnd();
  }

  const main = document.querySelector("main.reading .main");
  if (main) new ResizeObserver(makeWay).observe(main);

  function open() {
    if (!document.querySelector("[data-scroll-end]") || location.hash) return;
    if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") return; // the browser restores the place
    // On a small screen the hand-off comes first for who may take the conversation, and the end for who has it; where one
    // cannot just write, only if there is nothing to say of what was just done.
    const isSaid = Boolean(document.getElementById("messages")?.textContent.trim());
    if (box() || (document.querySelector("#reply[data-holds=yes]") && !isSaid) || !matchMedia("(max-width: 900px)").matches) scrollToEnd();
    makeWay();
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("a[href='#latest']")) return;
    event.preventDefault();
    scrollToEnd();
  });
  open();
})();
