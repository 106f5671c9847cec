"""Code inside HTML, and what is loaded from or sent to elsewhere: nothing of that is in any page of the console."""

import re

from tests.crawl.hostile.markup import Markup

SCHEME = re.compile(r"[\s\x00-\x20]*(javascript|data|vbscript)\s*:", re.IGNORECASE)
OWN = re.compile(r"(/(?!/)|\?|$)")


class Inline(Markup):
    """Finds code inside HTML, and what is loaded or linked from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._inside = tag if tag in ("script", "style") else ""
        if tag in ("style", "iframe", "object", "embed", "base") or (tag == "meta" and "http-equiv" in given):
            self.found.append(f"<{tag}>")
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.found.append(f"<script src={given.get('src')!r}>")
        for name, value in given.items():
            if name.startswith(("on", "hx-on", "data-hx-on")) or name in ("style", "srcdoc", "hx-vals", "hx-vars"):
                self.found.append(f"<{tag} {name}={value!r}>")
            if SCHEME.match(value):
                self.found.append(f"<{tag} {name}={value!r}>")
            if name in ("action", "formaction", "hx-get", "hx-post", "src") and not OWN.match(value):
                self.found.append(f"<{tag} {name}={value!r}>")

    def handle_data(self, data: str) -> None:
        if self._inside and data.strip():
            self.found.append(f"inline {self._inside}: {data[:60]}")


def inline_code(html: str) -> list[str]:
    """What of a page is code inside it, or would be loaded or sent elsewhere."""
    parser = Inline()
    parser.feed(html)
    parser.close()
    return parser.found
