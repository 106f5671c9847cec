"""The filters of a review, and the action types that it covers."""

import re
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings

from console.redaction import redact
from console.trail.actions import HAND_OFF_PREFIX, Action

# For `Review.actor`: entries that name nobody, as the middleware writes them.
NOBODY = "middleware"

MIDDLEWARE = (
    Action.ROUTE,
    Action.TAG,
    Action.AUTO_REPLY,
    Action.ESCALATE,
    Action.RP_REPLY,
    Action.RP_TAG,
    Action.RP_ASSIGN,
    Action.SHOPIFY_LOOKUP,
)
HAND_OFF = tuple(action for action in Action if action.startswith(HAND_OFF_PREFIX))
LOOKS = (
    Action.TRANSCRIPT_OPENED,
    Action.RECIPIENT_REVEALED,
    Action.PERSON_LOOKED_UP,
    Action.PERSON_SEARCHED,
    Action.AUDIT_EXPORTED,
)
SIGN_IN = (
    Action.SIGN_IN,
    Action.SIGN_OUT,
    Action.SIGN_IN_FAILED,
    Action.SIGN_IN_THROTTLED,
    Action.CODE_ASKED,
    Action.RECOVERY_CODE_USED,
    Action.ACCESS_DENIED,
    Action.SESSION_ENDED,
    Action.SESSIONS_ENDED,
)
MESSAGES = tuple(action for action in Action if action.startswith(("message.", "initial.")))
ACCOUNTS = tuple(action for action in Action if action.startswith("staff.") and action not in SIGN_IN)
_OF_TENANTS = ("tenant.", "tenant_conversation.", "user.", "channel.", "company.")
TENANTS = tuple(action for action in Action if action.startswith(_OF_TENANTS))
GROUPS: dict[str, tuple[str, ...]] = {
    "Middleware": MIDDLEWARE,
    "Hand-off": HAND_OFF,
    "Customers' messages": MESSAGES,
    "Looking at personal data": LOOKS,
    "Signing in": SIGN_IN,
    "Accounts": ACCOUNTS,
    "Tenants": TENANTS,
    "Chats and threads": (Action.CHAT_ENDED, Action.FEEDBACK_CHANGED),
    "Operations": (Action.COMPANIES_DISCOVERED, Action.CONVERSATIONS_LOADED, Action.AUDIT_ARCHIVED),
}
# What a review shows without filters: what happened in conversations, and who looked.
BEGINNING: tuple[str, ...] = (*MIDDLEWARE, *HAND_OFF, *LOOKS)


# Types that no group has can be named one by one: each is a Query.
MOST_NAMED = 10
_WELL_FORMED = re.compile(r"[a-z][a-z0-9_.:-]{0,79}", re.IGNORECASE | re.ASCII)


def is_action_type(name: str) -> bool:
    """Whether a name can be an action type: spelled as services write them, without personal data."""
    return _WELL_FORMED.fullmatch(name) is not None and redact(name) == name


def action_groups() -> dict[str, tuple[str, ...]]:
    """The action types to choose from, by group: the schema's, the console's and `AUDIT_ACTION_TYPES`."""
    known = {action for actions in GROUPS.values() for action in actions}
    others = tuple(dict.fromkeys(name for name in settings.AUDIT_ACTION_TYPES if name and name not in known))
    return GROUPS | ({"Other services": others} if others else {})


def known_actions() -> tuple[str, ...]:
    """The action types to choose from."""
    return tuple(action for actions in action_groups().values() for action in actions)


def is_ours(action: str) -> bool:
    """Whether only the console or the indexer writes entries of that type, which name actor and company."""
    return action not in MIDDLEWARE and action in set(Action)


@dataclass(frozen=True, slots=True)
class Review:
    """The filters. Empty strings and None: anything.

    Without `actions`, a review of one trail or person covers all action types, any other one `BEGINNING`. `actor` is a
    username, a service's name or `NOBODY`; `result` is one of `console.trail.actions.outcome`. `since` is included,
    `until` is not; both are aware. `conversation` is a partition (with `key`, the one to search for that idempotency
    key); both may hold personal data and stay out of addresses.
    """

    actions: tuple[str, ...] = ()
    actor: str = ""
    result: str = ""
    company: str = ""
    since: datetime | None = None
    until: datetime | None = None
    conversation: str = field(default="", repr=False)
    key: str = field(default="", repr=False)

    @property
    def actors(self) -> tuple[str, ...]:
        """The actor as typed and, like usernames, in lower case."""
        return tuple(dict.fromkeys((self.actor, self.actor.lower())))

    @property
    def binding(self) -> tuple[str, ...]:
        """What binds a cursor to this review."""
        dates = tuple(moment.isoformat() if moment else "" for moment in (self.since, self.until))
        return ("review", *self.actions, self.actor, self.result, self.company, *dates, self.conversation, self.key)
