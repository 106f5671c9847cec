"""One populated store for the suites that walk over every page: two companies, a member of staff of each role.

`build` fills the store; `urls` and `posts` say, by route name, which requests there are for one company's objects.
A new route needs a row in `tests/scenario/requests.py`.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.refs import seal
from console.staff.models import StaffAccount
from console.staff.passwords import hash_password
from conversations.converting import reference_of
from tests.crawl.hostile.stored import Stored, put_back, taken
from tests.dynamodb import Store
from tests.items import backfill_done
from tests.people import COMPANY, OTHER_COMPANY, member
from tests.queue import filled
from tests.scenario import insight, saved_replies
from tests.scenario.items import OUR_NUMBERS, RECIPIENTS, Texts, side_items
from tests.scenario.requests import hand_offs, posts, urls
from tests.scenario.staff import PASSWORD, session_item
from tests.scenario.tenants import tenant_ids

__all__ = [
    "COMPANIES",
    "HTMX",
    "PASSWORD",
    "Scenario",
    "Side",
    "both_of",
    "build",
    "hand_offs",
    "person",
    "posts",
    "urls",
]

HTMX = {"HX-Request": "true"}
ADMIN = "ada.admin"
# Company ids and the words that begin everything of theirs.
COMPANIES = {"ours": COMPANY, "theirs": OTHER_COMPANY}


@dataclass(frozen=True)
class Side:
    """One company's objects, in every store that a page reads."""

    name: str
    company_id: str
    project_id: str
    recipient: str
    email_recipient: str
    our_number: str
    conversation_id: str
    conversation_ref: str
    recipient_ref: str
    replies_ref: str
    trail_ref: str
    # An account scoped to this company only, who is a colleague of the agent and holds conversations.
    username: str
    # The code of the link with which its invited account sets a password.
    password_code: str
    # Every free text stored of this side, as stored. None looks like personal data, so that no mask hides one.
    canaries: tuple[str, ...]
    # Key (recipient, conversation id) of each of its conversations, by what the conversation is there for.
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """Everything there is. `people`: one per role; agent and onboarding see `ours` only, auditor and admin all."""

    ours: Side
    theirs: Side
    people: dict[str, StaffAccount]


# Built once by each process and put back for each test: all it depends on, the scenario, when, what it stored.
_kept: dict[tuple[Any, ...], tuple[Scenario, datetime, Stored]] = {}
# Instants in a scenario are those of its building, which no test may find to be of long ago.
FRESH = timedelta(minutes=5)


def build(store: Store, text: Callable[[str], str] = str) -> Scenario:
    """Fill an empty store. `text` gives each free text that is stored, from its dotted name (the default: that name).

    Keys, ids, instants and what other code compares (states, roles, channels) are not free text.
    """
    # Texts of a function of a test's own are not asked for again.
    if "<" in getattr(text, "__qualname__", "<object>") or not store.embedded or not store.is_empty():
        return _build(store, text)
    # References and secrets are sealed with the key.
    depends_on = (text, store.endpoint, settings.SECRET_KEY, tuple(settings.TABLE_NAMES.items()))
    scenario, at, stored = _kept.get(depends_on, (None, clock.now(), None))
    if scenario is None or stored is None or not timedelta(0) <= clock.now() - at <= FRESH:
        at = clock.now()
        scenario = _build(store, text)
        _kept[depends_on] = scenario, at, taken(store)
    else:
        put_back(store, stored)
    return replace(scenario, people={role: copy.deepcopy(account) for role, account in scenario.people.items()})


def _build(store: Store, text: Callable[[str], str]) -> Scenario:
    people = {
        "agent": person("amira.haddad", "agent", [f"company:{COMPANY}"], text),
        "onboarding": person("olga.novak", "onboarding", both_of(COMPANY), text),
        "auditor": person("aiko.mori", "auditor", ["*"], text),
        "admin": person(ADMIN, "admin", ["*"], text),
    }
    store.put_all(
        "STAFF_SESSIONS", [session_item(each.username, "Firefox on Linux", clock.now()) for each in people.values()]
    )
    filled(store)
    store.put("CONSOLE", saved_replies.for_all())
    store.put("CONSOLE", backfill_done())
    return Scenario(_side(store, "ours", people["agent"], text), _side(store, "theirs", None, text), people)


def both_of(company_id: str) -> list[str]:
    """The scope of a side's tenants and of the companies that bear their ids."""
    return [f"{kind}:{each}" for kind in ("company", "tenant") for each in tenant_ids(company_id)]


def person(username: str, role: str, scope: list[str], text: Callable[[str], str] = str) -> StaffAccount:
    """An account that can also sign in, with PASSWORD."""
    account = member(username, role, scope)
    account.password_hash = hash_password(PASSWORD)
    account.display_name = text(f"{username}.display_name")
    account.save()
    return account


def _side(store: Store, name: str, mine: StaffAccount | None, text: Callable[[str], str]) -> Side:
    company_id, texts = COMPANIES[name], Texts(name, text)
    colleague = person(f"{name}.colleague", "agent", [f"company:{company_id}"], texts.stored)
    holders = {"mine": mine.username if mine else colleague.username, "colleague": colleague.username}
    holders["admin"] = ADMIN if mine else colleague.username
    items = side_items(name, company_id, holders, texts, clock.now())
    for table, written in items.by_table.items():
        store.put_all(table, written)
    insight.fill(company_id, items.project_id, items.keys, holders["mine"])
    recipient, conversation_id = items.keys["mine"]
    return Side(
        name=name,
        company_id=company_id,
        project_id=items.project_id,
        recipient=recipient,
        email_recipient=RECIPIENTS[name]["email"],
        our_number=OUR_NUMBERS[name]["whatsapp"],
        conversation_id=conversation_id,
        conversation_ref=reference_of(recipient, conversation_id),
        recipient_ref=seal("recipient", recipient),
        replies_ref=seal("replies", "whatsapp", OUR_NUMBERS[name]["whatsapp"], recipient),
        trail_ref=seal("trail", conversation_id),
        username=colleague.username,
        password_code=items.link.code,
        canaries=tuple(texts.given),
        keys=items.keys,
    )
