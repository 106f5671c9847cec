"""What an HTML answer holds: links, addresses that htmx asks, forms, and what these can send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tests.crawl.hostile.markup import Markup

# Attributes whose values are addresses, and those of htmx, which may hold anything.
URL_ATTRIBUTES = ("href", "src", "action", "formaction", "cite", "poster", "srcset", "ping", "xlink:href", "data-url")
HTMX_METHODS = ("get", "post", "put", "patch", "delete")
Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Form:
    """A form as found. `fields` are what it sends by itself, `choices` the options of each select, `free` the names
    that a person types into, `buttons` the name and value of each button that has them."""

    method: str
    action: str
    htmx: str
    fields: Fields
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    free: tuple[str, ...]
    buttons: Fields


@dataclass(frozen=True)
class Page:
    """What an HTML answer holds: links, addresses that htmx asks, forms, and every address with its attribute."""

    links: tuple[str, ...]
    fragments: tuple[tuple[str, str], ...]
    forms: tuple[Form, ...]
    addresses: tuple[tuple[str, str], ...]


class _Reader(Markup):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.fragments: list[tuple[str, str]] = []
        self.addresses: list[tuple[str, str]] = []
        self.forms: list[dict[str, Any]] = []
        self.form: dict[str, Any] | None = None
        self.select: tuple[str, list[tuple[str, bool]]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.addresses += [
            (name, value) for name, value in found.items() if name in URL_ATTRIBUTES or name.startswith("hx-")
        ]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag != "form":
            self.fragments += [(each, found[f"hx-{each}"]) for each in HTMX_METHODS if found.get(f"hx-{each}")]
        if tag == "form":
            self.form = {"attrs": found, "fields": [], "choices": [], "free": [], "buttons": []}
            self.forms.append(self.form)
        elif tag == "select":
            self.select = (found.get("name", ""), [])
        elif tag == "option" and self.select:
            self.select[1].append((found.get("value", ""), "selected" in found))
        elif self.form is not None and found.get("name") and "disabled" not in found:
            self._control(tag, found)

    def _control(self, tag: str, found: Mapping[str, str]) -> None:
        assert self.form is not None
        name, kind = found["name"], found.get("type", "text" if tag == "input" else "submit")
        if tag == "button":
            self.form["buttons"].append((name, found.get("value", "")))
        elif tag == "textarea":
            self.form["free"].append(name)
        elif tag == "input" and kind in ("checkbox", "radio"):
            if kind == "radio" or "checked" in found:
                self.form["fields"].append((name, found.get("value", "on")))
        elif tag == "input" and kind == "hidden":
            self.form["fields"].append((name, found.get("value", "")))
        elif tag == "input" and kind not in ("submit", "button", "reset"):
            self.form["free"].append(name)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif tag == "select" and self.select:
            name, options = self.select
            self.select = None
            if self.form is not None and name:
                chosen = [value for value, is_chosen in options if is_chosen] or [value for value, _ in options[:1]]
                self.form["fields"] += [(name, value) for value in chosen]
                self.form["choices"].append((name, tuple(value for value, _ in options)))


@lru_cache(maxsize=4096)
def read(html: str) -> Page:
    """The links, fragments, forms and addresses of an HTML text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return Page(tuple(reader.links), tuple(reader.fragments), tuple(map(_form, reader.forms)), tuple(reader.addresses))


def _form(found: Mapping[str, Any]) -> Form:
    attrs = found["attrs"]
    asked = next((method for method in HTMX_METHODS if attrs.get(f"hx-{method}")), "")
    return Form(
        method=attrs.get("method", "get").lower() if "method" in attrs or not asked else asked,
        action=attrs.get("action", ""),
        htmx=attrs.get(f"hx-{asked}", "") if asked else "",
        fields=tuple(found["fields"]),
        choices=tuple(found["choices"]),
        free=tuple(found["free"]),
        buttons=tuple(found["buttons"]),
    )


def variations(form: Form) -> list[Fields]:
    """What a GET form sends as it stands, and with each option of each select chosen, one at a time."""
    usual = (*form.fields, *((name, "") for name in form.free))
    varied = [
        tuple((field, value if field == name else given) for field, given in usual)
        for name, values in form.choices
        for value in values
    ]
    return list(dict.fromkeys([usual, *varied]))


def submissions(form: Form, fill: Callable[[str], str]) -> list[Fields]:
    """What a POST form sends: its fields, what is typed, and one of its buttons at a time."""
    usual = (*form.fields, *((name, fill(name)) for name in form.free))
    return [(*usual, button) for button in form.buttons] or [usual]
