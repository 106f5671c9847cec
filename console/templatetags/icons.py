"""Icons and tags in templates: a page has dozens, so each is drawn once and not by a template of its own."""

from functools import lru_cache

from django import template
from django.core.files.storage import storages
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str, small: bool = False, alt: str = "") -> SafeString:
    """An icon of static/icons.svg. name: its id there; small: 14 px instead of 18; alt: its words, only when no text
    stands beside it."""
    return _drawn(storages["staticfiles"], str(name), bool(small), str(alt))


# Names are words of this code, not what is stored; the storage is another one where settings change.
@lru_cache(maxsize=512)
def _drawn(storage: object, name: str, small: bool, alt: str) -> SafeString:
    said = format_html('role="img" aria-label="{}"', alt) if alt else SafeString('aria-hidden="true"')
    return format_html(
        '<svg class="icon{}" {}><use href="{}#{}"></use></svg>',
        " small" if small else "",
        said,
        _address(storage),
        name,
    )


@register.simple_tag
def asset(path: str) -> str:
    """The address of a file of ours, as `{% static %}` has it; a page names a dozen, and each is looked up once."""
    return _address(storages["staticfiles"], path)


@lru_cache(maxsize=128)
def _address(storage: object, path: str = "icons.svg") -> str:
    return str(storage.url(path))  # type: ignore[attr-defined]


@register.simple_tag
def tag(text: object, tone: str = "", icon_name: str = "", title: object = "") -> SafeString:
    """A state in a word. tone: human (amber), ai (violet), bad, good or nothing; title: more words on hover."""
    return _drawn_tag(storages["staticfiles"], str(text), tone, icon_name, str(title))


# States are few words, and stand on every row of a list.
@lru_cache(maxsize=2048)
def _drawn_tag(storage: object, text: str, tone: str, icon_name: str, title: str) -> SafeString:
    return format_html(
        '<span class="tag{}"{}>{}{}</span>',
        f" {tone}" if tone and tone != "plain" else "",
        format_html(' title="{}"', title) if title else "",
        _drawn(storage, icon_name, small=False, alt="") if icon_name else "",
        text,
    )
