"""Where a trail's conversation has its pages.

The base knows nothing of conversations: the app that does registers how to get there.
"""

import logging
from collections.abc import Callable, Collection, Mapping

from django.urls import reverse

from console.audit.scoping import is_conversation_trail
from console.errors import ConsoleError
from console.permissions import Permission, Staff
from console.refs import seal

logger = logging.getLogger(__name__)

# From a conversation's id to the address that leads to it, made without a read; nothing of the id stands in it.
Link = Callable[[str], str]

# From pairs of a company's and a project's id to the projects' names, as far as they are known: bounded reads.
ProjectNames = Callable[[Collection[tuple[str, str]]], Mapping[tuple[str, str], str]]

_links: list[Link] = []
_project_names: list[ProjectNames] = []


def register(link: Link) -> None:
    """Called once at start-up by an app that knows conversations."""
    if link not in _links:
        _links.append(link)


def register_project_names(names: ProjectNames) -> None:
    """Called once at start-up by an app that knows projects."""
    if names not in _project_names:
        _project_names.append(names)


def project_names(pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The names of projects, by company and project; a page stands without those that could not be read."""
    found: dict[tuple[str, str], str] = {}
    for names in _project_names:
        try:
            found |= names(pairs)
        except ConsoleError as error:
            logger.warning("Names of projects could not be read: %s", type(error).__name__)
    return found


def conversation_url(trail: str, staff: Staff) -> str:
    """The address that leads to the conversation of a trail.

    "" where the trail is not of a conversation, for whoever may not read conversations, and in a build without them.
    """
    if not (trail and is_conversation_trail(trail) and staff.can(Permission.CONVERSATION_READ)):
        return ""
    return next((link(trail) for link in _links), "")


def review_url(route: str, trail: str, staff: Staff) -> str:
    """The address of a page for who reviews, about a trail's conversation; "" for other trails and for other people."""
    if not (trail and is_conversation_trail(trail) and staff.can(Permission.AUDIT_REVIEW)):
        return ""
    return reverse(route, args=[seal("trail", trail)])
