"""What apps have to say on the system page. The base knows none of them: each registers its section at start-up."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from console.errors import ConsoleError
from console.facts import Fact

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SystemSection:
    """One section: a word on how it is (`tone`: good, human for what needs a look, bad), a line, and facts."""

    title: str
    state: str
    words: str
    tone: str = ""
    facts: tuple[Fact, ...] = ()
    hints: tuple[str, ...] = field(default=())


# From the time of the page to the section: a bounded read. Raises the store's errors.
Source = Callable[[datetime], SystemSection]

_sources: dict[str, Source] = {}


def register(title: str, source: Source) -> None:
    """Called once at start-up by an app that has something to say."""
    _sources[title] = source


def unregister(title: str) -> None:
    """Take it away again."""
    del _sources[title]


def sections(now: datetime) -> list[SystemSection]:
    """All sections, in the order of registration. Never raises: one that cannot be read says so."""
    found = []
    for title, source in _sources.items():
        try:
            found.append(source(now))
        except ConsoleError as error:
            logger.warning("A section of the system page could not be read: %s", type(error).__name__)
            found.append(SystemSection(title, "unreadable", "It could not be read. Try again in a moment.", tone="bad"))
    return found
