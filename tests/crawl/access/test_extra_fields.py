"""What a form does not ask for never reaches the store, whatever else is sent along."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.apps import apps
from django.urls import resolve, reverse

from console.audit.review.forms import ReviewForm
from console.schema.tables import TABLES
from console.store.models import StoreModel
from conversations.lists.forms import ConversationFilter
from conversations.queue.form import QueueForm
from conversations.team.views.team import GroupForm
from tenants.forms import ResolveForm
from tests.crawl.access.routes import in_order
from tests.scenario import build, posts

INJECTED = "injected.canary"
# Where a made-up value would be refused for its shape, one that would do harm.
HARMFUL = {
    "role": "admin",
    "scope": "*",
    "company_id": "ci-bbb-002",
    "hand_off_agent": "ada.admin",
    "hand_off_to_human": "false",
    "task_complete": "1",
    "comms_consent": "false",
    "disabled": "false",
    "epoch": "99",
    "expires_at": "1",
    "ttl": "1",
    "version": "1",
    "username": "ada.admin",
}
# What is no attribute of any model: Python's and JavaScript's insides, other spellings, and parameters of services.
STRANGE = (
    "__class__",
    "__dict__",
    "__init__",
    "__proto__",
    "constructor",
    "_state",
    "_connection",
    "Meta",
    "pk",
    "id",
    "raw",
    "attribute_values",
    "role[]",
    "scope[]",
    "account.role",
    "account[role]",
    "data[role]",
    "staff",
    "actor",
    "is_admin",
    "is_superuser",
    "permissions",
    "UpdateExpression",
    "ExpressionAttributeValues",
    "_method",
    "HTTP_X_HTTP_METHOD_OVERRIDE",
)


def models(base: type = StoreModel) -> Iterator[type[StoreModel]]:
    """Every model of the console: those of the apps that are installed."""
    assert apps.ready
    for each in base.__subclasses__():
        yield each
        yield from models(each)


def extra_names() -> set[str]:
    """The attributes of all models and all indexes, and what is none."""
    names = {name for model in models() if hasattr(model, "get_attributes") for name in model.get_attributes()}
    keys = {key.name for spec in TABLES.values() for each in (spec, *spec.gsis, *spec.lsis) for key in keys_of(each)}
    return names | keys | set(STRANGE)


def keys_of(spec: Any) -> Iterable[Any]:
    return [key for key in (spec.hash, spec.range) if key is not None]


def with_extras(url: str, form: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The form with every extra field, in the address too, and before each of its own fields another of that name."""
    # Fields of a form that may leave them out, such as filters of the queue where the longest waiting is taken.
    left_out = {"queue-take": QueueForm.base_fields, "channels-resolve": ResolveForm.base_fields}
    left_out["agent-groups"] = GroupForm.base_fields
    path, query = urlsplit(url).path, urlsplit(url).query
    own = {*left_out.get(resolve(path).view_name, ()), *parse_qs(query)}
    extras = {name: HARMFUL.get(name, INJECTED) for name in sorted(extra_names() - set(form) - own)}
    # The last of two equal fields is the one that the person sees. A list of values is one field, and left alone.
    doubled = {
        name: value if isinstance(value, list) else [HARMFUL.get(name, INJECTED), value] for name, value in form.items()
    }
    # What an export or a saved view is of stands in its address: there, filters are its own fields.
    own = set(ReviewForm.base_fields) if url.startswith(reverse("audit-export")) else set()
    if url.startswith(reverse("saved-view-new")):
        own = {"project", *ConversationFilter.base_fields, *QueueForm.base_fields}
    added = urlencode({name: extras[name] for name in sorted(extras.keys() - own)})
    return f"{url}{'&' if '?' in url else '?'}{added}", extras | doubled


def test_the_extras_hold_what_would_do_harm():
    names = extra_names()
    for name in (*HARMFUL, "password_hash", "hand_off_note", "conversation_status", "gsi_hand_off_queue", "sk"):
        assert name in names
    assert len(names) > 120


# What differs between two runs of the same action.
CHANCE = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00|\b)"), "<instant>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"waited_seconds\W+\d+"), "<waited>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r'^"[0-9a-f]{8}"$'), "<revision>"),
    # Sort keys of threads have them padded with zeros.
    (re.compile(r"\b0*1[5-9]\d{8}(?:\d{3})?\b"), "<epoch>"),
)
SECRET = {"password_hash", "totp_secret", "totp_last_step", "secrets"}


def stored(store) -> dict[str, list[dict[str, str]]]:
    """All items of all tables, each attribute as text without what is chance, in an order of their own."""
    return {key: sorted((plain(item) for item in store.all(key)), key=str) for key in TABLES}


def plain(item: dict[str, Any]) -> dict[str, str]:
    texts = {}
    for name, value in sorted(item.items()):
        texts[name] = json.dumps(value, sort_keys=True, default=in_order_or_text)
        for pattern, word in CHANCE:
            texts[name] = pattern.sub(word, texts[name])
        if name in SECRET and INJECTED not in texts[name]:
            texts[name] = "<secret>"
    return texts


def in_order_or_text(value: Any) -> Any:
    return sorted(value) if isinstance(value, set) else str(value)


def differences(plainly: dict[str, list[dict]], injected: dict[str, list[dict]]) -> Iterator[str]:
    """What differs between two stores, in words."""
    for table, items in plainly.items():
        for item, other in zip_longest(items, injected[table], fillvalue={}):
            for name in sorted({*item, *other}):
                if item.get(name) != other.get(name):
                    yield f"{table}.{name}: {item.get(name)} without, {other.get(name)} with the extra fields"


def run(store, browser_of, role: str, *, extras: bool) -> tuple[dict[str, list[dict]], dict[str, list[dict]]]:
    """Every action of the console once, in a new scenario; what was stored before and after."""
    store.empty()
    scenario = build(store)
    before = stored(store)
    forms = posts(scenario.ours, scenario, scenario.people[role])
    for route in in_order(role):
        for url, form in forms[route.name]:
            client = browser_of(scenario, role)
            answer = client.post(*(with_extras(url, form) if extras else (url, form)))
            assert answer.status_code in (200, 302), (route.name, answer.content.decode())
    return before, stored(store)


@pytest.mark.parametrize("role", ["agent", "admin"])
def test_fields_that_a_form_does_not_have_change_nothing(store, browser_of, role):
    before, plainly = run(store, browser_of, role, extras=False)
    before_again, injected = run(store, browser_of, role, extras=True)
    assert not list(differences(before, before_again))
    found = list(differences(plainly, injected))
    assert not found, "\n".join(found[:20])
    assert INJECTED not in str(injected)
    assert plainly["CONVERSATIONS"] != before["CONVERSATIONS"]
    assert plainly["AUDIT"] != before["AUDIT"]
