"""The second factor: which codes open, that none opens twice, and what the table gives away of it."""

import threading

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock, refs
from console.errors import ConsoleError, StoreUnavailable
from console.staff import accounts, second_factor, services
from console.staff.codes import ALPHABET
from console.staff.models import StaffAccount
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
CODES = ("abcde-fghjk-mnpqr", "k7m2p-x9qrt-4hvwd")


@pytest.fixture(autouse=True)
def _still(monkeypatch) -> None:
    """The clock stands in the middle of a step."""
    moment = clock.parse_instant("2026-03-01T12:00:15.000Z")
    monkeypatch.setattr(clock, "now", lambda: moment)


@pytest.fixture
def guarded(agent) -> StaffAccount:
    """The agent with a second factor, as it is stored."""
    agent.update(
        actions=[
            StaffAccount.totp_secret.set(second_factor.sealed_secret(agent.username, SECRET)),
            StaffAccount.recovery_codes.set(second_factor.hashed(agent.username, CODES)),
            StaffAccount.second_factor_at.set(clock.to_iso(clock.now())),
        ]
    )
    return accounts.get(agent.username)


def code_at(steps: int = 0, secret: str = SECRET) -> str:
    return pyotp.TOTP(secret).generate_otp(clock.to_epoch(clock.now()) // 30 + steps)


def stored(store) -> dict:
    return store.get("STAFF", username="amira.haddad")


def entries(store) -> list[dict]:
    trail = [item for item in store.all("AUDIT") if item["conversation_id"] == staff_trail("amira.haddad")]
    return [item for item in trail if item["action_type"] == "staff.recovery_code_used"]


def test_account_without_one_accepts_no_code(store, agent):
    assert not second_factor.is_on(agent)
    assert second_factor.codes_left(agent) == 0
    with store.calls() as calls:
        assert [second_factor.verify(agent, typed) for typed in (code_at(), CODES[0], "")] == ["", "", ""]
    assert calls == []


def test_code_of_now_is_accepted_and_its_step_noted(store, guarded):
    assert second_factor.is_on(guarded)
    assert second_factor.verify(guarded, code_at()) == second_factor.CODE
    assert stored(store)["totp_last_step"] == clock.to_epoch(clock.now()) // 30


def test_codes_are_those_of_the_standard(monkeypatch):
    """RFC 6238, appendix B: the secret "12345678901234567890", SHA-1, the last six digits of eight."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    for instant, code in [("1970-01-01T00:00:59Z", "287082"), ("2005-03-18T01:58:29Z", "081804")]:
        at = clock.parse_instant(instant)
        assert second_factor.matching_step(secret, code, at) == clock.to_epoch(at) // 30


@pytest.mark.parametrize(("steps", "accepted"), [(-2, ""), (-1, "code"), (0, "code"), (1, "code"), (2, "")])
def test_code_of_the_step_before_and_after_is_good_too(store, guarded, steps, accepted):
    assert second_factor.verify(guarded, code_at(steps)) == accepted


@pytest.mark.parametrize("first", [-1, 0, 1])
def test_used_code_and_older_ones_are_refused(store, guarded, first):
    assert second_factor.verify(guarded, code_at(first)) == "code"
    fresh = accounts.get("amira.haddad")
    for account in (guarded, fresh):
        assert [second_factor.verify(account, code_at(steps)) for steps in range(-1, first + 1)] == [""] * (first + 2)
    if first < 1:
        assert second_factor.verify(fresh, code_at(first + 1)) == "code"


def in_parallel(number: int, do) -> list:
    answers, barrier = [], threading.Barrier(number)

    def run() -> None:
        barrier.wait()
        try:
            answers.append(do())
        except ConsoleError as error:
            answers.append(type(error).__name__)

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_code_sent_by_several_at_once_opens_once(store, guarded):
    answers = in_parallel(6, lambda: second_factor.verify(guarded, code_at()))
    assert sorted(answers) == ["", "", "", "", "", "code"]


def test_recovery_code_sent_by_several_at_once_opens_once(store, guarded):
    answers = in_parallel(6, lambda: second_factor.verify(guarded, CODES[0]))
    # Who collides with a write under way is told to try again, and then finds it used.
    assert answers.count(second_factor.RECOVERY_CODE) == 1
    assert set(answers) <= {second_factor.RECOVERY_CODE, "", "Throttled"}
    assert len(entries(store)) == 1


def test_code_used_between_reading_and_writing_is_refused(store, guarded):
    with faults.before("UpdateItem", lambda: second_factor.verify(accounts.get("amira.haddad"), code_at())):
        assert second_factor.verify(guarded, code_at()) == ""


def test_recovery_code_used_between_reading_and_writing_is_refused(store, guarded):
    with faults.before("TransactWriteItems", lambda: second_factor.verify(guarded, CODES[0])):
        assert second_factor.verify(guarded, CODES[0]) == ""
    assert len(entries(store)) == 1


def test_recovery_code_works_once_and_leaves_the_others(store, guarded):
    assert second_factor.verify(guarded, CODES[0]) == second_factor.RECOVERY_CODE
    fresh = accounts.get("amira.haddad")
    assert second_factor.codes_left(fresh) == 1
    assert [second_factor.verify(account, CODES[0]) for account in (guarded, fresh)] == ["", ""]
    assert second_factor.verify(fresh, CODES[1]) == second_factor.RECOVERY_CODE
    assert "recovery_codes" not in stored(store)
    assert second_factor.codes_left(accounts.get("amira.haddad")) == 0
    assert [entry["actor"] for entry in entries(store)] == ["amira.haddad"] * 2
    assert (
        '"codes_left": 0' in entries(store)[1]["action_payload_redacted"] + entries(store)[0]["action_payload_redacted"]
    )


def test_used_recovery_code_changes_nothing_else_of_the_account(store, guarded):
    before = stored(store)
    second_factor.verify(guarded, CODES[0])
    after = stored(store)
    assert {name for name in after if after[name] != before[name]} == {"recovery_codes"}


def test_wrong_codes_cost_no_write(store, guarded):
    wrong = ["000000" if code_at() != "000000" else "000001", "abcde-fghjk-mnpqs", "12345", "1234567", "abc", "", " - "]
    with store.calls() as calls:
        assert [second_factor.verify(guarded, typed) for typed in wrong] == [""] * len(wrong)
    assert calls == []


@pytest.mark.parametrize(
    "spelt",
    [
        lambda code: f" {code[:3]} {code[3:]}\n",
        lambda code: f"{code[:3]}-{code[3:]}",
        lambda code: f"{code[:3]}–{code[3:]}",
        lambda code: "".join(chr(0xFF10 + int(digit)) for digit in code),
        lambda code: "".join(chr(0x0660 + int(digit)) for digit in code),
        lambda code: f"\u200e{code}\u00a0",
    ],
    ids=["spaces", "dash", "long dash", "full width", "Arabic-Indic digits", "marks that nobody sees"],
)
def test_spelling_of_a_code_does_not_matter(store, guarded, spelt):
    assert second_factor.verify(guarded, spelt(code_at())) == "code"


@pytest.mark.parametrize(
    "typed", ["ABCDE-FGHJK-MNPQR", "abcdefghjkmnpqr", " abcde fghjk  mnpqr ", "ａｂｃｄｅ-fghjk-mnpqr"]
)
def test_spelling_of_a_recovery_code_does_not_matter(store, guarded, typed):
    assert second_factor.verify(guarded, typed) == second_factor.RECOVERY_CODE


@given(typed=st.text(st.characters(exclude_categories=())) | st.text("0123456789 -–٣３abc\0\ud800ßİ", max_size=20))
def test_junk_is_no_code_and_never_raises(typed):
    account = StaffAccount(
        "amira.haddad",
        totp_secret=second_factor.sealed_secret("amira.haddad", SECRET),
        recovery_codes=second_factor.hashed("amira.haddad", CODES),
    )
    good = {code_at(steps) for steps in (-1, 0, 1)}
    if second_factor._normal(typed) not in good:
        # Nothing is written: the test's endpoint does not even answer.
        assert second_factor.verify(account, typed) == ""


def test_table_holds_neither_secret_nor_codes(store, guarded):
    everything = str(store.all("STAFF"))
    assert SECRET not in everything
    for code in CODES:
        assert code not in everything
        assert code.replace("-", "") not in everything


def test_hashes_of_the_same_code_differ_between_accounts():
    assert not second_factor.hashed("amira.haddad", CODES) & second_factor.hashed("tom.becker", CODES)


@pytest.mark.parametrize(
    "damage",
    [
        lambda settings: setattr(settings, "CONSOLE_ENV", "staging"),
        lambda settings: setattr(settings, "SECRET_KEY", "another-secret-key-of-nobody-knows-which-console-0123456789"),
    ],
    ids=["another environment", "another key"],
)
def test_secret_that_cannot_be_unsealed_is_told_and_recovery_codes_still_open(store, guarded, settings, damage):
    damage(settings)
    assert second_factor.is_on(guarded)
    with pytest.raises(
        StoreUnavailable, match="Use a recovery code, or ask an administrator to remove the second factor"
    ):
        second_factor.verify(guarded, "123456")
    # The test's tables are named by its settings, not by the environment.
    settings.CONSOLE_ENV = "test"
    assert second_factor.verify(guarded, CODES[0]) == second_factor.RECOVERY_CODE


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "junk",
        refs.seal_data("totp-secret amira.haddad", ["no", "text"]),
        second_factor.sealed_secret("tom.becker", SECRET),
    ],
    ids=["empty", "junk", "another shape", "another account's"],
)
def test_damaged_secret_is_never_taken_for_none(store, guarded, secret):
    store.update("STAFF", {"username": "amira.haddad"}, totp_secret=secret)
    account = accounts.get("amira.haddad")
    assert second_factor.is_on(account)
    with pytest.raises(StoreUnavailable):
        second_factor.verify(account, code_at())


def test_secret_that_is_no_base32_is_told(store, guarded):
    store.update(
        "STAFF", {"username": "amira.haddad"}, totp_secret=refs.seal_data("totp-secret amira.haddad", "nö secret 1")
    )
    with pytest.raises(StoreUnavailable):
        second_factor.verify(accounts.get("amira.haddad"), code_at())


def test_rotation_of_the_key_keeps_the_second_factor_and_seals_it_anew(store, guarded, settings):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-secret-key-that-is-long-enough-0123456789-0123456789"
    old = stored(store)["totp_secret"]
    assert second_factor.verify(guarded, code_at()) == "code"
    settings.SECRET_KEY_FALLBACKS = []
    assert stored(store)["totp_secret"] != old
    assert second_factor.verify(accounts.get("amira.haddad"), code_at(1)) == "code"


def test_code_of_a_secret_replaced_meanwhile_opens_nothing(store, guarded):
    another = second_factor.sealed_secret("amira.haddad", second_factor.new_secret())
    store.update("STAFF", {"username": "amira.haddad"}, totp_secret=another)
    assert second_factor.verify(guarded, code_at()) == ""
    assert "totp_last_step" not in stored(store)


def test_code_of_an_account_that_is_gone_brings_nothing_back(store, guarded):
    store.delete("STAFF", username="amira.haddad")
    assert second_factor.verify(guarded, code_at()) == ""
    assert second_factor.verify(guarded, CODES[0]) == ""
    assert store.all("STAFF") == []


def test_removed_second_factor_asks_for_no_code(store, guarded):
    assert not second_factor.is_on(services.remove_second_factor("amira.haddad", actor=ADMIN))


@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after])
@pytest.mark.parametrize(("kind", "operation"), [("code", "UpdateItem"), ("recovery", "TransactWriteItems")])
def test_code_whose_use_is_not_known_opens_nothing(store, guarded, fault, kind, operation):
    typed = code_at() if kind == "code" else CODES[0]
    with fault(operation), pytest.raises(StoreUnavailable):
        second_factor.verify(guarded, typed)
    left = stored(store)["recovery_codes"]
    assert len(entries(store)) == 2 - len(left)


def test_recovery_codes_are_ten_random_ones_of_letters_that_cannot_be_misread():
    codes = second_factor.new_recovery_codes()
    assert len(set(codes)) == 10
    assert all(second_factor._is_recovery_code(second_factor._normal(code)) for code in codes)
    assert not set("".join(codes)) & set("01ilo")
    # 31 characters, 15 of them: more than 64 bits.
    assert len(ALPHABET) ** 15 > 2**64


def test_uri_of_the_app_names_console_environment_and_account(settings):
    settings.CONSOLE_ENV = "staging"
    uri = second_factor.provisioning_uri("amira.haddad", SECRET)
    assert pyotp.parse_uri(uri).secret == SECRET
    assert pyotp.parse_uri(uri).issuer == "Conversation Console (staging)"
    assert pyotp.parse_uri(uri).name == "amira.haddad"
