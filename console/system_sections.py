"""Sections of the system page. Apps register them at start-up, so that the base need not know the apps."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from console.errors import ConsoleError
from console.trees import Fact

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SystemSection:
    """One section: its state in a word (`tone`: good, bad, or human if it needs a look), a line, and facts."""

    title: str
    state: str
    words: str
    tone: str = ""
    facts: tuple[Fact, ...] = ()
    hints: tuple[str, ...] = ()


# Takes the time of the page and returns the section, with a bounded read. Raises the store's errors.
Source = Callable[[datetime], SystemSection]

_sources: dict[str, Source] = {}


def register(title: str, source: Source) -> None:
    """Register a section, once at start-up."""
    _sources[title] = source


def unregister(title: str) -> None:
    """Remove a registered section."""
    del _sources[title]


def sections(now: datetime) -> list[SystemSection]:
    """Return all sections, in the order of registration. Never raises: one that cannot be read says so."""
    found = []
    for title, source in _sources.items():
        try:
            found.append(source(now))
        except ConsoleError as error:
            logger.warning("A section of the system page could not be read: %s", type(error).__name__)
            found.append(SystemSection(title, "unreadable", "It could not be read. Try again in a moment.", tone="bad"))
    return found
