"""Asking changes nothing, and nothing is changed for a form that is not of this console."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings

from console import clock
from console.permissions import Role
from console.schema.tables import TABLES
from tests.crawl.access.conftest import NOBODY
from tests.crawl.access.routes import BY_NAME, PUBLIC, ROUTES, Route, in_order
from tests.crawl.access.test_routes import WHOEVER
from tests.dynamodb import SeenCall
from tests.scenario import HTMX, Scenario, posts, urls

READING = {"GetItem", "BatchGetItem", "Query", "DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"}
# What a read may leave in the trail: that a transcript was opened or a person looked up, that somebody was refused.
RECORDED = {"transcript.opened", "person.looked_up", "staff.denied"}
POSTED = [route for route in ROUTES if "POST" in route.accepts and not route.absent]


def everything(store) -> dict[str, list[dict]]:
    """All items of all tables."""
    return {key: store.all(key) for key in TABLES}


def is_seen(partition: str) -> bool:
    """Whether it is where the console notes that a person looked at what they hold, or reads a conversation now."""
    return partition.startswith(("SEEN#", "PRESENCE#"))


def forbidden(calls: list[SeenCall]) -> Iterator[str]:
    """The writes among some calls that a read may not make."""
    for call in calls:
        match call.operation, call.tables:
            case operation, _ if operation in READING:
                continue
            case "PutItem", ("AUDIT",) if call.request["Item"]["action_type"]["S"] in RECORDED:
                continue
            case "PutItem", ("CONSOLE",) if is_seen(call.request["Item"]["pk"]["S"]):
                continue
            case "UpdateItem", ("CONSOLE",) if call.request["Key"]["pk"]["S"].startswith("THROTTLE#reveals#"):
                continue
            # A refusal is counted on the entry of its minute, whose key names the action.
            case "UpdateItem", ("AUDIT",) if "Z#staff.denied." in call.request["Key"]["ts_action_id"]["S"]:
                continue
            case "UpdateItem", ("STAFF_SESSIONS",) if names_set(call) == {"last_seen_at"}:
                continue
        yield f"{call.operation} on {', '.join(call.tables)}: {call.request}"


def names_set(call: SeenCall) -> set[str]:
    """The attributes that an UpdateItem sets; its expression may do nothing but set."""
    placeholders = call.request["ExpressionAttributeNames"]
    found = re.fullmatch(r"SET ((?:#\w+ = :\w+(?:, )?)+)", call.request["UpdateExpression"])
    return {placeholders[each] for each in re.findall(r"(#\w+) =", found[1])} if found else {"anything"}


def may_open(who: str, route: Route) -> bool:
    """Whether the guard lets that person through to the view."""
    return route.who == PUBLIC or (who != NOBODY and Role(who) in route.declared)


def reads_of(scenario: Scenario, who: str) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Route, method, address and headers of every read: each address as a page; one of each route in other ways.

    Who may not open a route at all is refused before its address is looked at: one of them will do.
    """
    by = scenario.people.get(who)
    for side in (scenario.ours, scenario.theirs):
        for name, addresses in urls(side, scenario, by).items():
            # The others open the same pages in the same states.
            whole = who == "admin" and side is scenario.ours and may_open(who, BY_NAME[name])
            for url in addresses if whole else addresses[:2]:
                yield name, "get", url, {}
            for method, headers in (("get", HTMX), ("head", {}), ("options", {})):
                if side is scenario.ours:
                    yield name, method, addresses[0], headers
    for name, forms in posts(scenario.ours, scenario).items():
        for method in ("get", "head", "options"):
            yield name, method, forms[0][0], {}


def who_is(scenario: Scenario, who: str) -> str:
    return "" if who == NOBODY else scenario.people[who].username


@pytest.mark.parametrize("who", WHOEVER)
def test_reading_writes_nothing_but_that_it_was_read(store, scenario, browser, who):
    client, reads, wrong = browser(who), list(reads_of(scenario, who)), []
    for session in store.all("STAFF_SESSIONS"):
        # Seen long enough ago for the first request to note that it was seen again.
        seen = clock.to_iso(clock.now() - timedelta(minutes=20))
        store.update("STAFF_SESSIONS", {"session_id": session["session_id"]}, last_seen_at=seen)
    before = everything(store)
    for name, method, url, headers in reads:
        with store.calls() as calls:
            getattr(client, method)(url, headers=headers)
        wrong += [f"{method.upper()} {name}: {each}" for each in forbidden(calls)]
    assert not wrong, "\n".join(wrong)
    after = everything(store)
    new = [item for item in after.pop("AUDIT") if item not in before["AUDIT"]]
    assert {item["action_type"] for item in new} <= RECORDED
    assert {item["actor"] for item in new} <= {who_is(scenario, who)} - {""}
    changed = [item for item in after["STAFF_SESSIONS"] if item not in before["STAFF_SESSIONS"]]
    assert len(changed) == (0 if who == NOBODY else 1)
    for item in (*after["STAFF_SESSIONS"], *before["STAFF_SESSIONS"]):
        item.pop("last_seen_at")
    noted = (f"SEEN#{who_is(scenario, who)}", "PRESENCE#", "THROTTLE#reveals#")
    after["CONSOLE"] = [item for item in after["CONSOLE"] if not item["pk"].startswith(noted)]
    before.pop("AUDIT")
    assert after == before


# What a form can lack to be ours; each is (token, headers). `{own}` is the token that the person's page holds.
FORGERIES = {
    "no token": ("", {}),
    "an invented token": ("x" * 64, {}),
    "the token of another browser": ("{other}", {}),
    "from another site": ("{own}", {"Origin": "https://evil.example"}),
    "from a page without an origin": ("{own}", {"Origin": "null"}),
    "the token in the address": ("?csrfmiddlewaretoken={own}", {}),
}


def token_of(client) -> str:
    """The token of a form on a page that everyone may open."""
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/sign-in/?x").content.decode())[1]


@pytest.fixture
def strict(browser):
    """`strict("admin")`: as `browser`, where the tokens of forms are checked; and the token of its pages."""

    def strict(who: str):
        client = browser(who, enforce_csrf_checks=True)
        kept = client.cookies.pop(settings.SESSION_COOKIE_NAME, None)
        token = token_of(client)
        if kept is not None:
            client.cookies[settings.SESSION_COOKIE_NAME] = kept.value
        return client, token

    return strict


@pytest.mark.parametrize("who", [NOBODY, "agent", "admin"])
def test_a_form_that_is_not_ours_is_refused_before_anything_is_read(store, scenario, strict, who):
    (client, own), (_, other) = strict(who), strict(NOBODY)
    forms = posts(scenario.ours, scenario, scenario.people.get(who))
    before = everything(store)
    with store.calls() as calls:
        for forgery, (token, headers) in FORGERIES.items():
            token = token.format(own=own, other=other)
            field, address = ({}, token) if token.startswith("?") else ({"csrfmiddlewaretoken": token}, "")
            for name, url, form in ((route.name, *form) for route in POSTED for form in forms[route.name]):
                answer = client.post(url + address, form | field, headers=headers)
                assert answer.status_code == 403, (forgery, name)
                assert b"This form is no longer valid" in answer.content, (forgery, name)
                assert b"Nothing was changed" in answer.content, (forgery, name)
    assert calls == []
    assert everything(store) == before


def test_the_same_forms_with_their_token_are_carried_out(scenario, strict):
    forms = posts(scenario.ours, scenario, scenario.people["admin"])
    for route in in_order("admin"):
        client, own = strict("admin")
        url, form = forms[route.name][0]
        answer = client.post(url, form | {"csrfmiddlewaretoken": own})
        assert answer.status_code in (200, 302), route.name
