/* The reply box of whoever holds a conversation:
   - sends without leaving the page; Ctrl+Enter sends; a form that got no answer is sent again as the same reply
   - keeps the draft: over a reload, the end of a session and a lost race; encrypted in the browser, with a key that only
     this person's pages have, or not at all
   - counts characters and SMS parts, offers saved replies, fills in a template's blanks
   - takes a reply back before it leaves, and puts its text into the box again */
"use strict";

/* global say, linkTo, isSignedOut -- of console.js and live.js, which every page has */

(() => {
  const box = () => document.getElementById("reply");
  if (!box()) return;

  const KEPT_MS = 7 * 24 * 3600 * 1000;
  const PREFIX = "console-draft ";
  const area = () => box()?.querySelector("textarea[name=text]");
  const form = () => box()?.querySelector("form[data-reply]");
  const text = () => area()?.value ?? "";

  /** A line above the form; "" for none. */
  function tell(words, link = null) {
    let line = box().querySelector("[data-said]");
    if (!words) return line?.remove();
    if (!line) {
      line = document.createElement("p");
      line.dataset.said = "";
      line.className = "bad-line";
      line.setAttribute("role", "alert");
      box().querySelector("h2").after(line);
    }
    line.textContent = words;
    if (link) line.append(" ", linkTo(link));
  }

  /* ---- The draft --------------------------------------------------------------------------------------------- */

  const name = () => PREFIX + box().dataset.reference.slice(0, 40);

  async function cipherKey() {
    const hex = box().dataset.draft;
    if (!hex || !globalThis.crypto?.subtle) return null; // not over plain http: then nothing is kept
    const bytes = Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
    return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  }

  const encoded = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
  const decoded = (letters) => Uint8Array.from(atob(letters), (each) => each.charCodeAt(0));

  async function keep() {
    const [draft, at] = [text(), name()];
    try {
      if (!draft.trim()) return localStorage.removeItem(at);
      const key = await cipherKey();
      if (!key) return;
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new TextEncoder().encode(draft));
      localStorage.setItem(at, JSON.stringify({ at: Date.now(), iv: encoded(iv), sealed: encoded(sealed) }));
    } catch {
      // Storage is full, or switched off: the draft lives as long as the page.
    }
  }

  async function kept() {
    try {
      const found = JSON.parse(localStorage.getItem(name()));
      const key = found && await cipherKey();
      if (!key) return "";
      const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv: decoded(found.iv) }, key, decoded(found.sealed));
      return new TextDecoder().decode(opened);
    } catch {
      return "";
    }
  }

  function forget() {
    try {
      localStorage.removeItem(name());
    } catch {
      // Nothing is kept then.
    }
  }

  function forgetOld() {
    try {
      for (const each of Object.keys(localStorage).filter((one) => one.startsWith(PREFIX))) {
        if (!(JSON.parse(localStorage.getItem(each))?.at > Date.now() - KEPT_MS)) localStorage.removeItem(each);
      }
    } catch {
      // Nothing is kept then.
    }
  }

  async function restore() {
    forgetOld();
    if (!area() || text()) return;
    const draft = await kept();
    if (draft && area() && !text()) put(draft);
  }

  /** Puts text into the box: what is there already stays above it. */
  function put(words) {
    const field = area();
    if (!field) return;
    field.value = field.value.trim() ? `${field.value.trimEnd()}\n${words}` : words;
    field.setSelectionRange(field.value.length, field.value.length);
    changed();
  }

  /* ---- Counting ---------------------------------------------------------------------------------------------- */

  const GSM = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/;
  const TWICE = /[\^{}\\[~\]|€]/g;

  /** How many SMS a text is. */
  function parts(words) {
    const isGsm = GSM.test(words);
    const length = isGsm ? words.length + (words.match(TWICE) ?? []).length : words.length;
    const [alone, each] = isGsm ? [160, 153] : [70, 67];
    return length <= alone ? 1 : Math.ceil(length / each);
  }

  function count() {
    const [place, field] = [box()?.querySelector("[data-count]"), area()];
    if (!place || !field) return;
    // As the server counts: an emoji is one character.
    const [length, most] = [[...field.value].length, Number(field.dataset.most)];
    const [over, limit] = [length - most, most.toLocaleString("en-GB")];
    const words = over > 0 ? `${over.toLocaleString("en-GB")} too many: up to ${limit}` : `${length.toLocaleString("en-GB")} of ${limit}`;
    place.classList.toggle("over", over > 0);
    field.setCustomValidity(over > 0 ? `Shorten your reply to ${limit} characters.` : "");
    place.textContent = "parts" in box().dataset && length ? `${words} · ${parts(field.value)} SMS` : words;
  }

  let timer = 0;
  function changed() {
    count();
    grow();
    clearTimeout(timer);
    timer = setTimeout(keep, 300);
  }

  /** As high as what is written, up to a third of the window. */
  function grow() {
    const field = area();
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight / 3)}px`;
  }

  /* ---- Sending ----------------------------------------------------------------------------------------------- */

  const OUT = "You are signed out, so nothing was sent. Your text is kept.";
  const OTHER = "Somebody else is signed in here now, so nothing was sent. Copy your text, then reload.";

  /** Takes the token for forms of whoever is signed in now: it is another one after each sign-in. Gives why it cannot. */
  async function renewToken() {
    const response = await fetch(location.href, { redirect: "manual", cache: "no-store" });
    if (isSignedOut(response)) return OUT;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    // The key of drafts is a person's own.
    const fresh = page.getElementById("reply");
    if (fresh?.dataset.draft !== box().dataset.draft) return OTHER;
    const headers = page.body.getAttribute("hx-headers");
    document.body.setAttribute("hx-headers", headers);
    for (const each of document.querySelectorAll("[name=csrfmiddlewaretoken]")) each.value = JSON.parse(headers)["X-CSRFToken"];
    return "";
  }

  async function post(sent, isAgain = false) {
    const response = await fetch(sent.action, {
      method: "POST", body: new FormData(sent), headers: { "HX-Request": "true" }, redirect: "manual", cache: "no-store",
    });
    if (isSignedOut(response)) return { why: OUT };
    if (response.status === 403 && !isAgain) {
      const why = await renewToken();
      return why ? { why } : post(sent, true);
    }
    const html = await response.text();
    const answer = new DOMParser().parseFromString(html, "text/html");
    return { answer, token: answer.getElementById("reply-token"), fresh: answer.getElementById("reply") };
  }

  const isUndo = (sent) => sent.matches("[data-undo-reply]");

  /** Sends a form of the box or of a reply; what it answers is put in its place. */
  async function send(sent) {
    tell("");
    document.getElementById("messages")?.replaceChildren(); // "Your reply is on its way", of a form sent without this script
    try {
      const { why, token, fresh } = await post(sent);
      if (why) {
        await keep();
        tell(why, { href: location.href, label: why === OUT ? "Sign in again" : "Reload" });
      } else if (token) {
        take(token, sent);
        say(isUndo(sent) ? "Not sent. Your text is in the box again." : "Your reply is on its way.");
      } else if (fresh) {
        renew(document.adoptNode(fresh));
        if (isUndo(sent)) {
          document.dispatchEvent(new CustomEvent("console:replied"));
          say("Not sent. Your template is filled in as it was.");
        }
      } else {
        tell("The server could not answer. Send it again: the customer gets it only once.");
      }
    } catch {
      tell("The server did not answer. Send it again: the customer gets it only once.");
    } finally {
      sent.dispatchEvent(new CustomEvent("console:answered", { bubbles: true }));
    }
  }

  /** It is done: the box is ready for the next reply, or has the text that was taken back. */
  function take(token, sent) {
    const hidden = form()?.querySelector("[name=reply]");
    if (hidden) hidden.value = token.dataset.token;
    if (sent === form()) {
      area().value = "";
      forget();
      changed();
    }
    if (token.dataset.text) put(token.dataset.text);
    area()?.focus();
    document.dispatchEvent(new CustomEvent("console:replied"));
  }

  /** Puts a fresh box in the place of the one that is there; what is typed stays, or is there to be copied. */
  function renew(fresh) {
    const [typed, hadFocus] = [text(), box().contains(document.activeElement)];
    box().replaceWith(fresh);
    const field = area();
    if (field) {
      if (!field.value) field.value = typed;
      changed();
      if (hadFocus) field.focus();
    } else if (typed) {
      const copy = document.getElementById("reply-kept");
      if (copy && !copy.value) copy.value = typed;
      if (copy) fresh.hidden = copy.parentElement.hidden = false;
      if (hadFocus && copy) copy.focus();
    }
    begin();
  }

  /* ---- Saved replies ----------------------------------------------------------------------------------------- */

  const picker = () => box()?.querySelector("[data-picker]");

  async function pick() {
    const place = picker();
    if (!place.hidden) return close();
    try {
      const response = await fetch(box().querySelector("[data-saved]").href, { headers: { "HX-Request": "true" }, cache: "no-store" });
      if (isSignedOut(response)) return tell("You are signed out. Your text is kept.", { href: location.href, label: "Sign in again" });
      if (!response.ok) throw new Error(String(response.status));
      const answer = new DOMParser().parseFromString(await response.text(), "text/html");
      place.replaceChildren(...[...answer.body.childNodes].map((each) => document.adoptNode(each)));
    } catch {
      tell("The saved replies could not be loaded. Try again.");
      return;
    }
    place.hidden = false;
    place.querySelector("[data-filter]")?.focus();
    say(`${choices().length} saved replies`);
  }

  const choices = () => [...picker().querySelectorAll("[data-saved-text]")].filter((each) => each.offsetParent);

  function close() {
    picker().hidden = true;
    picker().replaceChildren();
    area()?.focus();
  }

  function choose(link) {
    const words = link.dataset.savedText;
    close();
    put(words);
  }

  function filter(field) {
    const wanted = field.value.trim().toLowerCase();
    for (const each of picker().querySelectorAll("[data-saved-text]")) {
      const line = each.closest("li") ?? each;
      line.hidden = !(each.textContent + each.dataset.savedText).toLowerCase().includes(wanted);
    }
  }

  function move(event) {
    const all = choices();
    const at = all.indexOf(document.activeElement);
    const next = all[at + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    (next ?? (event.key === "ArrowUp" ? picker().querySelector("[data-filter]") : all.at(-1)))?.focus();
  }

  /* ---- The template ------------------------------------------------------------------------------------------ */

  function preview() {
    const place = box().querySelector("[data-preview]");
    if (!place) return;
    const values = new Map([...box().querySelectorAll("[data-blank]")].map((each) => [each.dataset.blank, each.value]));
    place.textContent = place.dataset.preview.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (blank, of) => values.get(of) || blank);
  }

  /* ---- Undo -------------------------------------------------------------------------------------------------- */

  /** Counts down beside "Undo", as long as a reply can be taken back. */
  function countDown() {
    for (const each of document.querySelectorAll("form[data-undo-reply]")) {
      each.ends ??= performance.now() + Number(each.dataset.seconds) * 1000;
      const left = Math.ceil((each.ends - performance.now()) / 1000);
      if (left <= 0) each.hidden = true;
      else each.querySelector("button").textContent = `Undo (${left})`;
    }
  }

  /* ---- Events ------------------------------------------------------------------------------------------------ */

  document.addEventListener("submit", (event) => {
    const sent = event.target;
    const isOurs = sent.matches("form[data-undo-reply], form[data-again], form[data-load]") || (sent === form());
    if (!isOurs) return;
    event.preventDefault();
    if (sent === form() && !text().trim()) return;
    send(sent);
  });

  document.addEventListener("input", (event) => {
    if (event.target === area()) changed();
    else if (event.target.matches("[data-blank]")) preview();
    else if (event.target.matches("[data-filter]") && picker()?.contains(event.target)) filter(event.target);
  });

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || !box()?.contains(event.target)) return;
    const isWriting = event.target === area();
    if (isWriting && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form().requestSubmit();
    } else if (isWriting && event.key === "/" && !text()) {
      event.preventDefault();
      pick();
    } else if (picker()?.contains(event.target)) {
      if (event.key === "Escape") {
        event.preventDefault();
        close();
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event);
      else if (event.key === "Enter" && event.target.matches("[data-filter]") && choices()[0]) {
        event.preventDefault();
        choose(choices()[0]);
      }
    }
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !box()?.contains(link)) return;
    if ("saved" in link.dataset && picker()) {
      event.preventDefault();
      pick();
    } else if ("savedText" in link.dataset) {
      event.preventDefault();
      choose(link);
    }
  });

  // What conversation.js learns: who has the conversation now, and by when a reply may go.
  document.addEventListener("console:reply-box", ({ detail: fresh }) => {
    const [now, open] = [box(), fresh.querySelector("#reply-rules")?.dataset.open];
    const isSame = now.dataset.holds === fresh.dataset.holds && now.querySelector("#reply-rules")?.dataset.open === open;
    if (!isSame) renew(fresh);
    else now.querySelector("#reply-rules")?.replaceWith(...fresh.querySelectorAll("#reply-rules"));
  });

  addEventListener("pagehide", keep);

  function begin() {
    count();
    if (area()) grow();
    preview();
  }

  begin();
  restore();
  countDown();
  setInterval(countDown, 500);
})();
