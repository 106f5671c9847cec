/* Reading a conversation, whichever store it is of:
   - it is opened at its end (data-scroll-end)
   - earlier messages come in above without moving what one reads, and the focus stays with who asked for them
   - what was revealed (data-revealed) gets the focus and is read out */
"use strict";

/* global say -- of console.js, which every page has */

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

  function scrollToEnd() {
    const transcript = document.querySelector("[data-scroll-end]");
    // On small screens the hand-off panel stands first and stays in view; .latest leads to the end.
    if (!transcript || location.hash || matchMedia("(max-width: 900px)").matches) return;
    if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") return; // the browser restores the place
    (document.querySelector("#reply:not([hidden])") ?? transcript.lastElementChild)?.scrollIntoView({ block: "end" });
  }

  scrollToEnd();
})();
