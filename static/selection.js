/* Rows of the queue that are selected: how many they are, all of a page at once, and kept while the list is refreshed
   (queue.js puts new rows in the places of old ones). The bar with the buttons shows by itself, see lists.css. */
"use strict";

/* global say -- of console.js, which every page has */

(() => {
  const list = document.getElementById("queue");
  if (!list) return;

  /** Ids of the selected rows. */
  let selected = new Set();
  const boxes = () => [...list.querySelectorAll("[data-row] input[name=selected]")];
  const rowOf = (box) => box.closest("[data-row]");
  const usable = () => boxes().filter((box) => !box.disabled);

  function words(count) {
    return count === 1 ? "1 selected" : `${count} selected`;
  }

  /** Says what is selected now, and keeps it in mind. */
  function note() {
    const [all, chosen] = [usable(), usable().filter((box) => box.checked)];
    selected = new Set(chosen.map((box) => rowOf(box).id));
    const every = document.getElementById("select-all");
    if (every) {
      every.checked = all.length > 0 && chosen.length === all.length;
      every.indeterminate = chosen.length > 0 && !every.checked;
    }
    const count = list.querySelector("[data-count]");
    if (count) count.textContent = words(chosen.length);
  }

  function set(checked) {
    for (const box of usable()) box.checked = checked;
    note();
    say(words(selected.size));
  }

  list.addEventListener("change", (event) => {
    if (event.target.id === "select-all") set(event.target.checked);
    else if (event.target.name === "selected") {
      note();
      say(words(selected.size));
    }
  });

  // It would press the first button of the form.
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[type=checkbox]")) event.preventDefault();
  });

  list.addEventListener("click", (event) => {
    if (event.target.closest("[data-clear]")) set(false);
  });

  document.addEventListener("console:refreshed", () => {
    for (const box of boxes()) box.checked ||= selected.has(rowOf(box).id);
    note();
  });

  addEventListener("pageshow", note); // a browser keeps what was checked when one comes back
  note();
})();
