/* How many wait for a human, beside "Queue" in the navigation of every page, and told on the desktop if asked for.
   The number is asked for as polling: that does not keep a session alive. */
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
