"""What a typed text is taken for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.search.meanings import _CHANNEL_TYPES, MAX_LENGTH, Kind, is_national, named_so, recognise
from console.search.service import taken_for
from tenants.channel_types import TYPES

USER = "3f" * 32
PHONE = [Kind.PHONE, Kind.CHANNEL_ID]
EMAIL = [Kind.EMAIL, Kind.CHANNEL_ID]
KEY = [Kind.CONVERSATION, Kind.THREAD]
WORD = [Kind.STAFF, Kind.TENANT, Kind.COMPANY, Kind.USER, Kind.CHANNEL_ID, Kind.NAME]
CASED = [Kind.TENANT, Kind.TENANT, Kind.COMPANY, Kind.USER, Kind.CHANNEL_ID, Kind.NAME]
NOTHING: list[Kind] = []

TABLE = [
    # phone numbers, as people and services spell them
    ("+447700900123", PHONE),
    ("447700900123", PHONE),
    ("+44 7700 900123", PHONE),
    ("+44 (0)7700 900-123", PHONE),
    ("00447700900123", PHONE),
    ("0044 7700 900 123", PHONE),
    ("whatsapp:+447700900123", PHONE),
    ("tel:+44-7700-900123", PHONE),
    ("sms: +447700900123", PHONE),
    ("(020) 7946 0018", PHONE),
    ("+1.202.555.0143", PHONE),
    ("+44‐7700‐900123", PHONE),
    ("‪+44 7700 900123‬", PHONE),
    ("+4477009001２３", PHONE),
    ("8675309", PHONE),
    # email addresses
    ("ana@example.com", EMAIL),
    ("Ana.Lee+x@Example.CO.UK", EMAIL),
    ("mailto:ana@example.com", EMAIL),
    ("Ana Lee <ana@example.com>", EMAIL),
    ("<ana@example.com>", EMAIL),
    ("  ana@example.com  ", EMAIL),
    # ids and keys of conversations and threads
    ("ci-cuc-001#pi-cuc-sal#req-1a2b#447700900123", KEY),
    ("ci#pi#req", KEY),
    ("org123#tenantA#user456#thread789", KEY),
    ("org123#user456#thread789", KEY),
    ("ci-1#pi-2#req-3#ana@example.com", KEY),
    # chatbots
    (USER, [Kind.DIGEST]),
    (USER.upper(), [Kind.DIGEST]),
    (f"{USER}:1700000000", [Kind.SESSION]),
    (f"{USER}:1700000000.25", [Kind.SESSION]),
    # idempotency keys
    ("evt:rp:ci#pi#req#447700900123:wamid.X", [Kind.EVENT]),
    ("act:rp_reply:conv-1:msg-9", [Kind.EVENT]),
    ("act:shopify_lookup:conv-1:#1042", [Kind.EVENT]),
    ("act:hand_off:ci#pi#req:abc", [Kind.EVENT]),
    # messages
    ("MSG#msg_abc123", [Kind.MESSAGE]),
    ("LLM#7f3a", [Kind.MESSAGE]),
    ("msg_abc123", [Kind.MESSAGE]),
    ("wamid.HBgMNDQ3NzAw", [Kind.MESSAGE]),
    # channels
    ("CHANNEL#teams#2f6f0c2e", [Kind.CHANNEL]),
    ("slack:T024BE7LD", [Kind.CHANNEL]),
    ("teams#my-bot", [Kind.CHANNEL]),
    ("telegram: acme_bot", [Kind.CHANNEL]),
    ("email:help@example.com", [Kind.CHANNEL]),
    ("CHANNEL#web_widget#x1", [Kind.CHANNEL]),
    ("T024BE7LD", [Kind.CHANNEL_ID, Kind.TENANT, Kind.COMPANY, Kind.USER, Kind.NAME]),
    ("@acme_support_bot", [Kind.CHANNEL_ID]),
    ("2f6f0c2e-8a1b-4c59-9a52-0d2a4c1f7b11", [Kind.CHANNEL_ID, Kind.REQUEST, Kind.TENANT, Kind.COMPANY, Kind.USER]),
    # keys of the stores with one part
    ("TENANT#outlocks", [Kind.TENANT]),
    ("STAFF#ada.admin", [Kind.STAFF]),
    ("COMPANY#ci-cuc-001", [Kind.COMPANY]),
    ("USER#u-1", [Kind.USER]),
    # words: only the stores can tell
    ("outlocks", WORD),
    ("lumen-dental", WORD),
    ("ci-cuc-001", WORD),
    ("ada.admin", WORD),
    ("Acme", CASED),
    ("amira haddad", [Kind.STAFF, Kind.NAME]),
    ("Amira Haddad", [Kind.STAFF, Kind.NAME]),
    ("u_5", WORD),
    ("12345", WORD[:-1]),
    # ids that are in no index, and names
    ("req-68b0cbf0", [Kind.REQUEST, *WORD]),
    ("thread_abc123xyz", [Kind.THREAD_ID, *WORD]),
    ("thr-cuc-0770", [Kind.THREAD_ID, *WORD]),
    ("Bluebird Books & Co. (UK)", [Kind.NAME]),
    ("Café Zürich", [Kind.NAME]),
    # nothing that is an identifier
    ("", NOTHING),
    ("   ", NOTHING),
    ("what is this?", NOTHING),
    ("<script>alert(1)</script>", NOTHING),
    ("#", NOTHING),
    ("@", NOTHING),
    ("a" * (MAX_LENGTH + 1), NOTHING),
]


@pytest.mark.parametrize(("typed", "kinds"), TABLE)
def test_what_is_typed_is_taken_for(typed, kinds):
    assert [meaning.kind for meaning in recognise(typed)] == kinds


def test_the_table_has_every_kind_and_sixty_inputs():
    assert len(TABLE) >= 60
    assert {kind for _, kinds in TABLE for kind in kinds} == set(Kind)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("mailto:Ana@example.com", "Ana@example.com"),
        ("Ana <ana@example.com>", "ana@example.com"),
        ("slack:T024BE7LD", "slack#T024BE7LD"),
        ("CHANNEL#teams#a#b", "teams#a#b"),
        ("TENANT#outlocks", "outlocks"),
        ("Amira Haddad", "amira.haddad"),
        (f"{USER.upper()}:17", f"{USER}:17"),
    ],
)
def test_what_people_type_around_it_is_left_out(typed, value):
    assert recognise(typed)[0].value == value


def test_the_types_of_channels_are_those_of_tenants():
    assert set(TYPES) == _CHANNEL_TYPES


@pytest.mark.parametrize(
    ("number", "national"),
    [("07700 900600", True), ("(020) 7946 0018", True), ("0044 7700 900123", False), ("+44 (0)7700", False)],
)
def test_a_number_without_its_country_code_is_known_as_one(number, national):
    assert is_national(number) is national


@pytest.mark.parametrize(
    ("name", "typed", "so"),
    [
        ("Bluebird Books", "bluebird", True),
        ("Bluebird Books", "book blue", True),
        ("Bluebird Books", "bird", False),
        ("Straße 7", "STRASSE", True),
        ("Bluebird Books", "bluebird shoes", False),
    ],
)
def test_a_name_is_found_by_the_beginnings_of_its_words(name, typed, so):
    assert named_so(name, typed) is so


@given(st.text(max_size=200))
def test_any_text_is_taken_for_something_or_nothing_and_never_twice_for_the_same(typed):
    meanings = recognise(typed)
    assert len(set(meanings)) == len(meanings)
    assert all(meaning.value.strip() for meaning in meanings)
    assert bool(taken_for(meanings)) == bool(meanings)
