"""Where a trail's conversation has its pages.

The base knows nothing of conversations: the app that does registers how to get there.
"""

from collections.abc import Callable

from django.urls import reverse

from console.audit.scoping import is_conversation_trail
from console.refs import seal
from console.staff.permissions import Permission, Staff

# From a conversation's id to the address that leads to it, made without a read; nothing of the id stands in it.
Link = Callable[[str], str]

_links: list[Link] = []


def register(link: Link) -> None:
    """Called once at start-up by an app that knows conversations."""
    if link not in _links:
        _links.append(link)


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
