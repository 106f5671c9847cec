"""Reading across trails: merged by time, page by page, by the index that serves best, within the person's scope."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from console.audit.queries import trail_page
from console.audit.review import plan, reading
from console.audit.review.plan import NO_ACTOR_FILTER, Review, known_actions
from console.audit.review.reading import every_page, read_review
from console.clock import to_epoch, to_iso
from console.errors import Forbidden, NotFound, StoreUnavailable
from console.permissions import Role, Scope, Staff
from console.refs import seal_cursor
from console.store import calls
from console.trail.actions import DEFAULT_ACTIONS, Action
from tests import faults, items

pytestmark = pytest.mark.pages

AUDITOR = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True))
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OURS, THEIRS = "ci-cuc-001", "ci-nwe-002"


@pytest.fixture(autouse=True, params=["type by type", "by partition"])
def reads(request, store):
    """Both ways in which a review reads the console's own entries."""
    if request.param == "by partition":
        store.put("CONSOLE", items.backfill_done())


def entry(number: int, action: str = "route", trail: str = "c1", **more) -> dict:
    """One entry, `number` minutes old; those of the console name actor and company."""
    return items.entry(NOW - timedelta(minutes=number), action, trail, tie=f"{number:05}", **more)


def ours(number: int, action: Action, trail: str = "c1", actor: str = "amira.haddad", company: str = OURS) -> dict:
    return entry(number, action, trail, actor=actor, company=company)


def numbers(entries) -> list[str]:
    return [str(each.plain("ts_action_id")).split("#")[1].lstrip("0") or "0" for each in entries]


def walk(review: Review, staff: Staff = AUDITOR, size: int = 7) -> list[str]:
    """The whole review, page by page."""
    found, cursor = [], ""
    for _ in range(500):
        page = read_review(review, staff, cursor, size)
        found += numbers(page.entries)
        if not (cursor := page.next):
            return found
    raise AssertionError("the review never ends")


@pytest.mark.parametrize("size", [1, 2, 7, 50, 500])
def test_action_types_are_merged_newest_first_and_nothing_is_lost_between_pages(store, size):
    kinds = [Action.ROUTE, Action.TAG, Action.HAND_OFF_TAKE, Action.ESCALATE]
    store.put_all("AUDIT", [entry(n, kinds[n % 7 % 4], f"c{n % 5}") for n in range(60)])
    assert walk(Review(tuple(kinds)), size=size) == [str(n) for n in range(60)]


def test_entries_of_one_sort_key_in_several_trails_are_all_shown_once(store):
    items = [entry(1, "route", f"c{n}") for n in range(9)] + [entry(1, "tag", f"t{n}") for n in range(5)]
    store.put_all("AUDIT", items)
    assert walk(Review(("route", "tag")), size=2) == ["1"] * 14


def test_only_the_action_types_asked_for_are_covered(store):
    store.put_all("AUDIT", [entry(1, "route"), entry(2, "tag"), entry(3, "something_else")])
    page = read_review(Review(("tag", "something_else")), AUDITOR)
    assert (numbers(page.entries), page.covered) == (["2", "3"], ("tag", "something_else"))
    assert read_review(Review(), AUDITOR).covered == DEFAULT_ACTIONS


def test_first_page_costs_one_query_for_each_action_type(store):
    store.put_all("AUDIT", [entry(n, ["route", "tag", "escalate"][n % 3], f"c{n}") for n in range(240)])
    read_review(Review(("route",)), AUDITOR)
    with calls.budget(8) as budget:
        page = read_review(Review(("route", "tag", "escalate")), AUDITOR)
    assert len(page.entries) == 50
    assert [(each.operation, each.index) for each in budget.calls] == [("Query", "action-type-index")] * 3


def test_epochs_come_after_the_timestamps(store):
    epochs = [
        entry(100 + n) | {"ts_action_id": f"{to_epoch(NOW - timedelta(days=n)) * scale}#{100 + n:05}"}
        for n, scale in enumerate((1, 1000, 1, 1000))
    ]
    store.put_all("AUDIT", [entry(n) for n in range(3)] + epochs)
    for size in (1, 2, 3, 4, 50):
        assert walk(Review(("route",)), size=size) == ["0", "1", "2", "100", "101", "102", "103"]
    store.empty()
    store.put_all("AUDIT", epochs)
    assert numbers(read_review(Review(("route",)), AUDITOR).entries) == ["100", "101", "102", "103"]


def test_dates_bound_both_spellings_of_time(store):
    for n in range(10):
        at = NOW - timedelta(days=n)
        store.put("AUDIT", entry(n) | {"ts_action_id": f"{to_iso(at)}#{n:05}"})
        store.put("AUDIT", entry(n) | {"ts_action_id": f"{to_epoch(at) * 1000}#{n + 20:05}"})
    # From the seventh day to the fourth, the end not included.
    review = Review(("route",), since=NOW - timedelta(days=7), until=NOW - timedelta(days=3))
    assert walk(review, size=2) == ["4", "5", "6", "7", "24", "25", "26", "27"]


def test_what_is_recorded_once_an_hour_is_of_the_day_on_which_it_happened(store):
    # Midnight in Kolkata, in the middle of an hour of UTC.
    midnight = datetime(2026, 11, 19, 18, 30, tzinfo=UTC)
    hour = midnight - timedelta(minutes=30)
    for n, minutes in enumerate((15, 45)):
        happened = json.dumps({"at": to_iso(hour + timedelta(minutes=minutes))})
        opened = ours(n, Action.TRANSCRIPT_OPENED, f"c{n}") | {"action_payload_redacted": happened}
        store.put("AUDIT", opened | {"ts_action_id": f"{to_iso(hour)}#{n:05}"})
        routed = entry(n, trail=f"c{n}") | {"ts_action_id": f"{to_iso(hour + timedelta(minutes=minutes))}#{n + 2:05}"}
        store.put("AUDIT", routed)
    kinds = ("route", Action.TRANSCRIPT_OPENED)
    assert walk(Review(kinds, until=midnight), size=1) == ["2", "0"]
    assert walk(Review(kinds, since=midnight), size=1) == ["3", "1"]
    assert walk(Review(kinds, since=midnight, conversation="c1")) == ["3", "1"]
    assert walk(Review(since=midnight, actor="amira.haddad")) == ["1"]
    assert walk(Review(kinds, since=midnight, until=midnight + timedelta(days=1))) == ["3", "1"]


def test_results_are_told_apart_as_services_spell_them(store):
    spelled = ["success", "fail: no team", "failed", "failure: x", "conflict: late", "pending", "ok", "?"]
    store.put_all("AUDIT", [entry(n, result=result) for n, result in enumerate(spelled)])
    for result, expected in {"success": "06", "failed": "123", "conflict": "4", "pending": "5", "unknown": "7"}.items():
        assert walk(Review(("route",), result=result)) == list(expected)


def test_actor_is_read_from_the_index_of_actors_whatever_they_did(store):
    store.put_all("AUDIT", [ours(n, Action.HAND_OFF_TAKE, f"c{n}", "amira.haddad") for n in range(5)])
    store.put_all("AUDIT", [ours(n + 50, Action.SIGN_IN, "STAFF#amira.haddad", "amira.haddad") for n in range(2)])
    store.put_all("AUDIT", [ours(n + 10, Action.HAND_OFF_TAKE, f"c{n}", "tom.becker") for n in range(5)])
    with calls.budget(8) as budget:
        assert walk(Review(actor="amira.haddad"), size=50) == ["0", "1", "2", "3", "4", "50", "51"]
    assert {each.index for each in budget.calls if each.operation == "Query"} == {"actor-index"}
    assert walk(Review((Action.SIGN_IN,), actor="amira.haddad")) == ["50", "51"]


def test_entries_that_name_nobody_are_the_middleware_s(store):
    store.put_all("AUDIT", [entry(1), entry(2, actor="platform"), ours(3, Action.HAND_OFF_TAKE)])
    assert walk(Review(actor=NO_ACTOR_FILTER)) == ["1"]


def test_company_is_found_where_entries_name_it_and_where_only_the_conversation_does(store, monkeypatch):
    owners = {"c1": frozenset({OURS}), "c2": frozenset({THEIRS}), "c3": frozenset()}
    monkeypatch.setattr(reading.scoping, "companies_of", lambda trail: owners[trail])
    store.put_all("AUDIT", [entry(n, trail=f"c{n % 3 + 1}") for n in range(9)])
    store.put_all("AUDIT", [ours(20 + n, Action.HAND_OFF_TAKE, company=[OURS, THEIRS][n % 2]) for n in range(4)])
    assert walk(Review(company=OURS), size=2) == ["0", "3", "6", "20", "22"]


def test_an_entry_found_by_its_company_and_by_its_type_is_shown_once(store, monkeypatch):
    monkeypatch.setattr(reading.scoping, "companies_of", lambda _: frozenset())
    store.put_all("AUDIT", [entry(number, "route", company=OURS) for number in range(5)])
    assert walk(Review(company=OURS), size=2) == ["0", "1", "2", "3", "4"]


def test_reviewer_of_some_companies_sees_theirs_and_their_own_trail(store, monkeypatch):
    owners = {"c1": frozenset({OURS}), "c2": frozenset({THEIRS}), "c3": frozenset(), "c4": frozenset({OURS, THEIRS})}
    monkeypatch.setattr(reading.scoping, "companies_of", lambda trail: owners[trail])
    limited = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(companies=frozenset({OURS})))
    store.put_all("AUDIT", [entry(n, trail=f"c{n % 4 + 1}") for n in range(8)])
    store.put_all("AUDIT", [ours(20 + n, Action.HAND_OFF_TAKE, company=[OURS, THEIRS][n % 2]) for n in range(4)])
    signed_in = [entry(30 + n, Action.SIGN_IN, f"STAFF#{who}") for n, who in enumerate(("aiko.mori", "tom.becker"))]
    store.put_all("AUDIT", [*signed_in, entry(40, Action.COMPANIES_DISCOVERED, "SYSTEM")])
    assert walk(Review(known_actions()), limited, size=3) == ["0", "4", "20", "22", "30"]


def test_whose_trail_it_is_has_one_answer_for_lists_and_for_single_trails(store, monkeypatch):
    monkeypatch.setattr(reading.scoping, "companies_of", lambda trail: frozenset())
    limited = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope.of([f"company:{OURS}", "tenant:ours"]))
    seen = {f"THREAD#{OURS}#t1": True, f"THREAD#{THEIRS}#t1": False, "TENANT#ours": True, f"TENANT#{THEIRS}": False}
    # A company and a tenant of one id are two.
    seen |= {"THREAD#ours#t1": False, f"TENANT#{OURS}": False}
    seen |= {"STAFF#aiko.mori": True, "STAFF#tom.becker": False, "CHAT#s1": False, "SYSTEM": False, "c1": True}
    for n, trail in enumerate(seen):
        store.put("AUDIT", ours(n, Action.TRANSCRIPT_OPENED, trail))
    expected = [str(n) for n, in_scope in enumerate(seen.values()) if in_scope]
    assert walk(Review(), limited) == walk(Review(actor="amira.haddad"), limited) == expected
    assert [str(n) for n, trail in enumerate(seen) if walk(Review(conversation=trail), limited)] == expected
    for n, (trail, in_scope) in enumerate(seen.items()):
        try:
            trail_page(trail, limited)
        except (NotFound, Forbidden):
            assert not in_scope
        else:
            assert in_scope, n
    # The company that an entry names is what it is filtered by, wherever it stands.
    assert walk(Review((Action.TRANSCRIPT_OPENED,), company=OURS)) == [str(n) for n in range(len(seen))]


def test_owners_that_are_asked_for_are_bounded_and_the_next_page_goes_on(store, monkeypatch):
    asked = []
    monkeypatch.setattr(reading.scoping, "companies_of", lambda trail: asked.append(trail) or frozenset({THEIRS}))
    limited = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(companies=frozenset({OURS})))
    store.put_all("AUDIT", [entry(n, trail=f"c{n}") for n in range(90)])
    page = read_review(Review(("route",)), limited)
    assert (page.entries, page.thin, len(asked)) == ((), True, reading.OWNERS_PER_PAGE)
    assert walk(Review(("route",)), limited) == []


def test_thin_page_says_so_and_goes_on(store):
    store.put_all("AUDIT", [entry(n, result="failed" if n == 150 else "success") for n in range(160)])
    page = read_review(Review(("route",), result="failed"), AUDITOR, size=10)
    assert (page.entries, page.thin, page.looked_at) == ((), True, 10 * reading.READS_PER_PAGE)
    assert walk(Review(("route",), result="failed"), size=10) == ["150"]


def test_conversation_and_key_lead_to_one_trail(store):
    key = "evt:rp:c1:m1"
    store.put("IDEMPOTENCY", {"event_id": key, "conversation_id": "c1", "created_at": to_iso(NOW)})
    store.put_all("AUDIT", [entry(1), entry(2, "own_word", idempotency_key=key), entry(3, trail="c2")])
    assert walk(Review(conversation="c1")) == ["1", "2"]
    assert walk(Review(("route",), conversation="c1")) == ["1"]
    assert walk(Review(key=key)) == ["2"]
    assert walk(Review(key="evt:rp:nobody")) == []
    store.delete("IDEMPOTENCY", event_id=key)
    # The key says by itself of which conversation it is; where it does not, whoever asks may know.
    assert walk(Review(key=key)) == ["2"]
    store.put("AUDIT", entry(4, idempotency_key="odd"))
    assert walk(Review(key="odd")) == []
    assert walk(Review(key="odd", conversation="c1")) == ["4"]


def test_expired_entries_are_nowhere(store):
    past, ahead = to_epoch(datetime.now(UTC)) - 5, to_epoch(datetime.now(UTC)) + 500
    store.put_all("AUDIT", [entry(1, expires_at=past), entry(2, expires_at=ahead)])
    assert walk(Review(("route",))) == ["2"]


def test_without_the_indexes_it_says_what_cannot_be_done(store, monkeypatch):
    store.put_all("AUDIT", [entry(1), ours(2, Action.HAND_OFF_TAKE)])
    there: set[str] = set()
    monkeypatch.setattr(plan, "index_ready", lambda table, name: name in there)
    page = read_review(Review(("route",)), AUDITOR)
    assert (page.entries, page.next, page.notices) == ((), "", (plan.TRAIL_BY_TRAIL,))
    there.add("company-index")
    page = read_review(Review(company=OURS), AUDITOR)
    assert (numbers(page.entries), page.notices) == (["2"], (plan.TRAIL_BY_TRAIL,))
    there.add("action-type-index")
    there.discard("company-index")
    page = read_review(Review((Action.HAND_OFF_TAKE,), actor="amira.haddad", company=OURS), AUDITOR)
    assert (numbers(page.entries), page.notices) == (["2"], (plan.NO_ACTOR_INDEX, plan.NO_COMPANY_INDEX))


def test_a_bookmarked_cursor_of_an_older_console_gives_the_first_page(store):
    store.put_all("AUDIT", [entry(number) for number in range(7)])
    review = Review(("route",))
    of_today = read_review(review, AUDITOR, size=3).next
    trail, key = "c1", str(read_review(review, AUDITOR, size=3).entries[-1].ts_action_id)
    older = seal_cursor([0, key, [[trail, key]]], *review.binding, AUDITOR.username)
    assert numbers(read_review(review, AUDITOR, of_today, 3).entries) == ["3", "4", "5"]
    assert numbers(read_review(review, AUDITOR, older, 3).entries) == ["0", "1", "2"]


def test_cursor_of_another_review_or_person_begins_anew(store):
    store.put_all("AUDIT", [entry(n) for n in range(9)])
    cursor = read_review(Review(("route",)), AUDITOR, size=3).next
    other = Staff("ada.admin", "Ada", Role.ADMIN, Scope(everything=True))
    assert numbers(read_review(Review(("route",)), other, cursor, 3).entries) == ["0", "1", "2"]
    assert numbers(read_review(Review(("route", "tag")), AUDITOR, cursor, 3).entries) == ["0", "1", "2"]
    assert numbers(read_review(Review(("route",)), AUDITOR, "junk", 3).entries) == ["0", "1", "2"]


def test_who_may_not_review_is_refused_before_anything_is_read(store):
    agent = Staff("amira.haddad", "Amira", Role.AGENT, Scope(everything=True))
    with calls.budget(8) as budget:
        with pytest.raises(Forbidden):
            read_review(Review(), agent)
        with pytest.raises(Forbidden):
            next(iter(every_page(Review(), agent, 10)))
    assert budget.calls == []


def test_everything_comes_in_pieces_up_to_a_limit(store):
    store.put_all("AUDIT", [entry(n, ["route", "tag"][n % 2], f"c{n % 9}") for n in range(500)])
    pieces = list(every_page(Review(("route", "tag")), AUDITOR, 450, size=100))
    assert max(map(len, pieces)) <= 100
    assert numbers(each for piece in pieces for each in piece) == [str(n) for n in range(450)]
    assert sum(map(len, every_page(Review(("route", "tag")), AUDITOR, 10_000))) == 500


def test_a_failing_store_is_never_an_end(store):
    store.put_all("AUDIT", [entry(n) for n in range(9)])
    with faults.refuse("Query", code="InternalServerError", status=500, times=99), pytest.raises(StoreUnavailable):
        read_review(Review(("route",)), AUDITOR)
