"""Every list at every width that people have: its texts can be read, stand beside one another, and fit the page."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser import test_pages, test_store_pages
from tests.browser.looks import settle, walk

# CSS pixels: phones, 1280 at 200 % and at 150 %, tablets, half a screen, laptops, a large screen.
WIDTHS = (360, 390, 640, 768, 820, 853, 960, 1024, 1100, 1180, 1280, 1920)
LISTS = {
    "queue-waiting", "queue-mine", "queue-colleagues", "queue-attention", "waiting-times",
    "conversations", "company", "company-page-2", "company-last-message", "project", "recipient", "replies",
    "conversations-export",
    "audit", "audit-own", "audit-filtered", "audit-same-key", "audit-find", "audit-entry", "audit-entry-changes",
    "audit-export", "audit-chart", "access-review", "access-log", "access-log-person", "access-log-conversation",
    "trail", "timeline-in-place", "timeline-line", "events-list", "events-record", "events",
    "tenants", "tenants-redacted", "tenant", "tenant-neglected", "tenant-users", "tenant-users-redacted",
    "tenant-channels", "tenant-history", "tenant-memories", "tenant-conversations", "tenant-onboarding-review",
    "resolve-clash", "team", "staff", "staff-account", "account", "system",
    "chats", "chats-user", "chats-over-time", "chats-images", "chats-prompt", "chats-session",
    "threads", "threads-organisation", "threads-feedback", "threads-user", "search-found", "elsewhere",
}  # fmt: skip
PAGES = [page for page in (*test_pages.PAGES, *test_store_pages.PAGES) if page[1] in LISTS]

# What is wrong with the page as it is laid out now, each in words. A title has 200 px or all that its text takes, any
# other text 72 px; a word of 14 letters at most stands on one line; no text lies on another one or is cut off whole;
# the parts of a row stand beside or below one another, and within it. What only screen readers read is left out.
MEASURE = r"""() => {
  const found = new Set(), main = document.querySelector('main'), range = document.createRange();
  const canvas = document.createElement('canvas').getContext('2d');
  for (const side of main.querySelectorAll('.side')) side.scrollTop = 0;
  const overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (overflow > 0) found.add(`the page scrolls sideways by ${overflow} px`);
  const words = text => text.replace(/\s+/g, ' ').trim().slice(0, 40);
  const across = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = (one, other) => Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  const around = function* (element) {
    for (let at = element; at && at !== main; at = at.parentElement) yield [at, getComputedStyle(at)];
  };
  const isSeen = element => element.checkVisibility({opacityProperty: true, visibilityProperty: true}) &&
    getComputedStyle(element).color !== 'rgba(0, 0, 0, 0)' && ![...around(element)].some(([at, style]) =>
      at.matches('.needs-script, [hidden]') || style.clipPath !== 'none' && style.position === 'absolute');
  // Over the page for a while, or stuck to its edge.
  const floats = element => [...around(element)].some(([at, style]) =>
    /^(sticky|fixed)$/.test(style.position) && !at.matches('.side') || at.matches('.menu > .panel'));
  // What its surroundings leave of a box; what can be scrolled to is there.
  const left = (box, element) => {
    const rest = {left: box.left, right: box.right, top: box.top, bottom: box.bottom};
    for (const [at, style] of around(element)) {
      if (style.display === 'inline' || style.display === 'contents') continue;
      const its = at.getBoundingClientRect();
      if (style.overflowX !== 'visible') {
        rest.left = Math.max(rest.left, its.left - 4);
        rest.right = Math.min(rest.right, its.right + 4);
      }
      if (/hidden|clip/.test(style.overflowY)) {
        rest.top = Math.max(rest.top, its.top - 1);
        rest.bottom = Math.min(rest.bottom, its.bottom + 1);
      }
    }
    return rest;
  };
  const [start, end] = ['(?<![\\p{L}\\w.@:/#*-])', '(?![\\p{L}\\w.@:/#*-])'];
  const WORD = new RegExp(`${start}[\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}]{2,14}${end}`, 'gu');

  const boxes = [], texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode, element = node.parentElement, text = words(node.data);
    if (!/[\p{L}\p{N}]/u.test(text) || element.closest('svg, pre, select, textarea') || !isSeen(element)) continue;
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter(line => line.width > 1);
    const shown = lines.map(line => left(line, element))
      .filter(line => line.right - line.left > 1 && line.bottom - line.top > 2);
    if (lines.length && !shown.length) {
      found.add(`"${text}" cannot be seen`);
      continue;
    }
    canvas.font = getComputedStyle(element).font;
    const least = element.closest('.rows [data-open], .list [data-open]') ? 200 : 72;
    const needed = Math.min(canvas.measureText(text).width, least);
    const [cell] = [...around(element)].find(([, style]) => !/^(inline|contents)$/.test(style.display)) || [main];
    const inner = cell.clientWidth || cell.getBoundingClientRect().width;
    const isWhole = shown.length === lines.length && lines.every((line, index) =>
      line.top < lines[0].bottom - 4 && shown[index].right - shown[index].left > line.width - 3);
    if (!isWhole && inner + 1 < needed) found.add(`"${text}" has ${Math.round(inner)} px`);
    for (const word of node.data.matchAll(WORD)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = [...range.getClientRects()].filter(line => line.width > 1).map(line => line.top);
      if (Math.max(...tops) - Math.min(...tops) > 6) found.add(`"${word[0]}" of "${text}" is broken`);
    }
    if (!floats(element)) boxes.push(...shown.map(line => ({line, element, text})));
  }
  for (const element of main.querySelectorAll('.btn, .tag, input, select')) {
    if (element.closest('.msg') || !isSeen(element) || floats(element)) continue;
    const line = left(element.getBoundingClientRect(), element);
    const text = words(element.innerText || element.name || 'a field');
    if (line.right - line.left > 2) boxes.push({line, element, text});
  }
  boxes.sort((one, other) => one.line.top - other.line.top);
  boxes.forEach((one, index) => {
    for (let next = index + 1; next < boxes.length && boxes[next].line.top < one.line.bottom - 4; next += 1) {
      const other = boxes[next];
      if (one.element.contains(other.element) || other.element.contains(one.element)) continue;
      if (across(one.line, other.line) <= 3 || down(one.line, other.line) <= 5) continue;
      found.add(`"${one.text}" lies on "${other.text}"`);
    }
  });
  for (const row of main.querySelectorAll('[data-row], .rows > li, .data tbody tr, .timeline > li')) {
    const its = row.getBoundingClientRect();
    const parts = [...row.children]
      .map(part => [words(part.innerText), part.getBoundingClientRect(), getComputedStyle(part)])
      .filter(([, box, style]) => box.width > 0 && style.position !== 'absolute');
    parts.forEach(([text, box], index) => {
      if (box.right > its.right + 1 || box.left < its.left - 1) found.add(`"${text}" leaves its row`);
      for (const [other, near] of parts.slice(index + 1)) {
        if (across(box, near) > 1 && down(box, near) > 1) found.add(`"${text}" lies on its neighbour "${other}"`);
      }
    });
  }
  return [...found];
}"""


# The fonts that machines have, by what a style sheet says; one that this machine lacks is its usual one. The last is as
# a font that is a fifth wider.
FONTS = {
    "DejaVu": "* { font-family: 'DejaVu Sans', sans-serif !important }",
    "Liberation": "* { font-family: 'Liberation Sans', sans-serif !important }",
    "Noto": "* { font-family: 'Noto Sans', sans-serif !important }",
    "wide": "* { font-family: 'Liberation Sans', sans-serif !important; letter-spacing: .1em !important }",
}
# The policy of the pages allows no style that is put in as an element.
SET_FONT = """css => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [sheet];
}"""


def faults_of(page: Page) -> list[str]:
    """What is wrong with the page, at every width, and on a laptop in each font; each with what it is seen in."""
    faults = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 860})
        faults += [f"{width}: {fault}" for fault in page.evaluate(MEASURE)]
    page.set_viewport_size({"width": 1280, "height": 860})
    for name, css in FONTS.items():
        page.evaluate(SET_FONT, css)
        faults += [f"1280, {name}: {fault}" for fault in page.evaluate(MEASURE)]
    return faults


@pytest.mark.parametrize(("role", "name", "path", "steps", "heading"), PAGES, ids=[page[1] for page in PAGES])
def test_list_is_readable_at_every_width(kept_page, role, name, path, steps, heading):
    page = kept_page(role)
    walk(page, path, steps)
    settle(page)
    assert not (faults := faults_of(page)), "\n".join(faults)


def test_no_list_is_forgotten():
    """The names above are those of pages."""
    assert {page[1] for page in PAGES} == LISTS


# Cells of the list that take more than one line; what is wrong with a row stands below its name.
TALL = """() => [...document.querySelectorAll('.list tbody tr')].flatMap(row => [...row.cells].flatMap(cell => {
  const range = document.createRange(), lines = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (texts.currentNode.parentElement.closest('.visually-hidden, .flaw, .in-card')) continue;
    range.selectNodeContents(texts.currentNode);
    lines.push(...[...range.getClientRects()].filter(line => line.width > 1));
  }
  const height = Math.max(...lines.map(line => line.bottom)) - Math.min(...lines.map(line => line.top));
  return height > 30 ? [cell.innerText] : [];
}))"""


@pytest.mark.parametrize("font", [each for each in FONTS if each != "wide"])
@pytest.mark.parametrize("project", ["pi-cuc-onb", "pi-cuc-cv"])
def test_each_row_of_a_project_is_one_line_on_a_laptop(kept_page, project, font):
    page = kept_page("agent")
    page.goto(f"{test_pages.COMPANY}projects/{project}/")
    page.set_viewport_size({"width": 1360, "height": 860})
    page.evaluate(SET_FONT, FONTS[font])
    assert page.locator("[data-row]").count() > 20
    assert page.evaluate(TALL) == []


def test_columns_stay_where_they_are_when_a_last_message_is_shown(open_page):
    page = open_page("agent")
    page.goto(test_pages.COMPANY)
    edges = "all => all.map(each => Math.round(each.getBoundingClientRect().left))"
    before = page.locator("thead th").evaluate_all(edges)
    row = page.locator("[data-row]").nth(3)
    row.get_by_role("link", name="Show the last message").click()
    said = page.locator("tr.said")
    expect(said).to_have_count(1)
    assert page.locator("thead th").evaluate_all(edges) == before
    # It lies below its row, and is wide enough for a sentence to a line.
    assert row.evaluate("row => row.nextElementSibling.matches('.said')")
    assert said.locator("td").evaluate("cell => cell.clientWidth") > 600
    expect(row.get_by_role("link", name="Show the last message")).to_be_hidden()
