"""Nothing of another company reaches who may not see it, and nothing tells that it is there."""

import re
from itertools import count
from types import SimpleNamespace
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import get_resolver, reverse

from console import clock, middleware
from console.permissions import Staff
from console.refs import seal
from console.trail import recording
from conversations.handoff import actions
from conversations.queue.views import queue
from conversations.sending import replies
from conversations.team.saved_replies import service as saved_reply_service
from tests.crawl.hostile.crawl import Crawler, Visit
from tests.crawl.hostile.scene import SHARED, assert_same, is_theirs, known_pairs, put_back, scene, stored
from tests.crawl.hostile.twins import KEPT_NAMES, malformed, twin, twin_url
from tests.people import OTHER_COMPANY, member, signed_in
from tests.scenario import (
    Side,
    messages,
    posts,
    saved_replies,
    saved_views,
    stores,
    team,
    tenant_conversations,
    tenants,
    urls,
)
from tests.scenario.audit import entry_refs, event_key, event_ref
from tests.scenario.requests import hand_offs, ref

ROLES = ("agent", "onboarding", "auditor", "admin")
# Forms about oneself, which have nothing of a company in them.
OWN = (
    "sign-in",
    "sign-out",
    "oidc",
    "set-password",
    "account",
    "queue-release-mine",
    "queue-take",
    "saved-reply-new",
    "notices",
    "availability",
    "access-review-record",
)
OF_TRAILS = ("trail", "audit-entry")
# What was typed leads to a page about it, whatever it is.
LEADING_ON = ("search", "audit-find", "access-log", "channels-resolve")
# That an id or a channel is taken is told to who wants it, never by whom.
TOLD = ("tenant-new", "channels-resolve")
# Pages with a fresh secret each time, and nothing of a company.
FRESH = ("account-second-factor", "tenant-new")
# What a request costs that is refused before anything is looked for: who asks, and the note of a refused role.
ADMISSION = {("BatchGetItem", ("STAFF", "STAFF_SESSIONS"), ""), ("UpdateItem", ("AUDIT",), "")}


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    """A clock that stands still, and the same id in every form and of every request."""
    moment = clock.now()
    monkeypatch.setattr(clock, "now", lambda: moment)
    monkeypatch.setattr(middleware, "_request_id", lambda request: "0" * 32)
    monkeypatch.setattr(middleware, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    for module in (actions, queue, saved_reply_service, replies):
        monkeypatch.setattr(module, "new_action_id", lambda: "0" * 32)


# --- A crawl ----------------------------------------------------------------------------------------------------


def same_session(client: Client) -> Client:
    """Another browser with the same session and nothing else."""
    fresh = Client()
    name = django_settings.SESSION_COOKIE_NAME
    fresh.cookies[name] = client.cookies[name].value
    return fresh


@pytest.mark.parametrize("role", ["agent", "onboarding"])
def test_every_page_reads_the_same_whether_another_company_is_there_or_not(store, role, monkeypatch):
    here = scene(store, role)
    everything = stored(store)
    assert sum(is_theirs(item) for items in everything.values() for item in items) > SHARED
    seeds = [url for found in urls(here.ours, here.scenario, by=here.account).values() for url in found[:4]]

    def crawl() -> list[Visit]:
        numbers = count()
        # What happened at the same instant is in the order in which it happened.
        monkeypatch.setattr(recording, "new_action_id", lambda: f"{next(numbers):032d}")
        return Crawler(same_session(here.browser.client)).crawl(seeds)

    with_them = crawl()
    for visit in with_them:
        for text in (visit.body, *map(str, visit.headers), *visit.cookies, *visit.logs):
            assert "theirs" not in text, f"{visit} shows something of another company"
            assert OTHER_COMPANY not in text, f"{visit} names another company"

    put_back(store, {key: [item for item in items if not is_theirs(item)] for key, items in everything.items()})
    without_them = crawl()
    assert [str(visit) for visit in without_them] == [str(visit) for visit in with_them]
    for one, other in zip(with_them, without_them, strict=True):
        if one.route not in FRESH:
            assert_same(one, other)


def test_what_is_held_apart_is_there_for_who_may_see_it(store):
    """Else the crawl would prove nothing."""
    here = scene(store, "agent")
    other = Crawler(signed_in(member("scoped.other", "agent", [OTHER_COMPANY])))
    shown = urls(here.theirs, here.scenario, by=here.account)
    pages = ("queue", "conversations", "company", "recipient", "conversation", "conversation-timeline", "trail")
    found = [*(shown[route][0] for route in pages), *shown["store-list"], *shown["store-record"]]
    text = "".join(other.get(url).body for url in found)
    assert sum(canary in text for canary in here.theirs.canaries) > len(here.theirs.canaries) / 3
    assert "theirs.shared.reason" in text


# --- One id of a company and of a tenant ------------------------------------------------------------------------------

OF_TENANTS = ("TENANTS", "TENANT_CONVERSATIONS")
CANARY = re.compile(r"theirs(?:\.[\w-]+)+")


def canaries(store, *, of_tenants: bool) -> set[str]:
    """Texts that are stored of their tenants alone, or of their company alone."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for key, items in stored(store).items():
        for item in items if key not in ("STAFF", "STAFF_SESSIONS") else ():
            trail_or_key = str(item.get("conversation_id") or item.get("pk") or "")
            found[key in OF_TENANTS or trail_or_key.startswith("TENANT#")].update(CANARY.findall(repr(item)))
    # The name of somebody of theirs is in addresses, which say again what they were asked with.
    return found[of_tenants] - found[not of_tenants] - {"theirs.colleague"}


@pytest.mark.parametrize("role", ["admin", "auditor"])
@pytest.mark.parametrize("kind", ["company", "tenant"])
def test_who_has_a_tenant_sees_nothing_of_the_company_of_its_id_and_the_other_way_round(store, role, kind):
    """The first tenant of a company bears its id. Whoever is given one of them is not given the other."""
    here = scene(store, "agent")
    seen, unseen = (canaries(store, of_tenants=each) for each in (kind == "tenant", kind == "company"))
    person = Crawler(signed_in(member(f"of.{kind}", role, [f"{kind}:{OTHER_COMPANY}"])))
    addresses = {url for found in urls(here.theirs, here.scenario, by=here.account).values() for url in found}
    bodies = {str(visit): visit.body for url in sorted(addresses) for visit in (person.get(url),)}
    asking = ("audit-export", "conversations-export", "search", "conversation-find", "access-log")
    for route, forms in posts(here.theirs, here.scenario, by=here.account).items():
        for url, data in forms if route in asking else ():
            visit = person.post(url, data.items())
            bodies[f"{visit} {data}"] = visit.body
    told = {name: shown for name, body in bodies.items() if (shown := unseen.intersection(CANARY.findall(body)))}
    # Who answers for a company is named to whoever gives work there, whatever else is in their scope.
    told = {name: found for name, shown in told.items() if (found := {s for s in shown if "display_name" not in s})}
    assert told == {}
    assert seen.intersection(CANARY.findall("".join(bodies.values())))


def test_a_company_that_appears_under_a_claimed_id_is_not_its_claimants(store):
    """Somebody claims an id as a tenant's before the company of that id exists; then its conversations come in."""
    browser = signed_in(member("mallory.claims", "admin", ["tenant:acme"]))
    begun = {"name": "New", "tenant_id": OTHER_COMPANY, "token": "one"}
    assert browser.post(reverse("tenant-new"), begun).status_code == 302
    scope = store.get("STAFF", username="mallory.claims")["scope"]
    assert scope == ["tenant:acme", f"tenant:{OTHER_COMPANY}"]
    here = scene(store, "agent")
    person, company = Crawler(browser), canaries(store, of_tenants=False)
    for found in urls(here.theirs, here.scenario, by=here.account).values():
        for url in found:
            visit = person.get(url)
            assert not company.intersection(CANARY.findall(visit.body)), visit
    sent = {"name": "New", "companies": OTHER_COMPANY, "other": OTHER_COMPANY}
    answer = person.post(reverse("tenant-company-link", args=[OTHER_COMPANY]), sent.items())
    assert "No company in your scope has that id" in answer.body
    assert store.get("STAFF", username="mallory.claims")["scope"] == scope


# --- References -------------------------------------------------------------------------------------------------


def routes_with(parameter: str) -> dict[str, list[str]]:
    """Routes with that parameter in their path, by name: the names of all their parameters."""
    table = get_resolver().reverse_dict
    found = {name: table.getlist(name)[0][0][0][1] for name in table if isinstance(name, str)}
    return {name: parameters for name, parameters in found.items() if parameter in parameters}


def references(side: Side) -> dict[str, list[str]]:
    """References to what is theirs, by their routes' names or the first words of these."""
    return {
        "conversation": [ref(side, "mine"), ref(side, "email")],
        "recipient": [side.recipient_ref, seal("recipient", side.email_recipient)],
        "replies": [side.replies_ref],
        "event": [event_ref(event_key(side)), event_ref(f"act:hand_off:{side.conversation_id}:taken")],
        "events": [side.trail_ref],
        "access-log-conversation": [side.trail_ref],
        "access-log-recipient": [side.recipient_ref],
        "audit-entry": entry_refs(side),
        **tenants.references(side),
        "tenant-conversation": tenant_conversations.refs(side),
        **stores.refs(side),
        **messages.references(side),
        **team.references(side),
        "saved-reply": saved_replies.references(side),
        "saved-view": saved_views.references(side),
        "trail": [
            side.trail_ref,
            seal("trail", f"STAFF#{side.username}"),
            seal("trail", f"TENANT#{side.company_id}"),
            seal("trail", f"THREAD#{side.company_id}"),
        ],
    }


def of_route(kinds: dict[str, list[str]], route: str) -> list[str]:
    """The references of a route: by its name, or by the longest of its first words."""
    words = route.split("-")
    return next(kinds[each] for n in range(len(words), 0, -1) if (each := "-".join(words[:n])) in kinds)


def address(route: str, parameters: list[str], reference: str, side: Side) -> str:
    """The URL of a route for a reference, whatever characters that has, in one side's tenant."""
    known = {"ref": "REFERENCE", "tenant_id": side.company_id, "direction": "next"}
    known |= {"store": "threads", "action": "feedback"}
    marked = reverse(route, args=[known[name] for name in parameters])
    return marked.replace("REFERENCE", quote(reference, safe=""))


@pytest.mark.parametrize("role", ROLES)
def test_another_companys_reference_is_answered_as_one_of_nothing_at_the_same_cost(store, role):
    here = scene(store, role)
    kinds = references(here.theirs)
    before = stored(store)
    for route, parameters in routes_with("ref").items():
        for number, reference in enumerate(of_route(kinds, route)):
            other = twin(reference)
            assert other != reference
            for method, htmx in (("GET", False), ("GET", True), ("POST", False))[: 1 if number else 3]:
                absent, usual = here.ask(method, address(route, parameters, other, here.theirs), htmx=htmx)
                there, calls = here.ask(method, address(route, parameters, reference, here.theirs), htmx=htmx)
                assert absent.status != 200, f"{absent} shows what is not there"
                assert_same(there, absent, [(reference, other)])
                assert calls == usual, f"{there} costs other calls than {absent}"
    assert changed(store, before) == set()


@pytest.mark.parametrize("role", ["agent", "onboarding"])
def test_a_malformed_reference_is_answered_as_one_of_nothing_before_any_read(store, role):
    here = scene(store, role)
    kinds = references(here.ours)
    for route, parameters in routes_with("ref").items():
        reference = (of_route(kinds, route))[0]
        other = twin(reference)
        for method in ("GET", "POST"):
            absent, _ = here.ask(method, address(route, parameters, other, here.ours))
            # Every flaw by GET; who would refuse one of them by POST would refuse all.
            for flaw, wrong in list(malformed(reference).items())[: None if method == "GET" else 2]:
                refused, calls = here.ask(method, address(route, parameters, wrong, here.ours))
                if route not in OF_TRAILS:
                    # Of a trail the kind in the reference decides whether a role may ask at all.
                    assert_same(refused, absent, [(wrong, other)])
                assert refused.status == (absent.status if route not in OF_TRAILS else 404) or refused.status == 405
                assert set(calls) <= ADMISSION, f"{refused} ({flaw}) was looked for"


def changed(store, before) -> set[str]:
    """Tables in which anything of theirs is no longer as it was."""
    return {
        key
        for key, items in stored(store).items()
        if [item for item in items if is_theirs(item)] != [item for item in before[key] if is_theirs(item)]
    }


# --- Forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["agent", "onboarding", "admin"])
def test_forms_about_another_company_are_answered_as_those_about_nothing(store, role):
    here = scene(store, role)
    pairs, staff = known_pairs(here.theirs), Staff.of(here.account)
    before = stored(store)
    asked = 0
    for route, forms in posts(here.theirs, here.scenario, by=here.account).items():
        for url, data in () if route.startswith((*OWN, *TOLD)) else forms:
            other = {name: twin(str(value), staff) for name, value in data.items() if name not in KEPT_NAMES}
            for htmx in (False, True):
                absent, usual = here.ask("POST", twin_url(url), data | other, htmx=htmx)
                there, calls = here.ask("POST", url, data, htmx=htmx)
                assert there.status in (200, 400, 403, 404, 405, 409, 422) or route in LEADING_ON, there
                assert_same(
                    there, absent, [*zip(map(str, data.values()), ({**data, **other}).values(), strict=True), *pairs]
                )
                assert calls == usual, f"{there} costs other calls than for nothing"
                asked += 1
    assert asked > 4
    assert changed(store, before) == set()


def test_a_reference_and_a_form_of_two_conversations_do_nothing(store):
    here = scene(store, "agent")
    before = stored(store)
    staff = Staff.of(here.account)
    theirs, ours = hand_offs(here.theirs, staff), hand_offs(here.ours, staff)
    mixed = [(url, form) for (url, _), (_, form) in zip(theirs * 3, ours, strict=False)]
    mixed += [(url, form) for (url, _), (_, form) in zip(ours, theirs * 3, strict=False)]
    for url, form in mixed:
        answer, _ = here.ask("POST", url, form)
        assert answer.status == 404, answer
    assert stored(store) == before


# --- Parameters -------------------------------------------------------------------------------------------------


def test_no_parameter_tells_whether_another_company_is_there(store):
    """Each parameter that a page of ours takes, with everything of theirs that it could have."""
    here = scene(store, "agent")
    pairs = known_pairs(here.theirs)
    theirs = urls(here.theirs, here.scenario, by=here.account)
    tried = 0
    for route, found in urls(here.ours, here.scenario, by=here.account).items():
        if route.startswith((*OWN, "staff")):
            continue
        path = urlsplit(found[0]).path
        names = {name for url in found for name, _ in parse_qsl(urlsplit(url).query)} | {"company", "in"}
        for name in sorted(names - KEPT_NAMES):
            given = [dict(parse_qsl(urlsplit(url).query)).get(name, "") for url in theirs.get(route, ())]
            for value in dict.fromkeys((*filter(None, given), here.theirs.company_id)):
                there, calls = here.ask("GET", f"{path}?{urlencode({name: value})}")
                absent, usual = here.ask("GET", f"{path}?{urlencode({name: twin(value)})}")
                assert_same(there, absent, [(value, twin(value)), *pairs])
                assert calls == usual, f"{there} costs other calls than {absent}"
                tried += 1
    assert tried > 30


@pytest.mark.parametrize("role", ["auditor", "admin"])
def test_every_address_of_another_company_is_answered_as_one_of_nothing(store, role):
    here = scene(store, role)
    pairs = known_pairs(here.theirs)
    addresses, own = (
        {
            url
            for route, found in urls(side, here.scenario, by=here.account).items()
            for url in found
            if route not in TOLD
        }
        for side in (here.theirs, here.ours)
    )
    for url in sorted(addresses - own):
        other = twin_url(url)
        (there, calls), (absent, usual) = here.ask("GET", url), here.ask("GET", other)
        query, other_query = (dict(parse_qsl(urlsplit(each).query)) for each in (url, other))
        assert_same(there, absent, [*zip(query.values(), other_query.values(), strict=True), *pairs])
        # A cursor of theirs, which nobody could give to this person, has no twin.
        assert calls == usual or "page" in query, f"{there} costs other calls than {absent}"
