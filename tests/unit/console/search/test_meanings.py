"""What a typed text is taken for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.search.meanings import _CHANNEL_TYPES, MAX_LENGTH, MeaningKind, is_national, matches_name, recognise
from tenants.keys import TYPES

USER = "3f" * 32
PHONE = [MeaningKind.PHONE, MeaningKind.CHANNEL_ID]
EMAIL = [MeaningKind.EMAIL, MeaningKind.CHANNEL_ID]
KEY = [MeaningKind.CONVERSATION, MeaningKind.THREAD]
WORD = [
    MeaningKind.STAFF,
    MeaningKind.TENANT,
    MeaningKind.COMPANY,
    MeaningKind.USER,
    MeaningKind.CHANNEL_ID,
    MeaningKind.NAME,
]
CASED = [
    MeaningKind.TENANT,
    MeaningKind.TENANT,
    MeaningKind.COMPANY,
    MeaningKind.USER,
    MeaningKind.CHANNEL_ID,
    MeaningKind.NAME,
]
NOTHING: list[MeaningKind] = []

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
    (USER, [MeaningKind.DIGEST]),
    (USER.upper(), [MeaningKind.DIGEST]),
    (f"{USER}:1700000000", [MeaningKind.SESSION]),
    (f"{USER}:1700000000.25", [MeaningKind.SESSION]),
    # idempotency keys
    ("evt:rp:ci#pi#req#447700900123:wamid.X", [MeaningKind.EVENT]),
    ("act:rp_reply:conv-1:msg-9", [MeaningKind.EVENT]),
    ("act:shopify_lookup:conv-1:#1042", [MeaningKind.EVENT]),
    ("act:hand_off:ci#pi#req:abc", [MeaningKind.EVENT]),
    # messages
    ("MSG#msg_abc123", [MeaningKind.MESSAGE]),
    ("LLM#7f3a", [MeaningKind.MESSAGE]),
    ("msg_abc123", [MeaningKind.MESSAGE]),
    ("wamid.HBgMNDQ3NzAw", [MeaningKind.MESSAGE]),
    # channels
    ("CHANNEL#teams#2f6f0c2e", [MeaningKind.CHANNEL]),
    ("slack:T024BE7LD", [MeaningKind.CHANNEL]),
    ("teams#my-bot", [MeaningKind.CHANNEL]),
    ("telegram: acme_bot", [MeaningKind.CHANNEL]),
    ("email:help@example.com", [MeaningKind.CHANNEL]),
    ("CHANNEL#web_widget#x1", [MeaningKind.CHANNEL]),
    (
        "T024BE7LD",
        [MeaningKind.CHANNEL_ID, MeaningKind.TENANT, MeaningKind.COMPANY, MeaningKind.USER, MeaningKind.NAME],
    ),
    ("@acme_support_bot", [MeaningKind.CHANNEL_ID]),
    (
        "2f6f0c2e-8a1b-4c59-9a52-0d2a4c1f7b11",
        [MeaningKind.CHANNEL_ID, MeaningKind.REQUEST, MeaningKind.TENANT, MeaningKind.COMPANY, MeaningKind.USER],
    ),
    # keys of the stores with one part
    ("TENANT#outlocks", [MeaningKind.TENANT]),
    ("STAFF#ada.admin", [MeaningKind.STAFF]),
    ("COMPANY#ci-cuc-001", [MeaningKind.COMPANY]),
    ("USER#u-1", [MeaningKind.USER]),
    # words: only the stores can tell
    ("outlocks", WORD),
    ("lumen-dental", WORD),
    ("ci-cuc-001", WORD),
    ("ada.admin", WORD),
    ("Acme", CASED),
    ("amira haddad", [MeaningKind.STAFF, MeaningKind.NAME]),
    ("Amira Haddad", [MeaningKind.STAFF, MeaningKind.NAME]),
    ("u_5", WORD),
    ("12345", WORD[:-1]),
    # ids that are in no index, and names
    ("req-68b0cbf0", [MeaningKind.REQUEST, *WORD]),
    ("thread_abc123xyz", [MeaningKind.THREAD_ID, *WORD]),
    ("thr-cuc-0770", [MeaningKind.THREAD_ID, *WORD]),
    ("Bluebird Books & Co. (UK)", [MeaningKind.NAME]),
    ("Café Zürich", [MeaningKind.NAME]),
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
    assert {kind for _, kinds in TABLE for kind in kinds} == set(MeaningKind)


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
    assert matches_name(name, typed) is so


@given(st.text(max_size=200))
def test_any_text_is_taken_for_something_or_nothing_and_never_twice_for_the_same(typed):
    meanings = recognise(typed)
    assert len(set(meanings)) == len(meanings)
    assert all(meaning.value.strip() for meaning in meanings)
