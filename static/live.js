/* How many wait for a human, beside "Queue" in the navigation of every page, and told on the desktop if asked for.
   The number is asked for as polling: that does not keep a session alive. How an open page is kept fresh (keepFresh). */
"use strict";

/** A link with these words. */
function linkTo({ href, label }) {
  return Object.assign(document.createElement("a"), { href, textContent: label });
}

/** Asks for what may have changed since `tag`: as polling, and without following to the sign-in page. Null: no answer. */
async function askAgain(url, tag) {
  try {
    return await fetch(url, { headers: { "X-Poll": "1", "If-None-Match": tag }, redirect: "manual", cache: "no-store" });
  } catch {
    return null;
  }
}

/** Whether an answer says that nobody is signed in any more. */
function isSignedOut(response) {
  return response?.type === "opaqueredirect" || response?.status === 401;
}

/** Keeps an open page fresh: asks again and again, slower in a hidden tab and after failures, at once when it is seen
    again. Pauses, saying so, while nobody is signed in: until the tab is seen again. Ends when what is shown is no
    longer theirs to see.
    url, tag, every: functions, as all of these may change; note: gets an answer that says nothing new; receive: one
    that does;
    tell: shows words ("" for none) and a link, {href, label}; what: the page in words; first: milliseconds. */
function keepFresh({ url, tag = () => "", note = () => {}, every, receive, tell, what, first }) {
  const HIDDEN_FACTOR = 8;
  const SLOWEST_MS = 120000;
  const FAILURES_KEPT_HEIGHT = 2;
  let failures = 0;
  let timer = 0;

  function pause(words, link) {
    clearTimeout(timer);
    tell(words, link);
  }

  function stop(words, link) {
    pause(words, link);
    timer = -1;
  }

  async function ask() {
    const response = await askAgain(url(), tag());
    if (timer < 0) return;
    if (isSignedOut(response)) {
      pause(`You are signed out, so this ${what} is no longer updated.`, { href: location.href, label: "Sign in again" });
      return;
    }
    if (response?.status === 403 || response?.status === 404) {
      stop(`You can no longer see this ${what}.`, { href: "/", label: "Go to your start page" });
      return;
    }
    if (response?.status === 304) note(response);
    if (response?.status === 200) receive(await response.text(), response);
    const answered = response?.ok || response?.status === 304;
    failures = answered ? 0 : failures + 1;
    if (failures === FAILURES_KEPT_HEIGHT) tell("Not live: the server does not answer. Trying again …");
    else if (answered) tell("");
    plan();
  }

  function plan() {
    clearTimeout(timer);
    const slow = (document.hidden ? HIDDEN_FACTOR : 1) * 2 ** failures;
    timer = setTimeout(ask, Math.min(every() * slow, Math.max(SLOWEST_MS, every())));
  }

  document.addEventListener("visibilitychange", () => {
    if (timer < 0) return;
    if (document.hidden) plan();
    else ask();
  });
  // The browser knows when its network is back, long before the next try.
  addEventListener("online", () => timer < 0 || ask());
  timer = setTimeout(ask, first);
}

(() => {
  const badges = [...document.querySelectorAll("[data-waiting-count]")];
  const url = badges[0]?.dataset.waitingCount;
  if (!url) return;

  const EVERY_MS = 8000; // a colleague is told within ten seconds
  const WANTED = "console-notify";
  const SHOWN = "console-waiting"; // the number of the page before, so that it does not come and go
  const KEPT_HEIGHT = "console-notices"; // the height of the notices on the page before: room is kept for it, so that nothing moves
  const SOUND = "console-sound";
  const MINE = "/queue/?tab=mine";
  const FOR_YOU = "/notices/";
  const button = document.getElementById("notify");
  const soundButton = document.getElementById("notify-sound");
  const place = document.getElementById("notices");
  const isLive = Boolean(document.querySelector("#queue[data-poll]")); // queue.js tells what it sees
  let tag = "";
  let timer = 0;
  let last = null;
  const presence = document.getElementById("presence");
  const WRITES_MS = 15000;
  let typed = 0;
  let lastMine = -1;
  let isPaused = false; // nobody is signed in
  let known = null; // the notices that were there before
  const room = new CSSStyleSheet();

  /** What colleagues tell this person: the latest in words, and where the rest is. */
  function showNotices(notices) {
    if (!place) return;
    const fresh = known ? notices.find((each) => !known.has(each.id)) : null;
    known = new Set(notices.map((each) => each.id));
    if (fresh) notify(fresh.words, fresh.id, fresh.url);
    place.hidden = notices.length === 0 || location.pathname === FOR_YOU;
    room.replaceSync("");
    place.removeAttribute("aria-busy");
    if (place.hidden) sessionStorage.removeItem(KEPT_HEIGHT);
    const text = place.querySelector("div");
    const [first] = notices;
    const shown = first && `${notices.length} ${first.id} ${first.words}`; // of several given at once the words grow
    if (!first || text.dataset.shown === shown) return;
    text.dataset.shown = shown;
    const open = linkTo({ href: first.url, label: "Open it" });
    const all = notices.length > 1 ? [" · ", linkTo({ href: FOR_YOU, label: `All ${notices.length}` })] : [];
    const dismiss = document.createElement("button");
    dismiss.type = "button";
    dismiss.className = "btn small quiet";
    dismiss.textContent = "Dismiss";
    dismiss.addEventListener("click", () => {
      putAway(first.id);
      tag = ""; // if that fails, the next poll brings it back
      showNotices(notices.slice(1));
      showUnread(Math.max(0, lastMine) + notices.length - 1);
    });
    open.addEventListener("click", () => {
      putAway(first.id);
      if (notices.length === 1) sessionStorage.removeItem(KEPT_HEIGHT);
    });
    const words = document.createElement("bdi");
    words.textContent = first.who ? `${first.who}: ${first.words}` : first.words;
    text.replaceChildren(words, " ", open, ...all, " ", dismiss);
    if (!place.hidden) sessionStorage.setItem(KEPT_HEIGHT, place.offsetHeight);
  }

  /** Room for what is there from before; its words come with the first answer, and are kept nowhere. */
  function keepRoom() {
    if (!place) return;
    if (location.pathname === FOR_YOU) sessionStorage.removeItem(KEPT_HEIGHT);
    const height = Number(sessionStorage.getItem(KEPT_HEIGHT));
    if (!height) return;
    room.replaceSync(`#notices { min-height: ${height}px; }`);
    document.adoptedStyleSheets.push(room);
    place.setAttribute("aria-busy", "true");
    place.querySelector("div").replaceChildren(linkTo({ href: FOR_YOU, label: "New for you" }));
    place.hidden = false;
  }

  /** What the server is told of an open conversation: that it is read, and whether a reply was typed just now. */
  function reading() {
    if (!presence) return "";
    const writes = typed && Date.now() - typed < WRITES_MS ? "&writing=1" : "";
    const opened = known ? "" : "&opened=1"; // the page's first poll
    return `?reading=${presence.dataset.token}${writes}${opened}`;
  }

  if (presence) {
    document.addEventListener("input", (event) => {
      if (event.target.closest?.("#reply")) typed = Date.now();
    });
  }

  /** Who opens what a notice is about has seen it. */
  function putAway(id) {
    const token = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"] ?? "";
    fetch(FOR_YOU, { method: "POST", keepalive: true, headers: { "X-CSRFToken": token }, body: new URLSearchParams({ id }) }).catch(() => {});
  }

  /** How much is new for this person, in the title of every page. */
  function showUnread(count) {
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = count ? `(${count}) ${title}` : title;
  }

  function number(count) {
    return Number.parseInt(count || "0", 10);
  }

  function show(count) {
    for (const badge of badges) {
      badge.firstElementChild.textContent = count;
      badge.hidden = !count;
    }
    last = count;
    sessionStorage.setItem(SHOWN, count);
  }

  /* ---- Notifications ----------------------------------------------------------------------------------------- */

  function isWanted() {
    return window.Notification?.permission === "granted" && localStorage.getItem(WANTED) === "yes";
  }

  function notify(words, tag, url) {
    if (!isWanted()) return;
    if (localStorage.getItem(SOUND) === "yes") beep();
    if (!document.hidden) return;
    const shown = new Notification(words, { tag });
    shown.onclick = () => {
      window.focus();
      if (url) location.assign(url);
      shown.close();
    };
  }

  function notifyWaiting(count) {
    notify(count === "1" ? "1 person is waiting" : `${count} people are waiting`, "queue");
  }

  /** A short tone, made here: no file, and nothing where the browser does not allow it yet. */
  function beep() {
    const audio = new AudioContext();
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    volume.gain.value = 0.08;
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.15);
    tone.onended = () => audio.close();
  }

  function showButton() {
    if (!button) return;
    button.hidden = !("Notification" in window) || Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(isWanted()));
    button.textContent = isWanted() ? "Notifying you" : "Notify me";
    if (!soundButton) return;
    const sounds = localStorage.getItem(SOUND) === "yes";
    soundButton.hidden = button.hidden || !isWanted();
    soundButton.setAttribute("aria-pressed", String(sounds));
    soundButton.textContent = sounds ? "Sound on" : "Sound off";
  }

  soundButton?.addEventListener("click", () => {
    localStorage.setItem(SOUND, localStorage.getItem(SOUND) === "yes" ? "no" : "yes");
    showButton();
  });

  button?.addEventListener("click", async () => {
    if (isWanted()) localStorage.removeItem(WANTED);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(WANTED, "yes");
    showButton();
  });
  showButton();

  /* ---- The number -------------------------------------------------------------------------------------------- */

  document.addEventListener("console:waiting", (event) => {
    if (event.detail.news && number(event.detail.count) > 0) notifyWaiting(event.detail.count);
  });

  async function ask() {
    const response = await askAgain(url + reading(), tag);
    isPaused = isSignedOut(response) || response?.status === 403;
    if (isPaused) return;
    if (response?.ok) {
      tag = response.headers.get("ETag") ?? "";
      const { waiting, mine, notices, here } = await response.json();
      if (!isLive && last !== null && number(waiting) > number(last)) notifyWaiting(waiting);
      show(waiting);
      if (mine > lastMine && lastMine >= 0) notify("A customer wrote to you", "mine", MINE);
      lastMine = mine;
      showNotices(notices);
      showUnread(mine + notices.length);
      if (presence && presence.textContent !== here) presence.textContent = here;
    }
    plan();
  }

  function plan() {
    clearTimeout(timer);
    timer = setTimeout(ask, EVERY_MS);
  }

  // Signed in again in another tab.
  document.addEventListener("visibilitychange", () => isPaused && !document.hidden && ask());

  show(sessionStorage.getItem(SHOWN) ?? "");
  last = null;
  keepRoom();
  timer = setTimeout(ask, 300);
})();
