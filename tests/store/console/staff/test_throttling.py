"""Counting attempts to sign in: what goes through, for how long not, and what attempts at once cannot do."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from console.errors import StoreUnavailable
from console.staff import throttling
from console.staff.throttling import TooManyAttempts, count, forgive
from tests import faults

HERE, THERE = "192.0.2.7", "198.51.100.1"


@pytest.fixture(autouse=True)
def _limits(settings) -> None:
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 5
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 8


@pytest.fixture(autouse=True)
def _clock_stands(later) -> None:
    """Attempts of one test happen at the same moment unless it says otherwise."""
    later(seconds=0, stands=True)


def attempts(name: str, address: str = HERE, browser: str = "") -> int:
    """How many attempts go through until one is refused."""
    for done in range(100):
        try:
            count(name, address, browser=browser)
        except TooManyAttempts:
            return done
    raise AssertionError("nothing was refused")


def test_so_many_attempts_go_through_for_a_name_wherever_they_come_from(store):
    for each in range(5):
        count("amira.haddad", f"192.0.2.{each}")
    with pytest.raises(TooManyAttempts) as refused:
        count("amira.haddad", THERE)
    assert (refused.value.seconds, refused.value.status) == (180, 429)
    assert str(refused.value) == "Too many attempts. Try again in 3 minutes."
    count("tom.becker", THERE)


def test_spellings_of_a_name_are_one_name(store):
    assert attempts("amira.haddad") == 5
    with pytest.raises(TooManyAttempts):
        count(" Amira.HADDAD ", THERE)


def test_so_many_attempts_go_through_from_an_address_whatever_the_names(store):
    for each in range(8):
        count(f"name{each}", HERE)
    with pytest.raises(TooManyAttempts):
        count("name9", HERE)
    count("name9", THERE)


def test_attempts_without_a_name_are_counted_by_address_alone(store):
    assert attempts("") == 8
    count("", THERE)


def test_who_is_refused_may_try_again_after_as_long_as_was_said_and_not_before(store, later):
    attempts("amira.haddad")
    later(seconds=179)
    with pytest.raises(TooManyAttempts) as refused:
        count("amira.haddad", THERE)
    assert refused.value.seconds == 1
    assert "in 1 minute." in str(refused.value)
    later(seconds=1)
    assert attempts("amira.haddad", THERE) == 1


def test_refused_attempts_do_not_prolong_the_wait(store, later):
    attempts("amira.haddad")
    for each in range(17):
        later(seconds=10)
        with pytest.raises(TooManyAttempts):
            count("amira.haddad", f"192.0.2.{each}")
    later(seconds=10)
    count("amira.haddad", THERE)


@pytest.mark.slow
def test_no_moment_gives_the_whole_allowance_back_before_a_quarter_of_an_hour(store, later):
    assert attempts("amira.haddad") == 5
    gone_through = 0
    for minute in range(1, 15):
        later(minutes=1)
        gone_through += attempts("amira.haddad", f"192.0.2.{minute}")
    assert gone_through == 4
    later(minutes=16)
    assert attempts("amira.haddad", THERE) == 5


@pytest.mark.slow
def test_long_siege_gets_the_allowance_of_a_quarter_of_an_hour_each_quarter(store, later):
    attempts("amira.haddad")
    gone_through = 0
    for minute in range(60):
        later(minutes=1)
        gone_through += attempts("amira.haddad", f"192.0.2.{minute}")
    assert gone_through == 4 * 5


@pytest.mark.parametrize("limit", [5, 1])
def test_attempts_at_once_do_not_overrun_the_limit(store, settings, limit):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = limit

    def attempt(number: int) -> bool:
        try:
            count("amira.haddad", f"192.0.2.{number}")
        except TooManyAttempts:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(attempt, range(32))) == limit


def test_two_first_attempts_at_the_same_moment_are_both_counted(store, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 3
    with faults.before("UpdateItem", lambda: count("", HERE)):
        count("", HERE)
    assert attempts("") == 1


def test_last_attempt_that_somebody_else_takes_meanwhile_is_theirs(store, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 2
    count("", HERE)
    with faults.before("UpdateItem", lambda: count("", HERE), nth=2), pytest.raises(TooManyAttempts):
        count("", HERE)


def test_attempt_is_counted_though_the_count_was_forgiven_meanwhile(store, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 2
    count("", HERE)
    [item] = store.all("CONSOLE")
    forgiven = {"pk": item["pk"], "sk": item["sk"]}
    with faults.before("UpdateItem", lambda: store.delete("CONSOLE", **forgiven), nth=2):
        count("", HERE)
    assert attempts("") == 1


@pytest.mark.slow
def test_success_forgets_the_name_and_takes_its_attempt_back_from_the_address(store):
    for _ in range(100):
        count("amira.haddad", HERE)
        forgive("amira.haddad", HERE)
    assert attempts("") == 8
    assert attempts("amira.haddad", THERE) == 5


def test_success_takes_back_no_more_than_it_counted(store, later):
    for _ in range(7):
        count("", HERE)
    count("amira.haddad", HERE)
    forgive("amira.haddad", HERE)
    assert attempts("") == 1
    later(hours=1)
    forgive("amira.haddad", HERE)
    assert attempts("") == 8


def test_known_browser_is_counted_by_itself(store):
    attempts("amira.haddad")
    attempts("")
    assert attempts("amira.haddad", browser="laptop") == 5
    assert attempts("amira.haddad", browser="phone") == 5
    forgive("amira.haddad", HERE, browser="laptop")
    assert attempts("amira.haddad", browser="laptop") == 5
    with pytest.raises(TooManyAttempts):
        count("amira.haddad", THERE)


def test_many_known_browsers_of_a_name_have_together_what_three_have(store):
    """Whoever knew the password for a minute may have signed in with any number of browsers."""
    assert sum(attempts("amira.haddad", browser=f"browser{each}") for each in range(8)) == 15
    assert attempts("tom.becker", browser="laptop") == 5
    assert attempts("amira.haddad", THERE) == 5


def test_refused_attempts_of_one_known_browser_use_up_nothing_of_the_others(store):
    attempts("amira.haddad", browser="stolen")
    for _ in range(20):
        with pytest.raises(TooManyAttempts):
            count("amira.haddad", THERE, browser="stolen")
    assert attempts("amira.haddad", browser="laptop") == 5


def test_success_in_a_known_browser_takes_back_only_its_own_attempt_from_all_of_them(store):
    for each in range(3):
        attempts("amira.haddad", browser=f"browser{each}")
    forgive("amira.haddad", HERE, browser="browser0")
    assert attempts("amira.haddad", browser="browser0") == 1


def test_known_browser_is_known_for_its_name_only(store):
    attempts("amira.haddad", browser="laptop")
    assert attempts("tom.becker", browser="laptop") == 5


def test_table_holds_no_name_and_no_address(store):
    count("amira.haddad", HERE)
    count("tom.becker", HERE, browser="laptop")
    stored = str(store.all("CONSOLE"))
    for secret in ("amira", "tom", HERE, "laptop"):
        assert secret not in stored


def test_counts_are_removed_by_and_by(store, later):
    count("amira.haddad", HERE)
    after_a_quarter = throttling.clock.to_epoch(throttling.clock.now()) + 900
    for item in store.all("CONSOLE"):
        assert after_a_quarter < item["expires_at"] <= after_a_quarter + 3600


@pytest.mark.parametrize("nth", [1, 2])
def test_attempt_that_cannot_be_counted_is_refused(store, nth):
    with faults.fail_before("UpdateItem", nth=nth) as fault, pytest.raises(StoreUnavailable):
        count("amira.haddad", HERE)
    assert fault.struck


def test_success_that_cannot_be_noted_is_a_success_all_the_same(store):
    count("amira.haddad", HERE)
    with faults.fail_before("DeleteItem") as fault:
        forgive("amira.haddad", HERE)
    assert fault.struck


def test_limit_of_nothing_is_a_limit_of_one(store, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 0
    assert attempts("amira.haddad") == 1


def test_absent_table_refuses(bare_store):
    with pytest.raises(StoreUnavailable):
        count("amira.haddad", HERE)
