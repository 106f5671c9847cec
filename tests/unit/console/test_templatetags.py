"""Times as templates show them."""

from datetime import UTC, datetime

import pytest
from django.template import Context, Template

from console import clock
from console.templatetags.components import brief, stamp

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (datetime(2026, 11, 20, 9, 5, tzinfo=UTC), "09:05"),
        (datetime(2026, 11, 19, 23, 59, tzinfo=UTC), "19 Nov, 23:59"),
        (datetime(2025, 12, 31, 8, 0, tzinfo=UTC), "31 Dec 2025, 08:00"),
    ],
)
def test_brief_leaves_out_what_the_reader_knows(monkeypatch, at, words):
    monkeypatch.setattr(clock, "now", lambda: NOW)
    shown = brief(at)
    assert f">{words}<" in shown
    assert f'title="{at:%Y-%m-%d %H:%M:%S} UTC"' in shown
    assert f">{at.day} {at:%b %Y, %H:%M}:00 UTC<" in stamp(at)


def test_brief_of_an_unknown_moment():
    assert brief(None) == stamp(None) == "unknown"


@pytest.mark.parametrize(
    ("tag", "drawn"),
    [
        ('{% icon "copy" %}', '<svg class="icon" aria-hidden="true"><use href="/static/icons.svg#copy"></use></svg>'),
        (
            "{% icon name small=True alt=words %}",
            '<svg class="icon small" role="img" aria-label="A &lt;b&gt;"><use href="/static/icons.svg#x&quot;">'
            "</use></svg>",
        ),
        (
            '{% include "components/_icon.html" with name="copy" only %}',
            '<svg class="icon" aria-hidden="true"><use href="/static/icons.svg#copy"></use></svg>',
        ),
    ],
)
def test_icons_are_drawn_with_their_words(tag, drawn):
    assert Template(tag).render(Context({"name": 'x"', "words": "A <b>"})) == drawn


def test_icons_are_those_of_the_static_files_of_now(settings):
    settings.STATIC_URL = "/elsewhere/"
    assert "/elsewhere/icons.svg#copy" in Template('{% icon "copy" %}').render(Context())
