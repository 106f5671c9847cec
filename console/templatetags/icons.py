"""Icons in templates: a page has dozens, so each is drawn once and not by a template of its own."""

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


@lru_cache(maxsize=4)
def _address(storage: object) -> str:
    return str(storage.url("icons.svg"))  # type: ignore[attr-defined]
