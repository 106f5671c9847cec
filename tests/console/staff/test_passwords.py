"""Password rules and hashing."""

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from hypothesis import given, settings
from hypothesis import strategies as st

from console import settings as console_settings
from console.errors import Invalid
from console.staff import passwords


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
        ("918273645546372", "digits only"),
        ("aaaaaaaaaaaa", "too easy to guess"),
        ("qwertyuiop[]", "too common"),
        ("iloveyou12345", "too easy to guess"),
        ("Liverpool1892!", "too easy to guess"),
        ("password" * 20, "too easy to guess"),
        ("1q2w3e4r5t6y7u", "too common"),
        ("PASSWORD1234", "too common"),
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


def test_console_hashes_with_argon2(settings):
    assert console_settings.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    settings.PASSWORD_HASHERS = console_settings.PASSWORD_HASHERS
    stored = passwords.hash_password("correct horse battery")
    assert stored.startswith("argon2$argon2id$")
    assert passwords.verify("correct horse battery", stored) == (True, False)
    assert passwords.verify("correct horse staple", stored) == (False, False)


def test_a_password_like_the_name_is_refused_where_the_name_is_known():
    passwords.check_rules("zebulonquartz", "zq")
    with pytest.raises(Invalid, match="your username or name"):
        passwords.check_rules("zebulonquartz", "zq", "Zebulon Quartz")
