"""Password rules and hashing."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from hypothesis import given, settings
from hypothesis import strategies as st

from console import settings as console_settings
from console.errors import Invalid
from console.staff import passwords
from console.store import calls


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        ("short", "too short"),
        ("elevenchars", "too short"),
        ("x" * 257, "too long"),
        ("Amira.Haddad", "username"),
        ("daddah.arima", "username"),
        ("AmiraHaddad2024", "like your username or name"),
        ("haddad.amira", "like your username or name"),
        ("918273645546372", "only digits"),
        ("aaaaaaaaaaaa", "too common"),
        ("qwertyuiop[]", "too common"),
        ("iloveyou12345", "too easy to guess"),
        ("Liverpool1892!", "too easy to guess"),
        ("password" * 20, "too easy to guess"),
        ("1q2w3e4r5t6y7u", "too common"),
        ("PASSWORD1234", "too common"),
        # Far down in the list, and none that anybody would guess.
        ("Mailcreated5240", "too common"),
        ("1QAZ2wsx3edc4rfv", "too common"),
    ],
)
def test_weak_passwords_are_refused_in_words(password, complaint):
    with pytest.raises(Invalid, match=complaint):
        passwords.check_rules(password, "amira.haddad")


@pytest.mark.parametrize("password", ["correct horse battery", "пароль из слов", "x1y2z3a4b5c6"])
def test_long_uncommon_passwords_are_accepted(password):
    passwords.check_rules(password, "amira.haddad")


def test_generated_passwords_differ_and_pass_the_rules():
    made = {passwords.generate() for _ in range(50)}
    assert len(made) == 50
    for password in made:
        passwords.check_rules(password, "amira.haddad")


@settings(max_examples=50)
@given(st.text(max_size=80), st.text(max_size=80))
def test_only_the_same_password_matches(one, other):
    stored = passwords.hash_password(one)
    assert passwords.verify(one, stored) == (True, False)
    assert passwords.verify(other, stored)[0] == (passwords._normal(one) == passwords._normal(other))


def test_accents_match_however_the_keyboard_composes_them():
    assert passwords.verify("cafe\u0301 au lait", passwords.hash_password("café au lait"))[0]


def test_nothing_matches_no_account_or_a_broken_hash():
    assert passwords.verify("anything at all", None) == (False, False)
    assert passwords.verify("anything at all", "") == (False, False)
    assert passwords.verify("anything at all", "!unusable") == (False, False)


def test_overlong_password_is_refused_and_never_hashed_whole(monkeypatch):
    stored = passwords.hash_password("x" * 256)
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher,
        "encode",
        lambda self, password, salt: hashed.append(password) or encode(self, password, salt),
    )
    assert passwords.verify("x" * 256, stored)[0]
    assert not passwords.verify("x" * 257, stored)[0]
    assert not passwords.verify("x" * 1_000_000, stored)[0]
    assert [len(password) for password in hashed] == [256, 256, 256]


def test_console_hashes_with_argon2_as_owasp_asks_at_least(settings):
    settings.PASSWORD_HASHERS = console_settings.PASSWORD_HASHERS
    stored = passwords.hash_password("correct horse battery")
    assert stored.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.verify("correct horse battery", stored) == (True, False)
    assert passwords.verify("correct horse staple", stored) == (False, False)


@pytest.mark.slow
def test_a_hash_of_other_cost_still_opens_and_is_to_be_made_anew(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    stored = passwords.hash_password("correct horse battery")
    assert "m=102400,t=2,p=8" in stored
    settings.PASSWORD_HASHERS = console_settings.PASSWORD_HASHERS
    assert passwords.verify("correct horse battery", stored) == (True, True)
    assert passwords.verify("wrong horse battery", stored)[0] is False


@pytest.mark.parametrize("known", [True, False], ids=["an account", "a name that nobody has"])
def test_two_hashes_at_a_time_four_wait_and_the_next_is_told_to_try_again(monkeypatch, known):
    stored = passwords.hash_password("correct horse battery") if known else None
    running, most, go_on, seen = set(), [], threading.Event(), threading.Lock()

    def slow(self, password, salt):
        with seen:
            running.add(threading.get_ident())
            most.append(len(running))
        go_on.wait(20)
        with seen:
            running.discard(threading.get_ident())
        return f"md5${salt}$x"

    monkeypatch.setattr(MD5PasswordHasher, "encode", slow)
    with ThreadPoolExecutor(passwords.AT_ONCE + passwords.WAITING) as pool:
        asked = [pool.submit(passwords.verify, "wrong", stored) for _ in range(passwords.AT_ONCE + passwords.WAITING)]
        for _ in range(200):
            if passwords._places._value == 0 and len(running) == passwords.AT_ONCE:
                break
            time.sleep(0.01)
        for refused in (passwords.refuse_if_busy, lambda: passwords.verify("wrong", stored)):
            with pytest.raises(passwords.TooManySignIns) as error:
                refused()
        assert (error.value.status, error.value.retry_after) == (429, 3)
        go_on.set()
        assert [each.result()[0] for each in asked] == [False] * 6
    assert max(most) == passwords.AT_ONCE == 1
    # Everything was given back.
    passwords.refuse_if_busy()
    assert passwords.verify("wrong", stored)[0] is False


@pytest.mark.slow
def test_the_wait_and_the_hash_do_not_count_against_the_deadline(monkeypatch, settings):
    settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS = settings.DYNAMODB_READ_TIMEOUT_SECONDS = 0.05
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda self, password, salt: time.sleep(0.4) or "md5$x$y")
    with calls.budget(0.3) as spent:
        passwords.hash_password("correct horse battery")
        calls.check_deadline()
        assert 0 < spent.remaining() <= 0.3


def test_a_password_like_the_name_is_refused_where_the_name_is_known():
    passwords.check_rules("zebulonquartzfeld", "zq")
    with pytest.raises(Invalid, match="your username or name"):
        passwords.check_rules("zebulonquartzfeld", "zq", "Zebulon Quartzfeld")
