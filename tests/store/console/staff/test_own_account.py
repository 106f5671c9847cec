"""What people change about their own account: what is stored, what ends, and what is left when the store fails."""

import threading
from contextlib import suppress

import pyotp
import pytest

from console import clock, refs
from console.errors import Conflict, ConsoleError, Invalid, NotFound, StoreUnavailable
from console.permissions import Role, Staff
from console.staff import accounts, known_companies, own, own_record, passwords, second_factor, services, sessions
from console.staff.authentication import Visit
from console.staff.throttling import TooManyAttempts
from console.trail.actions import Action
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD
from tests.store.console.staff.test_session_list import begin

pytestmark = pytest.mark.pages

NEW = "a wholly different passphrase"
HERE = Visit("192.0.2.7")


@pytest.fixture(autouse=True)
def _still(later) -> None:
    """The clock stands, so that a code stays the code of now."""
    later(stands=True)


@pytest.fixture
def person(agent) -> Staff:
    """The agent, signed in, as the pages hand them to services."""
    return Staff.of(agent, begin(agent))


@pytest.fixture
def guarded(person) -> Staff:
    """The same with a second factor."""
    token, _codes = set_up(person)
    return Staff.of(accounts.get(person.username), sessions.read_token(token).session_id)


def code_of(key: str) -> str:
    return pyotp.TOTP(key).generate_otp(clock.to_epoch(clock.now()) // 30)


def set_up(person: Staff) -> tuple[str, tuple[str, ...]]:
    begun = own.begin_set_up(person)
    return own.finish_set_up(person, begun.pending, code_of(begun.key), PASSWORD, visit=HERE)


def stored(store) -> dict:
    return store.get("STAFF", username="amira.haddad")


def entries(store, action: str) -> list[dict]:
    trail = [item for item in store.all("AUDIT") if item["conversation_id"] == staff_trail("amira.haddad")]
    return [item for item in trail if item["action_type"] == action]


def change_password(person: Staff) -> object:
    return own.change_password(person, PASSWORD, NEW, visit=HERE)


def renew(person: Staff) -> object:
    return own.renew_recovery_codes(person, PASSWORD, visit=HERE)


def end_others(person: Staff) -> str:
    return own.end_other_sessions(person, PASSWORD, visit=HERE)


def remove(person: Staff) -> object:
    return own.remove_second_factor(person, PASSWORD, visit=HERE)


# Each change that starts from an account without a second factor, or with one, and the action of its entry.
WITHOUT = [
    (change_password, Action.PASSWORD_CHANGED),
    (set_up, Action.SECOND_FACTOR_ADDED),
    (end_others, Action.SESSIONS_ENDED),
]
WITH = [(renew, Action.RECOVERY_CODES_MADE), (remove, Action.SECOND_FACTOR_REMOVED)]
ALL = [(False, *each) for each in WITHOUT] + [(True, *each) for each in WITH]
NAMES = ["password", "set-up", "other sessions", "recovery codes", "removal"]
each_change = pytest.mark.parametrize(("has_factor", "change", "action"), ALL, ids=NAMES)
ends_sessions = pytest.mark.parametrize(
    ("has_factor", "change", "action"),
    [ALL[0], ALL[1], ALL[2], ALL[4]],
    ids=["password", "set-up", "others", "removal"],
)
asks_password = pytest.mark.parametrize(
    ("has_factor", "change", "action"), [ALL[0], ALL[1], *ALL[3:]], ids=["password", "set-up", "codes", "removal"]
)


def prepared(has_factor: bool, person: Staff) -> Staff:
    if not has_factor:
        return person
    token, _codes = set_up(person)
    return Staff.of(accounts.get(person.username), sessions.read_token(token).session_id)


def test_new_password_replaces_the_old_one_and_links_to_set_another(store, person):
    store.update(
        "STAFF", {"username": "amira.haddad"}, password_link_hash="x", password_link_expires_at="2099-01-01T00:00:00Z"
    )
    change_password(person)
    item = stored(store)
    assert passwords.verify(NEW, item["password_hash"])[0]
    assert not passwords.verify(PASSWORD, item["password_hash"])[0]
    assert not {"password_link_hash", "password_link_expires_at"} & set(item)
    [entry] = entries(store, "staff.password_changed")
    assert (entry["actor"], entry["result"], entry["action_payload_redacted"]) == ("amira.haddad", "success", "{}")


@ends_sessions
def test_other_browsers_and_copies_of_the_cookie_are_out_and_this_one_goes_on(
    store, agent, person, has_factor, change, action
):
    person = prepared(has_factor, person)
    begin(accounts.get("amira.haddad"), "Chrome on Android")
    answer = change(person)
    token = answer[0] if isinstance(answer, tuple) else answer
    account = accounts.get("amira.haddad")
    [only] = sessions.running(account)
    assert only.session_id == sessions.read_token(token).session_id != person.session_id
    assert (only.user_agent, only.method) == ("Firefox on Linux", "password")
    assert sessions.authenticate_request(token).username == "amira.haddad"
    assert store.get("STAFF_SESSIONS", session_id=person.session_id) is None
    assert len(entries(store, action.value)) == 1


def test_renewed_session_lasts_no_longer_than_the_old_one(store, agent, later):
    later(stands=True)
    person = Staff.of(agent, begin(agent))
    before = store.get("STAFF_SESSIONS", session_id=person.session_id)
    later(minutes=50)
    token = end_others(person)
    after = store.get("STAFF_SESSIONS", session_id=sessions.read_token(token).session_id)
    assert (after["created_at"], after["expires_at"]) == (before["created_at"], before["expires_at"])
    assert after["last_seen_at"] > before["last_seen_at"]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("short", "too short"),
        ("amira.haddad", "username"),
        (PASSWORD, "That is your current password"),
        ("a" * 300, "too long"),
    ],
)
def test_new_password_against_the_rules_changes_nothing(store, person, new, words):
    before = stored(store)
    with pytest.raises(Invalid, match=words):
        own.change_password(person, PASSWORD, new, visit=HERE)
    assert stored(store) == before


@asks_password
def test_wrong_password_changes_nothing_and_is_in_the_trail(store, person, has_factor, change, action, monkeypatch):
    person = prepared(has_factor, person)
    before, sessions_before = stored(store), store.all("STAFF_SESSIONS")
    monkeypatch.setattr("tests.store.console.staff.test_own_account.PASSWORD", "wrong password!!")
    with pytest.raises(own.WrongPassword):
        change(person)
    assert stored(store) == before
    assert store.all("STAFF_SESSIONS") == sessions_before
    assert [entry["result"] for entry in entries(store, action.value)] == ["failed: wrong password"]


@asks_password
def test_guesses_are_counted_before_the_password_is_looked_at(
    store, person, has_factor, change, action, settings, monkeypatch
):
    person = prepared(has_factor, person)
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 2
    with monkeypatch.context() as wrong:
        wrong.setattr("tests.store.console.staff.test_own_account.PASSWORD", "wrong password!!")
        for _ in range(2):
            with pytest.raises(own.WrongPassword):
                change(person)
    before = stored(store)
    with pytest.raises(TooManyAttempts, match="Try again in"):
        change(person)
    assert stored(store) == before


def test_right_password_forgives_earlier_guesses(store, person, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 2
    for _ in range(4):
        begun = own.begin_set_up(person)
        with pytest.raises(own.WrongCode):
            own.finish_set_up(person, begun.pending, "no code", PASSWORD, visit=HERE)


def test_second_factor_is_on_after_the_code_and_its_step_is_used(store, person):
    begun = own.begin_set_up(person)
    assert "totp_secret" not in stored(store)
    _token, codes = own.finish_set_up(person, begun.pending, code_of(begun.key), PASSWORD, visit=HERE)
    account = accounts.get("amira.haddad")
    assert second_factor.is_on(account)
    assert second_factor.flaw(account) == ""
    assert second_factor.codes_left(account) == len(codes) == 10
    assert second_factor.verify(account, code_of(begun.key)) == ""
    assert second_factor.verify(account, codes[3]) == second_factor.RECOVERY_CODE
    everything = str([store.all(table) for table in ("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")])
    assert begun.key not in everything
    assert not [code for code in codes if code in everything or code.replace("-", "") in everything]


@pytest.mark.parametrize("steps", [-2, 2])
def test_wrong_code_of_a_set_up_stores_nothing(store, person, steps):
    begun, before = own.begin_set_up(person), stored(store)
    typed = pyotp.TOTP(begun.key).generate_otp(clock.to_epoch(clock.now()) // 30 + steps)
    with pytest.raises(own.WrongCode):
        own.finish_set_up(person, begun.pending, typed, PASSWORD, visit=HERE)
    assert stored(store) == before


def test_key_can_be_shown_again_and_is_good_for_a_quarter_of_an_hour(store, person, later):
    begun = own.begin_set_up(person)
    later(minutes=14, seconds=59)
    assert own.begin_set_up(person, begun.pending) == begun
    later(seconds=1)
    with pytest.raises(own.SetUpExpired):
        own.begin_set_up(person, begun.pending)
    with pytest.raises(own.SetUpExpired):
        own.finish_set_up(person, begun.pending, code_of(begun.key), PASSWORD, visit=HERE)
    assert "totp_secret" not in stored(store)


@pytest.mark.parametrize(
    "junk", ["x", "ä", refs.seal("session", "a", "b"), refs.seal("second-factor-set-up amira.haddad", "a")]
)
def test_key_of_another_account_or_junk_is_refused(store, person, junk):
    services.create("tom.becker", PASSWORD, role=Role.AGENT, actor=ADMIN)
    for pending in (junk, own.begin_set_up(Staff.of(accounts.get("tom.becker"))).pending):
        with pytest.raises(own.SetUpExpired):
            own.finish_set_up(person, pending, "123456", PASSWORD, visit=HERE)


def test_every_set_up_has_a_key_of_its_own_that_its_form_hides(person):
    one, other = own.begin_set_up(person), own.begin_set_up(person)
    assert one.key != other.key
    assert one.key not in one.pending
    assert one.key not in repr(one)
    assert one.groups.replace(" ", "") == one.key
    assert {len(group) for group in one.groups.split()} == {4}


def test_new_recovery_codes_replace_the_old_ones_and_end_no_session(store, guarded):
    old = stored(store)["recovery_codes"]
    codes = renew(guarded)
    assert stored(store)["recovery_codes"] == second_factor.hashed("amira.haddad", codes)
    assert not stored(store)["recovery_codes"] & old
    assert store.get("STAFF_SESSIONS", session_id=guarded.session_id)["epoch"] == stored(store)["epoch"]


def test_removed_second_factor_leaves_nothing_behind(store, guarded):
    remove(guarded)
    assert not {"totp_secret", "totp_last_step", "recovery_codes", "second_factor_at"} & set(stored(store))


@pytest.mark.parametrize(
    "change", [change_password, set_up, renew, remove], ids=["password", "set-up", "codes", "removal"]
)
def test_accounts_of_the_company_sign_in_have_no_password_and_no_second_factor(store, change):
    account = services.create_for_company_sign_in("olga.novak", role=Role.AGENT, actor=ADMIN)
    person = Staff.of(account, begin(account))
    for applies in (change, own.check_applicable):
        with pytest.raises(own.NotApplicable, match="company"):
            applies(person)


def test_changes_that_do_not_fit_the_second_factor_are_told(store, guarded):
    with pytest.raises(own.NotApplicable, match="already has a second factor"):
        set_up(guarded)
    remove(guarded)
    [session] = sessions.running(accounts.get("amira.haddad"))
    person = Staff.of(accounts.get("amira.haddad"), session.session_id)
    for change in (renew, remove):
        with pytest.raises(own.NotApplicable, match="has no second factor"):
            change(person)


@each_change
def test_person_who_was_signed_out_meanwhile_changes_nothing_and_gets_no_session(
    store, person, has_factor, change, action
):
    person = prepared(has_factor, person)
    services.end_sessions("amira.haddad", actor=ADMIN)
    before = stored(store)
    with pytest.raises(Conflict, match="You were signed out in the meantime"):
        change(person)
    store.delete("STAFF_SESSIONS", session_id=person.session_id)
    with pytest.raises(Conflict, match="You were signed out in the meantime"):
        change(person)
    assert stored(store) == before
    assert sessions.running(accounts.get("amira.haddad")) == ()


@each_change
@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda: services.end_sessions("amira.haddad", actor=ADMIN),
        lambda: services.change("amira.haddad", role=Role.AUDITOR, actor=ADMIN),
        lambda: services.disable("amira.haddad", actor=ADMIN),
        lambda: services.change("amira.haddad", time_zone="Asia/Tokyo", actor=ADMIN),
    ],
    ids=["signed out", "role", "disabled", "time zone"],
)
def test_change_of_the_account_in_between_wins(store, person, has_factor, change, action, meanwhile, later):
    person = prepared(has_factor, person)
    seen = {}

    def first() -> None:
        later(seconds=1)
        meanwhile()
        seen.update(stored(store))

    with faults.before("TransactWriteItems", first), pytest.raises(Conflict):
        change(person)
    assert stored(store) == seen
    # What the administrator did may be the same action.
    assert [entry for entry in entries(store, action.value) if entry["actor"] == "amira.haddad"] == []


@ends_sessions
def test_session_that_ends_in_between_is_not_renewed(store, person, has_factor, change, action):
    person = prepared(has_factor, person)
    gone = lambda: store.delete("STAFF_SESSIONS", session_id=person.session_id)  # noqa: E731
    with faults.before("TransactWriteItems", gone), pytest.raises(Conflict):
        change(person)
    assert store.all("STAFF_SESSIONS") == []
    assert entries(store, action.value) == []


def test_two_set_ups_at_once_make_one_second_factor(store, person):
    begun, answers, barrier = [own.begin_set_up(person) for _ in range(4)], [], threading.Barrier(4)

    def finish(each: own.SetUp) -> None:
        barrier.wait()
        try:
            answers.append((each, *own.finish_set_up(person, each.pending, code_of(each.key), PASSWORD, visit=HERE)))
        except ConsoleError as error:
            answers.append(error)

    threads = [threading.Thread(target=finish, args=[each]) for each in begun]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [(won, token, codes)] = [answer for answer in answers if isinstance(answer, tuple)]
    assert second_factor._secret_of(accounts.get("amira.haddad")) == won.key
    assert stored(store)["recovery_codes"] == second_factor.hashed("amira.haddad", codes)
    assert [item["session_id"] for item in store.all("STAFF_SESSIONS")] == [sessions.read_token(token).session_id]
    assert len(entries(store, "staff.second_factor_added")) == 1


@pytest.mark.slow
@each_change
@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after], ids=["not sent", "answer lost"])
def test_failure_of_any_call_leaves_all_of_the_change_or_nothing(
    store, person, has_factor, change, action, fault, later
):
    person = prepared(has_factor, person)
    account, session = stored(store), store.get("STAFF_SESSIONS", session_id=person.session_id)
    later(seconds=1)
    outcomes = []
    for nth in range(1, 30):
        with fault(nth=nth) as struck, suppress(StoreUnavailable):
            change(person)
        outcomes.append(is_whole(store, account, person, action))
        if not struck.struck:
            break
        restore(store, account, session)
    # The first failure changed nothing, and without one it is done.
    assert (outcomes[0], outcomes[-1]) == (False, True)
    assert len(outcomes) > 4


def is_whole(store, before: dict, person: Staff, action: Action) -> bool:
    """Whether the change happened; asserts that account, trail and sessions agree on it."""
    changed = stored(store) != before
    done = [entry for entry in entries(store, action.value) if entry["result"] == "success"]
    assert len(done) == changed
    [only] = store.all("STAFF_SESSIONS")
    renewed = changed and action is not Action.RECOVERY_CODES_MADE
    assert (only["session_id"] != person.session_id) == renewed
    assert only["epoch"] == stored(store)["epoch"] == before["epoch"] + renewed
    return changed


def restore(store, account: dict, session: dict) -> None:
    """As it was before the change."""
    store.put("STAFF", account)
    for item in store.all("STAFF_SESSIONS"):
        store.delete("STAFF_SESSIONS", session_id=item["session_id"])
    store.put("STAFF_SESSIONS", session)
    for item in store.all("AUDIT"):
        if item["action_type"] not in ("staff.created", "staff.sign_in"):
            store.delete("AUDIT", conversation_id=item["conversation_id"], ts_action_id=item["ts_action_id"])


def test_time_zone_changes_with_its_entry_and_ends_no_session(store, person):
    own.change_time_zone(person, "Asia/Tokyo")
    assert stored(store)["time_zone"] == "Asia/Tokyo"
    assert store.get("STAFF_SESSIONS", session_id=person.session_id)["epoch"] == stored(store)["epoch"]
    assert len(entries(store, "staff.changed")) == 1
    with pytest.raises(Invalid):
        own.change_time_zone(person, "Mars/Base")


def test_one_session_ends_with_its_entry_and_the_others_go_on(store, agent, person):
    other = begin(agent, "Chrome on Android")
    assert own.end_session(
        person, refs.seal("staff-session", "amira.haddad", other), PASSWORD, visit=HERE
    ) == own.Ended("Chrome on Android")
    assert [item["session_id"] for item in store.all("STAFF_SESSIONS")] == [person.session_id]
    [entry] = entries(store, "staff.session_ended")
    assert entry["action_payload_redacted"] == '{"browser": "Chrome on Android"}'
    with pytest.raises(own.NotApplicable, match="That session has already ended"):
        own.end_session(person, refs.seal("staff-session", "amira.haddad", other), PASSWORD, visit=HERE)
    assert len(entries(store, "staff.session_ended")) == 1


def test_session_that_ends_while_one_ends_it_is_told(store, agent, person):
    other = begin(agent)
    gone = lambda: store.delete("STAFF_SESSIONS", session_id=other)  # noqa: E731
    with (
        faults.before("TransactWriteItems", gone),
        pytest.raises(own.NotApplicable, match="That session has already ended"),
    ):
        own.end_session(person, refs.seal("staff-session", "amira.haddad", other), PASSWORD, visit=HERE)
    assert entries(store, "staff.session_ended") == []


def test_session_of_somebody_else_cannot_be_named(store, agent, person):
    colleague = services.create("tom.becker", PASSWORD, role=Role.AGENT, actor=ADMIN)
    theirs = begin(colleague)
    with pytest.raises(NotFound):
        own.end_session(person, refs.seal("staff-session", "tom.becker", theirs), PASSWORD, visit=HERE)
    # Even one that was sealed for them (a key that came into wrong hands) ends nothing of another account.
    with pytest.raises(own.NotApplicable):
        own.end_session(person, refs.seal("staff-session", "amira.haddad", theirs), PASSWORD, visit=HERE)
    assert store.get("STAFF_SESSIONS", session_id=theirs) is not None


@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after], ids=["not sent", "answer lost"])
def test_failure_while_one_session_ends_leaves_session_or_entry(store, agent, person, fault):
    reached = 0
    for nth in range(1, 20):
        other = begin(agent, "Chrome on Android")
        ended = len(entries(store, "staff.session_ended"))
        with fault(nth=nth) as struck, suppress(StoreUnavailable):
            own.end_session(person, refs.seal("staff-session", "amira.haddad", other), PASSWORD, visit=HERE)
        gone = store.get("STAFF_SESSIONS", session_id=other) is None
        assert len(entries(store, "staff.session_ended")) - ended == gone
        reached += 1
        if not struck.struck:
            assert gone
            break
    # Each call once, at least: what a lost answer leaves counted costs a second write, if it is still running.
    assert 9 <= reached < 19


def test_changes_go_on_where_there_is_no_trail(store, person):
    absent = {"code": "ResourceNotFoundException", "times": faults.ALWAYS, "table_key": "AUDIT"}
    with faults.refuse("TransactWriteItems", **absent), faults.refuse("DescribeTable", **absent):
        change_password(person)
    assert passwords.verify(NEW, stored(store)["password_hash"])[0]


def test_own_record_names_the_scope_and_says_how_one_signs_in(store, person, guarded, monkeypatch):
    monkeypatch.setattr(known_companies, "_sources", {lambda _staff: {"ci-cuc-001": "Cucumber Health"}: "company:"})
    mine = own_record.load(guarded)
    assert mine.scope == ("company ci-nwe-002", "company Cucumber Health (ci-cuc-001)")
    assert (mine.has_password, mine.has_second_factor, mine.codes_left, mine.flaw) == (True, True, 10, "")
    assert mine.second_factor_at == clock.parse_instant(stored(store)["second_factor_at"])
    assert [row.is_current for row in mine.sessions.rows] == [True]


def test_long_scope_is_cut_with_words(store, agent):
    store.update("STAFF", {"username": "amira.haddad"}, scope=[f"ci-{number:03}" for number in range(25)])
    mine = own_record.load(Staff.of(accounts.get("amira.haddad")))
    assert (len(mine.scope), mine.scope[-1]) == (21, "and 5 more")


def test_unreadable_second_factor_is_a_flaw_in_words(store, guarded):
    store.update("STAFF", {"username": "amira.haddad"}, totp_secret="junk")
    mine = own_record.load(guarded)
    assert mine.has_second_factor
    assert "cannot be read" in mine.flaw
