"""Credentials: recognised alike in what auditors read, in the log and in configurations."""

import json

import pytest

from console.logs import without_credentials
from console.redaction import redact
from console.redaction.credentials import mask_credentials, mask_text

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
SECRETS = {
    "a JWT": (f"token was {JWT} then", JWT),
    "a bearer token": ("Authorization: Bearer abc123def456ghi789", "abc123def456"),
    "an unnamed bearer token": ("sent bearer abc123def456ghi789", "abc123def456"),
    "a token in a link": ("see https://app.example/reset?token=Ab3dEf9hIj&lang=en now", "Ab3dEf9hIj"),
    "a second parameter": ("https://app.example/reset?lang=en&access_token=zzTopSecret&x=1", "zzTopSecret"),
    "a signature in a link": ("https://b.example/f.pdf?se=2026&sig=q%2BzX81abC%3D", "zX81abC"),
    "a signed link of AWS": ("https://b.example/f?X-Amz-Signature=00ffaa9912&X-Amz-Date=20260101", "00ffaa9912"),
    "a fragment": ("https://app.example/#access_token=zzTopSecret&type=bearer", "zzTopSecret"),
    "a key of an interface": ("use sk-proj-1234567890abcdefgh please", "1234567890abcdefgh"),
    "a key of a map": ("key AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA1234567890"),
    "a key of a repository": ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c6912"),
    "a hash of a password": ("argon2id$v=19$m=65536,t=3$c29tZXNhbHQ", "c29tZXNhbHQ"),
    "a bearer token of letters": ("sent Bearer abcdefghijklmnop to it", "abcdefghijklmnop"),
    "a bearer token behind its header": ("Authorization: Bearer hunter", "hunter"),
    "a key of letters": ("it is sk-abcdefghijklmnopqrst", "abcdefghijklmnop"),
    "a key of letters alone": ("ghp_abcdefghijklmnopqrst", "abcdefghijklmnop"),
    "a key of hex digits": ("sk_3f786850e387550fdab8", "3f786850e387"),
    "an account of letters": ("AKIAABCDEFGHIJKLMNOP", "ABCDEFGHIJKLM"),
    "a short account": ("AKIAABCDEFGH1234", "ABCDEFGH"),
    "a token of letters in a link": ("GET /x?token=letters", "letters"),
    "a token beside a word": ("the token=abcdefgh was refused", "abcdefgh"),
    "a password behind a colon": ("his password: hunter", "hunter"),
    "a password in quotes": ("password='hunter' user=x", "hunter"),
    "a password in a log line": ("level=info password=hunter user=x", "hunter"),
    "a password of words": ("passphrase: correct horse", "horse"),
    "a hash without a digit": ("bcrypt$abcdefgh", "abcdefgh"),
    "a private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow12IBAAKCAQ\n-----END RSA PRIVATE KEY-----", "MIIEow12"),
}


@pytest.mark.parametrize("name", SECRETS)
def test_what_shows_by_its_shape_is_masked_on_pages_in_the_log_and_in_configurations(name):
    text, secret = SECRETS[name]
    assert secret not in redact(text)
    assert redact(redact(text)) == redact(text)
    assert secret not in redact(json.dumps({"body": text}))
    assert secret not in redact(json.dumps({"body": json.dumps({"inner": text})}))
    assert secret not in without_credentials(text)
    assert secret not in mask_credentials({"note": text})["note"]


KEYS = ["otp", "pin", "token", "nino", "private_key", "privateKey", "access_token", "jwt", "national_insurance_number"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ["Zq9xWv", 482913])
def test_what_its_key_names_is_masked_on_pages_and_in_configurations(key, value):
    for shown in (redact(json.dumps({key: value, "n": 1})), json.dumps(mask_credentials({key: value, "n": 1}))):
        assert str(value) not in shown
        assert '"n": 1' in shown


@pytest.mark.parametrize(
    "text",
    [
        '{"max_tokens": 400, "prompt_tokens": 1234567, "total_tokens": 12}',
        '{"token_count": 5, "token_type": "bearer"}',
        '{"next_token": "page-two"}',
        "the bearer of this letter",
        "the secret to success, password reset and token exchange",
        "next_token=abcdefgh",
        "key_prefix sk-",
        "internationalisation_of_conversationhandoffs",
        '{"max_tokens": 400, "password": null}',
        "password: null",
        "bearer of good news and of authentication",
        "sk-learn-contrib-and-other-packages",
        "https://app.example/list?page=2&sort=asc&max_tokens=400",
        "pinned version, spinning, a shipping option",
        '{"idempotency_key": "evt:rp:conv123:msg456", "key": "cart"}',
    ],
)
def test_what_only_sounds_like_one_stays(text):
    assert redact(text) == text
    assert without_credentials(text) == text
    assert mask_credentials({"note": text})["note"] == text or text.startswith("{")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=Tr0ub4dor&3", "password=***"),
        ("password: Tr0ub4d&3&x", "password: ***"),
        ("password=Tr0ub4dor&3&user=amy", "password=***&user=amy"),
        ("https://x.example/?password=Tr0ub4dor&3&page=2", "https://x.example/?password=***&page=2"),
        ("https://x.example/?token=Tr0ub4dor&3", "https://x.example/?token=***"),
        ("https://x.example/?password=Tr0ub4d&amp;page=2", "https://x.example/?password=***&amp;page=2"),
    ],
)
def test_a_secret_ends_at_an_ampersand_only_before_another_field(text, masked):
    assert redact(text) == masked
    assert mask_text(text) == masked
