/* How many wait for a human, beside "Queue" in the navigation of every page, and told on the desktop if asked for.
   The number is asked for as polling: that does not keep a session alive. How an open page is kept fresh (keepFresh). */
"use strict";

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
    again. Ends, saying so, when nobody is signed in any more or what is shown is no longer theirs to see.
    url, tag, every: functions, as all of these may change; receive: gets an answer that says something new;
    tell: shows words ("" for none) and a link, {href, label}; what: the page in words; first: milliseconds. */
function keepFresh({ url, tag = () => "", every, receive, tell, what, first }) {
  const HIDDEN_FACTOR = 8;
  const SLOWEST_MS = 120000;
  const FAILURES_TOLD = 2;
  let failures = 0;
  let timer = 0;

  function stop(words, link) {
    clearTimeout(timer);
    timer = -1;
    tell(words, link);
  }

  async function ask() {
    const response = await askAgain(url(), tag());
    if (timer < 0) return;
    if (isSignedOut(response)) {
      stop(`You are signed out, so this ${what} is no longer kept fresh.`, { href: location.href, label: "Sign in again" });
      return;
    }
    if (response?.status === 403 || response?.status === 404) {
      stop(`You may no longer see this ${what}.`, { href: "/", label: "To your start page" });
      return;
    }
    if (response?.status === 200) receive(await response.text(), response);
    const answered = response?.ok || response?.status === 304;
    failures = answered ? 0 : failures + 1;
    if (failures === FAILURES_TOLD) tell("Not live: the server does not answer. Trying again …");
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
  timer = setTimeout(ask, first);
}

(() => {
  const badges = [...document.querySelectorAll("[data-waiting-count]")];
  const url = badges[0]?.dataset.waitingCount;
  if (!url) return;

  const EVERY_MS = 30000;
  const HIDDEN_FACTOR = 4;
  const WANTED = "console-notify";
  const SHOWN = "console-waiting"; // the number of the page before, so that it does not come and go
  const button = document.getElementById("notify");
  const isLive = Boolean(document.querySelector("#queue[data-poll]")); // queue.js tells what it sees
  let tag = "";
  let timer = 0;
  let last = null;

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

  function notify(count) {
    if (!document.hidden || !isWanted()) return;
    const told = new Notification(count === "1" ? "1 person is waiting" : `${count} people are waiting`, { tag: "queue" });
    told.onclick = () => {
      window.focus();
      told.close();
    };
  }

  function showButton() {
    if (!button) return;
    button.hidden = !("Notification" in window) || Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(isWanted()));
    button.textContent = isWanted() ? "Notifying you" : "Notify me";
  }

  button?.addEventListener("click", async () => {
    if (isWanted()) localStorage.removeItem(WANTED);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(WANTED, "yes");
    showButton();
  });
  showButton();

  /* ---- The number -------------------------------------------------------------------------------------------- */

  document.addEventListener("console:waiting", (event) => {
    if (event.detail.news && number(event.detail.count) > 0) notify(event.detail.count);
  });

  async function ask() {
    const response = await askAgain(url, tag);
    if (isSignedOut(response) || response?.status === 403) return;
    if (response?.ok) {
      tag = response.headers.get("ETag") ?? "";
      const { waiting } = await response.json();
      if (!isLive && last !== null && number(waiting) > number(last)) notify(waiting);
      show(waiting);
    }
    plan();
  }

  function plan() {
    clearTimeout(timer);
    timer = setTimeout(ask, EVERY_MS * (document.hidden ? HIDDEN_FACTOR : 1));
  }

  show(sessionStorage.getItem(SHOWN) ?? "");
  last = null;
  timer = setTimeout(ask, 300);
})();
