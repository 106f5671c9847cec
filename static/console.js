/* Conversation Console, in the browser. Every page works without this file; it adds:
   - keys: j k Enter t x r w / ? Esc, for elements marked data-row, data-open, data-key, data-ask, data-dialog
   - fresh relative times (time[data-relative]), in the server's words
   - copy buttons (data-copy, data-copy-from), self-submitting filters (form[data-autosubmit])
   - the code of a password link from its # into the form (data-from-fragment), letters for a field (data-letters)
   - the id that a name proposes (data-proposed-from)
   - one submit per press (opt out: form[data-resubmit])
   - focus kept on its row when htmx replaces a list, and words when the server does not answer at all
   The other scripts use its `say`. */
"use strict";

/** Has screen readers say words. */
function say(words) {
  document.getElementById("live").textContent = words;
}

(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const isVisible = (element) => element.getClientRects().length > 0;
  const isPressable = (element) => isVisible(element) && !element.disabled;

  /* ---- Relative times -------------------------------------------------------------------------------------- */

  /** Words for a span of seconds: "less than a minute", "12 min", "3 h 12 min", "3 h", "1 d 10 h", "12 days". */
  function spanInWords(seconds) {
    const minutes = Math.floor(Math.max(0, seconds) / 60);
    if (minutes < 1) return "less than a minute";
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
    const days = Math.floor(hours / 24);
    if (days >= 7) return `${days} days`;
    return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
  }

  function refreshTimes() {
    const now = Date.now();
    for (const element of $$("time[data-relative]")) {
      const seconds = (now - Date.parse(element.dateTime)) / 1000;
      if (Number.isNaN(seconds)) continue;
      const kind = element.dataset.relative;
      let words = spanInWords(Math.abs(seconds));
      if (kind === "ago") words += " ago";
      if (kind === "in") words = seconds > 0 ? "past" : `in ${words}`;
      if (kind === "due") words = seconds > 0 ? `overdue by ${words}` : `due in ${words}`;
      if (element.textContent !== words) element.textContent = words;
    }
  }

  /* ---- Keys ------------------------------------------------------------------------------------------------ */

  const FIELDS = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable]";
  const rowOf = (element) => element && element.closest("[data-row]");
  const handleOf = (row) => $("[data-open]", row) || $("a[href], button:not([disabled])", row) || row;

  function focusRow(row) {
    const handle = handleOf(row);
    if (handle === row) row.tabIndex = -1;
    handle.focus({ focusVisible: true, preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  /** Moves among the page's rows; false when it has none. */
  function moveRow(step) {
    const rows = $$("[data-row]").filter(isVisible);
    if (!rows.length) return false;
    const at = rows.indexOf(rowOf(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
    focusRow(rows[next]);
    return true;
  }

  /** What a key presses: in the focused row, else on the page outside all rows. */
  function targetOf(key) {
    const selector = `[data-key="${CSS.escape(key)}"]`;
    const row = rowOf(document.activeElement);
    const inRow = row && $$(selector, row).find(isPressable);
    return inRow || $$(selector).find((element) => !rowOf(element) && isPressable(element));
  }

  function press(key) {
    const target = targetOf(key);
    if (!target) return false;
    if (target.matches(FIELDS)) {
      target.focus();
      target.select?.();
    } else if ("ask" in target.dataset) askFirst(target);
    else target.click();
    return true;
  }

  /** A key is hit by mistake: what it presses may want to be asked for first (data-ask: words on what it does). */
  function askFirst(target) {
    const [dialog, label] = [$("#ask"), target.firstChild.textContent.trim()];
    $("h2", dialog).textContent = `${label}?`;
    $("p", dialog).textContent = target.dataset.ask;
    $("[value=yes]", dialog).textContent = label;
    // A note goes with it, where its form takes one.
    const [note, field] = [target.form?.elements.note, $("textarea", dialog)];
    field.parentElement.hidden = !note;
    field.value = note?.value ?? "";
    dialog.returnValue = "";
    dialog.onclose = () => {
      if (note) note.value = field.value;
      if (dialog.returnValue === "yes" && isPressable(target)) target.click();
    };
    showDialog("ask");
  }

  function leave() {
    const active = document.activeElement;
    if (!active || active === document.body) return false;
    active.blur();
    return true;
  }

  function showDialog(id) {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return false;
    $("#rail:popover-open")?.hidePopover();
    dialog.showModal();
    return true;
  }

  const KEYS = {
    j: () => press("j") || moveRow(1),
    k: () => press("k") || moveRow(-1),
    t: () => press("t"),
    x: () => press("x"),
    r: () => press("r"),
    w: () => press("w"),
    "/": () => press("/"),
    "?": () => showDialog("keys"),
    Escape: leave,
    Enter: () => {
      const row = document.activeElement;
      if (!row?.matches("[data-row]")) return false; // links and buttons open themselves
      const open = $("[data-open]", row);
      open?.click();
      return Boolean(open);
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat && !"jk".includes(event.key)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ($("dialog[open], #rail:popover-open")) return; // they close on Escape by themselves
    if (event.target.closest(FIELDS) && event.key !== "Escape") return;
    if (Object.hasOwn(KEYS, event.key) && KEYS[event.key]()) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener) showDialog(opener.dataset.dialog);
    if (event.target.matches("dialog.keys")) event.target.close(); // the backdrop
  });

  /* ---- Ids made of names ------------------------------------------------------------------------------------- */

  /** What the server would propose as an id for a name, as the field's placeholder; the server makes and checks it. */
  document.addEventListener("input", (event) => {
    for (const field of $$("[data-proposed-from]")) {
      if (!event.target.matches(field.dataset.proposedFrom)) continue;
      const plain = event.target.value.normalize("NFKD").replace(/[^\w\s-]/g, "").trim().toLowerCase();
      field.placeholder = plain.replace(/[-_\s]+/g, "-").slice(0, 40).replace(/^-+|-+$/g, "");
    }
  });

  /* ---- Copying ----------------------------------------------------------------------------------------------- */

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom && $(button.dataset.copyFrom);
    try {
      await navigator.clipboard.writeText(source ? source.innerText : button.dataset.copy);
    } catch {
      say("Could not copy");
      return;
    }
    say("Copied");
    const icon = $("use", button);
    const usual = icon?.getAttribute("href");
    button.dataset.copied = "";
    icon?.setAttribute("href", usual.replace(/#copy$/, "#check"));
    setTimeout(() => {
      delete button.dataset.copied;
      icon?.setAttribute("href", usual);
    }, 1600);
  });

  /* ---- Forms --------------------------------------------------------------------------------------------------- */

  const RELEASE_AFTER_MS = 20000; // a navigation that was stopped by hand must not leave a dead button

  function release(form) {
    delete form.dataset.busy;
    form.removeAttribute("aria-busy");
    for (const button of $$("button[data-held]", form)) {
      button.disabled = false;
      delete button.dataset.held;
    }
  }

  function hold(form) {
    form.dataset.busy = "";
    form.setAttribute("aria-busy", "true");
    // After this turn, so that the pressed button's own name and value are still sent.
    setTimeout(() => {
      if (!("busy" in form.dataset)) return;
      for (const button of $$("button:not([disabled], [type=button])", form)) {
        button.disabled = true;
        button.dataset.held = "";
      }
    });
    setTimeout(() => release(form), RELEASE_AFTER_MS);
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || "resubmit" in form.dataset) return;
    if ("busy" in form.dataset) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    hold(form);
  }, true);

  function releaseAll() {
    for (const form of $$("form[data-busy]")) release(form);
  }

  addEventListener("pageshow", releaseAll);

  // A script has sent the form, and has its answer.
  document.addEventListener("console:answered", (event) => release(event.target));

  /* ---- Sign-in ------------------------------------------------------------------------------------------------- */

  // The code of a link to set a password stands behind its #: into the form with it, out of sight and history.
  const fromFragment = $("[data-from-fragment]");
  if (fromFragment && location.hash.length > 1) {
    fromFragment.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search);
  }
  if (fromFragment?.value && !fromFragment.matches("[aria-invalid=true]")) fromFragment.closest(".field").hidden = true;

  // Keyboards of digits have no letters: a recovery code needs the other one.
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-letters]");
    const field = opener && $(opener.dataset.letters);
    if (!field) return;
    field.inputMode = "text";
    field.focus();
  });

  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form && "autosubmit" in form.dataset && event.target.matches("select, [type=checkbox], [type=radio]")) form.requestSubmit();
  });

  /* ---- htmx ------------------------------------------------------------------------------------------------------ */

  let focusedRow = null; // id of the row that had the focus before a swap
  let troubled = null; // who asked for the answer that #problem shows

  function clearProblem(asker) {
    const problem = $("#problem");
    if (!problem || !troubled || (troubled !== asker && troubled.isConnected)) return;
    problem.replaceChildren();
    troubled = null;
  }

  document.addEventListener("htmx:beforeSwap", () => {
    focusedRow = rowOf(document.activeElement)?.id || null;
  });

  document.addEventListener("htmx:afterSettle", () => {
    refreshTimes();
    if (!focusedRow || document.activeElement !== document.body) return;
    const row = document.getElementById(focusedRow);
    if (row) handleOf(row).focus({ focusVisible: true, preventScroll: true });
    focusedRow = null;
  });

  document.addEventListener("console:refreshed", refreshTimes);

  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt.closest("form");
    if (form) release(form);
    if (event.detail.successful) clearProblem(event.detail.elt);
    else if (event.detail.xhr?.status >= 400) troubled = event.detail.elt;
  });

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const words = $("#unreachable");
      const problem = $("#problem");
      if (!words || !problem) return;
      problem.replaceChildren(words.content.cloneNode(true));
      troubled = event.detail.elt;
      releaseAll();
    });
  }
  document.addEventListener("htmx:validation:halted", releaseAll);

  /* ---- Start ------------------------------------------------------------------------------------------------------- */

  matchMedia("(max-width: 760px)").addEventListener("change", () => $("#rail:popover-open")?.hidePopover());
  refreshTimes();
  setInterval(refreshTimes, 15000);
  document.addEventListener("visibilitychange", refreshTimes);
})();
