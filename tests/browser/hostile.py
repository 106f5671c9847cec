"""Hostile strings in a browser: dealt out to stored texts, looked for on pages, and whatever else a page does noted."""

import itertools
import json
import re
import string
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from console.trees import spelled_out
from tests.crawl.hostile.strings import STRINGS, storable

TAG = re.compile(r"~([a-z]{4})~")
SPACE = re.compile(r"\s+")

# What a page is asked once it has settled: what of it is no template's doing, and the text it shows.
LOOK = """HOST => {
  const ours = /^(\\/(?!\\/)|\\?|#|$)/;
  const outside = /^(mailto:|tel:\\+?[0-9]|sms:\\+?[0-9]|https:\\/\\/(wa\\.me|example\\.com)\\/)/;
  const strange = [...document.querySelectorAll('*')].filter(each =>
    each.matches('x-pwn, iframe, object, embed, base, style, img, video, audio, source, marquee, math, isindex, applet,'
      + 'plaintext, xmp, frame, frameset, foreignObject, animate, set, meta[http-equiv], script:not([src^="/static/"]),'
      + 'link:not([href^="/static/"]), use:not([href^="/static/icons.svg#"]), '
      + 'svg:not(.icon, .qr-frame > *, .chart svg)')
    || [...each.attributes].some(({name, value}) => name.startsWith('on') || name === 'style' || name === 'srcdoc'
      || /^(data-)?hx-(on|vals|vars|ext)/.test(name) || name.startsWith('x-') || name.startsWith('v-')
      || /^(src|action|formaction|(data-)?hx-(get|post|put|patch|delete))$/.test(name) && !ours.test(value)
      || name === 'href' && !ours.test(value) && !outside.test(value)));
  const isolates = element => {
    const style = getComputedStyle(element);
    return style.display !== 'inline' && style.display !== 'contents' || /isolate|plaintext/.test(style.unicodeBidi);
  };
  // What of a text is open where it ends: embeddings, overrides and isolates (Unicode Annex 9), the last one innermost.
  const open = text => {
    const stack = [];
    for (const each of text) {
      if ('\u202a\u202b\u202d\u202e'.includes(each)) stack.push('embedding');
      else if ('\u2066\u2067\u2068'.includes(each)) stack.push('isolate');
      else if (each === '\u202c' && stack.at(-1) === 'embedding') stack.pop();
      else if (each === '\u2069' && stack.includes('isolate')) while (stack.pop() !== 'isolate');
    }
    return stack;
  };
  const loose = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!/[\u202a\u202b\u202d\u202e\u2066-\u2068]/.test(node.data)) continue;
    let around = node.parentElement;
    if (around.closest('option, script, title, textarea, template')) continue;
    while (!isolates(around)) around = around.parentElement;
    const tags = [...around.textContent.matchAll(/~([a-z]{4})~/g)];
    tags.forEach((tag, number) => {
      const end = tag.index + tag[0].length;
      if (tags[number + 1]?.[1] === tag[1] || !open(around.textContent.slice(0, end)).length) return;
      // What comes before all that was open is closed.
      let until = end;
      while (until < around.textContent.length && open(around.textContent.slice(0, until)).length) until += 1;
      const reordered = around.textContent.slice(end, until);
      if (/[A-Za-z0-9]/.test(reordered)) loose.push([around.tagName, tag[1], reordered]);
    });
  }
  const fields = [...document.querySelectorAll('input, option, textarea')].map(each => each.value);
  return {
    strange: strange.map(each => each.outerHTML.slice(0, 200)),
    loose,
    pwned: String(window.pwned),
    violations: window.violations,
    foreign: [...performance.getEntriesByType('resource'), location].map(each => each.name || each.href)
      .filter(url => !url.startsWith(`${location.protocol}//${HOST}/`)),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    direction: getComputedStyle(document.documentElement).direction,
    text: document.body.textContent,
    fields,
  };
}"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WATCH = """window.violations = [];
document.addEventListener('securitypolicyviolation', event => window.violations.push(event.violatedDirective));"""


def plain(text: str) -> str:
    """A text as a page can show it: HTML has no NUL, or a replacement for it, and white space does not count."""
    return SPACE.sub("", text.replace("\0", "").replace("\ufffd", ""))


def spellings_of(text: str) -> tuple[str, ...]:
    """How pages spell a string: as it is, or where they must

    as JSON does (the raw item), as words (an unknown action), without what would end an isolate (inside a sentence),
    without the scheme of a data URL (an image is named, never loaded), or with marks in their canonical order (what may
    be cut short).
    """
    stored = storable(text)
    as_json = spelled_out(json.dumps(stored, ensure_ascii=False)[1:-1])
    as_words = stored.replace("_", " ").replace(".", ": ")
    within = stored.replace("\u2069", "")
    # An unknown action begins a sentence.
    begun = as_words.strip()[:1].upper() + as_words.strip()[1:]
    spelled: tuple[str, ...] = (
        stored,
        as_json,
        as_words,
        begun,
        stored.replace("_", " "),
        within,
        stored.removeprefix("data:"),
    )
    spelled += (unicodedata.normalize("NFC", stored),)
    return tuple(plain(each) for each in spelled)


SPELLINGS = {text[-4:]: spellings_of(text) for text in STRINGS}


def is_cut(rest: str) -> bool:
    """Whether what follows the last whole string of a text is the beginning of its next, where a page cut it short."""
    shown = re.sub(r"~[a-z]{0,4}$", "", plain(rest).rstrip("\u2069…"))
    return any(spelling.startswith(shown) for each in SPELLINGS.values() for spelling in each)


# Shown as JSON text, with the escapes that it is written with: a test of its own has each string in them.
AS_JSON = ("settings.own_key", "saved.own_key")


class Texts:
    """Deals a group of strings out to the stored texts of one scenario."""

    def __init__(self, group: tuple[str, ...]) -> None:
        self.group = group
        self.names: dict[str, str] = {}
        self._tags = ("".join(letters) for letters in itertools.product(string.ascii_lowercase, repeat=4))
        self._begun: dict[str, int] = defaultdict(int)

    def __call__(self, name: str) -> str:
        """A text with all strings of the group; in the trail's entries, of which there are many, with two of them."""
        attribute = name.removeprefix("ours.").removeprefix("theirs.")
        if attribute in AS_JSON:
            return name
        tag, first = next(self._tags), self._begun[attribute]
        self.names[tag] = attribute
        dealt = self.group[first % len(self.group) :] + self.group[: first % len(self.group)]
        if attribute.startswith("entry.") and attribute != "entry.result":
            dealt = dealt[:2]
        self._begun[attribute] += 2
        return "".join(f"{storable(each)} ~{tag}~ " for each in dealt)


@dataclass
class Visitor:
    """A browser context, and what went wrong in it."""

    context: BrowserContext
    page: Page
    host: str
    widths: tuple[int, ...]
    problems: list[str] = field(default_factory=list)
    # Page → name of a stored text → the code words of the strings that were seen there, whole.
    shown: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def watch(self) -> None:
        """Note dialogs, pop-ups, downloads, violations and errors."""
        page, note = self.page, self.problems.append
        page.add_init_script(WATCH)
        page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))  # type: ignore[call-overload]
        page.on("pageerror", lambda error: note(f"uncaught: {error}"))
        page.on("popup", lambda popup: note(f"popup: {popup.url}"))
        page.on("download", lambda download: note(f"download: {download.url}"))
        page.on("console", lambda said: note(said.text) if "Content Security Policy" in said.text else None)

    def look(self, kind: str, texts: Texts | None = None) -> dict[str, Any]:
        """Look at the page as it is; note what is wrong, and what it shows of the texts."""
        for width in self.widths[1:]:
            self.page.set_viewport_size({"width": width, "height": 860})
            if (overflow := self.page.evaluate(OVERFLOW)) > 0:
                self.problems.append(f"{kind} scrolls sideways by {overflow} px, {width} px wide")
        if len(self.widths) > 1:
            self.page.set_viewport_size({"width": self.widths[0], "height": 860})
        seen = self.page.evaluate(LOOK, self.host)
        seen["loose"] = [each for each in seen["loose"] if not is_cut(each[2])]
        where = f"{kind} {self.page.url[:120]}"
        found = {name: seen[name] for name in ("strange", "loose", "violations", "foreign") if seen[name]}
        if seen["pwned"] != "undefined" or seen["overflow"] > 0 or seen["direction"] != "ltr" or found:
            left = {name: seen[name] for name in ("pwned", "overflow", "direction")}
            self.problems.append(f"{where}: {left | found}")
        if texts:
            self._note_shown(kind, seen["text"], texts)
        return seen

    def _note_shown(self, kind: str, text: str, texts: Texts) -> None:
        text = plain(text)
        for tag in TAG.finditer(text):
            if text.endswith("***", 0, tag.start()):
                # Of a credential the last four characters stay.
                continue
            code, name = text[tag.start() - 4 : tag.start()], texts.names[tag.group(1)]
            spellings = SPELLINGS[code]
            if text.endswith(spellings, 0, tag.start()):
                self.shown[kind][name].add(code)
            else:
                around = text[max(0, tag.start() - len(spellings[0]) - 5) : tag.start()]
                self.problems.append(f"{kind} shows {name} as {around!r}, not {spellings[0]!r}")


def press_all(page: Page, selector: str) -> None:
    """Press everything of that kind, and wait for what htmx puts in its place."""
    page.locator(selector).evaluate_all("all => all.forEach(each => each.click())")
    expect(page.locator(selector)).to_have_count(0)
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")).to_have_count(0)
