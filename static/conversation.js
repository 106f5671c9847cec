/* An open conversation, kept as it is now:
   - asks what is new and says so in one line above the messages; what came is shown when it is asked for, and by itself
     to who has the conversation: then it is read out, and the focus stays where it is
   - puts all that depends on who has the conversation up to date: at once, but for the hand-off panel while the pointer or
     the focus is in it or something is typed there; what a return would leave unanswered with each message
   - puts messages in without touching those that are there: nobody who reads is moved, nothing that is open closes */
"use strict";

/* global say, linkTo, isSignedOut, keepFresh, scrollToEnd, isEndInView -- of console.js, live.js and talk.js, which every page has */

(() => {
  const place = document.getElementById("news");
  if (!place) return;

  const TROUBLE = "trouble";
  const told = new Map(); // what the line says: of messages, of the hand-off, of trouble with asking
  let since = place.dataset.since;
  let link = null; // where the line leads, if not to what is new
  let waiting = []; // parts that depend on who has the conversation, and may not be put in their place yet

  const talk = () => document.getElementById("talk");
  const panel = () => document.getElementById("hand-off");

  /* ---- The line ---------------------------------------------------------------------------------------------- */

  /** Writes the line, only if it says something else: it is read out each time. */
  function draw() {
    const words = [...told.values()].filter(Boolean).join(" · ");
    const isNew = [...told].some(([name, text]) => text && name !== TROUBLE);
    const leads = link ?? (isNew ? { href: place.dataset.latest, label: "Show", press: show } : null);
    const key = `${words} ${leads?.label ?? ""} ${leads?.href ?? ""}`;
    if (place.dataset.says === key) return;
    place.dataset.says = key;
    if (!words) return place.replaceChildren();
    const line = document.createElement("div");
    line.className = "news";
    line.append(words);
    if (leads) {
      const made = linkTo(leads);
      if (leads.press) made.addEventListener("click", leads.press);
      line.append(" · ", made);
    }
    place.replaceChildren(line);
  }

  function tell(words, leads = null) {
    told.set(TROUBLE, words);
    link = leads ?? (link?.goes ? link : null);
    draw();
  }

  /* ---- Who has the conversation ------------------------------------------------------------------------------- */

  function isTyped(field) {
    return field.type !== "hidden" && field.value !== field.defaultValue;
  }

  function isBusy() {
    const now = panel();
    return now.matches(":hover") || now.contains(document.activeElement) || Boolean(now.querySelector("details[open], form[data-busy]")) ||
      Boolean(document.querySelector("dialog[open]")) || [...now.querySelectorAll("input, textarea")].some(isTyped);
  }

  /** Puts what may change in its place; what may not yet waits. */
  function settle() {
    const before = waiting.length;
    waiting = waiting.filter((fresh) => !replace(document.getElementById(fresh.id), fresh));
    if (waiting.length < before) document.dispatchEvent(new CustomEvent("console:refreshed"));
  }

  /** False for a panel that somebody is using: it says at least who has the conversation. A form of before is refused in words. */
  function replace(now, fresh) {
    if (now?.id === "hand-off" && isBusy()) {
      const [state, said] = [now, fresh].map((each) => each.querySelector(".state"));
      if (state.textContent !== said.textContent) state.textContent = said.textContent;
      return false;
    }
    if (now?.id === "return" && isBusy()) return false;
    if (fresh.id === "reply") {
      document.dispatchEvent(new CustomEvent("console:reply-box", { detail: fresh }));
      return true;
    }
    // What was revealed stays while its reader has as much to do with it as before.
    if (!now || (now.dataset.holds && now.dataset.holds === fresh.dataset.holds)) return true;
    const isFocused = now.contains(document.activeElement);
    now.replaceWith(fresh);
    window.htmx?.process(fresh);
    if (isFocused) {
      fresh.tabIndex = -1;
      fresh.focus({ preventScroll: true });
    }
    return true;
  }

  for (const name of ["pointerout", "focusout", "toggle", "input"]) {
    document.addEventListener(name, (event) => waiting.length && event.target.closest?.("#hand-off") && setTimeout(settle), true);
  }

  /* ---- The messages ------------------------------------------------------------------------------------------ */

  const messagesOf = (root) => [...root.querySelectorAll(".talk > .msg[id]")];

  /** Brings a list of messages to what `fresh` has of its later part. Messages that are there are not touched. */
  function merge(list, fresh) {
    const known = new Map([...list.children].filter((each) => each.id).map((each) => [each.id, each]));
    const items = [...fresh.children];
    const first = items.findIndex((each) => known.has(each.id));
    let at = known.get(items[first].id);
    for (const item of items.slice(first)) {
      const same = known.get(item.id);
      if (same) {
        while (at && at !== same) at = drop(at);
        at = same.nextElementSibling;
        // Something became of a reply.
        if (same.dataset.state !== item.dataset.state) same.replaceWith(item);
      } else if (at && !at.id && at.isEqualNode(item)) {
        at = at.nextElementSibling;
      } else {
        list.insertBefore(item, at);
      }
    }
    while (at) at = drop(at);
  }

  function drop(element) {
    const next = element.nextElementSibling;
    element.remove();
    return next;
  }

  /** Puts the fresh messages in. Gives the first that is new, and whether the others stayed where they are. */
  function put(fresh) {
    const known = new Set(messagesOf(talk()).map((each) => each.id));
    const [came, messages] = [Number(fresh.dataset.shown) - Number(talk().dataset.shown), messagesOf(fresh)];
    const arrived = came > 0 ? messages.at(-Math.min(came, messages.length)) : null;
    const [list, freshList] = [talk(), fresh].map((each) => each.querySelector(".talk"));
    const isJoined = list && freshList && !talk().querySelector("[data-later]") && messages.some((each) => known.has(each.id));
    if (isJoined) {
      merge(list, freshList);
      const [totals, freshTotals] = [talk(), fresh].map((each) => each.querySelector(".totals"));
      if (freshTotals) totals?.replaceWith(freshTotals);
      talk().querySelector("[data-at-work]")?.replaceWith(fresh.querySelector("[data-at-work]"));
    } else talk().replaceChildren(...fresh.childNodes);
    talk().dataset.shown = fresh.dataset.shown;
    window.htmx?.process(talk());
    return { arrived, isJoined };
  }

  async function ask() {
    const url = new URL(place.dataset.latest, location.href);
    url.searchParams.set("latest", "1");
    const response = await fetch(url, { headers: { "HX-Request": "true" }, cache: "no-store" });
    if (isSignedOut(response)) return null;
    if (!response.ok) throw new Error(String(response.status));
    const answer = new DOMParser().parseFromString(await response.text(), "text/html");
    return document.adoptNode(answer.getElementById("talk"));
  }

  function show(event) {
    event.preventDefault();
    return bring(true);
  }

  /** Shows the messages that came. `asked`: by the person, who goes on with the first of them. `isOwn`: one is theirs. */
  async function bring(asked, isOwn = false) {
    let fresh;
    try {
      fresh = await ask();
    } catch {
      tell("The messages could not be loaded: try again.");
      return;
    }
    if (!fresh) return tell("You are signed out.", { href: location.href, label: "Sign in again" });
    const isAtEnd = isOwn || isEndInView();
    const { arrived, isJoined } = put(fresh);
    told.delete("messages");
    if (asked) told.clear();
    link = null;
    if (arrived) {
      arrived.tabIndex = -1;
      if (asked) arrived.focus({ preventScroll: true });
      else read(arrived);
      // Who reads at the end goes on reading; who reads further up stays there, and is told the way.
      if (isAtEnd && !asked) scrollToEnd();
      else if (isAtEnd || !isJoined) arrived.scrollIntoView({ block: "nearest" });
      else lead(arrived);
    }
    draw();
  }

  /** Lets screen readers say what came: who wrote, and the words. */
  function read(arrived) {
    const came = messagesOf(talk());
    say(came.slice(came.indexOf(arrived)).map((each) => words(each)).join(" "));
  }

  function words(message) {
    const [who, blocks] = [message.querySelector("header b"), [...message.querySelectorAll(".text, .code")]];
    return `${who?.textContent ?? ""}: ${blocks.map((each) => each.textContent).join(" ") || message.textContent}`;
  }

  function lead(arrived) {
    told.set("messages", "The new messages are below");
    const press = () => {
      told.delete("messages");
      link = null;
      draw();
      arrived.focus({ preventScroll: true });
    };
    link = { href: `#${arrived.id}`, label: "Go there", press, goes: true };
  }

  /* ---- Asking ------------------------------------------------------------------------------------------------ */

  function receive(html) {
    const answer = new DOMParser().parseFromString(html, "text/html").getElementById("news");
    if (!answer) return;
    since = answer.dataset.since;
    place.dataset.seconds = answer.dataset.seconds;
    const arrives = "arrives" in answer.dataset;
    for (const each of answer.querySelectorAll("[data-news]")) {
      told.set(each.dataset.news, each.textContent);
      link = null;
    }
    const fresh = answer.querySelector("[data-holding]");
    if (fresh) {
      const came = [...fresh.children].map((each) => document.importNode(each, true));
      waiting = [...waiting.filter((each) => !came.some(({ id }) => id === each.id)), ...came];
      settle();
    }
    draw();
    if ((arrives && answer.querySelector("[data-news=messages]")) || "changed" in answer.dataset) bring(false);
  }

  // A reply was written, or taken back, on this page.
  document.addEventListener("console:replied", () => bring(false, true));

  keepFresh({
    url() {
      const url = new URL(place.dataset.poll, location.href);
      url.searchParams.set("since", since);
      if (talk()) url.searchParams.set("shown", talk().dataset.shown);
      return url;
    },
    every: () => Number(place.dataset.seconds) * 1000,
    receive,
    tell,
    what: "conversation",
    first: Number(place.dataset.seconds) * 1000,
  });
})();
