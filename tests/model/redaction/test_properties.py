"""Properties that hold for any text."""

import html
import json
import re
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from console.redaction import redact, redact_value

# Pieces that real payloads are made of, so that rules meet each other.
PIECES = st.sampled_from(
    [
        *("+447123454821", "0700 122 121", "57859", "1715642626", "1715642626315", "030-3177705-9234649"),
        *("jo@example.com", "o'brien@x.y", '"a b"@c.d', "@ops", "@types/node@20.1.0", "jo%40x.y", "&#64;", "\\u0040"),
        *("order ", "Order #", "orders ", "tracking ", "parcel ", "phone ", "tel: ", "call me ", "email="),
        *("name=", "first_name: ", '"phone": ', "size=", "address: ", "phones=[", "order_id="),
        *("ci-aaa-001#pi-aaa-001#req1#447123454821", "evt:rp:conv123:msg456", "TS#1715642626315#e"),
        *("2023-04-26T08:20:48.775Z", "05/06/2023 20:45", "05919430-9933-4437-8008-484565362242", "10.15.7", "1.5"),
        *("***", "***-***-1234", "***@***", "***1234", "-", "*", " ", ", ", "\n", "(", ")", "#", ":", "=", '"', "'"),
        *("{", "}", "[", "]", '{"a": "', '"}', "\\", "%", "&", "+", "12", "345", "6789", "SP0296925100", "and ", "x"),
        *("wamid.HBgMMjQ0MjIy", "https://track.example.com/H209856121", "\u200b", "\u00a0", "٣٤", "é"),
    ]
)
EMAILS = st.builds(
    "{}@{}".format,
    st.sampled_from(["jo", "jo.smith", "user40.5e10", "o'brien", "info+tag-1", "JO_B", "1234567", "447123454821"]),
    st.sampled_from(["example.com", "x.y", "mail.shop.co.uk", "example.photography", "10.0.0.1"]),
)
AROUND = st.sampled_from(["", *" \n\t,;:='\"()<>[]{}/|&?#-_.!*@~^$`…»—", "://", "=>", "\u00a0", "\u200b", "%20"])
TEXTS = st.one_of(
    st.lists(PIECES, max_size=14).map("".join),
    st.text(max_size=60),
    st.text(alphabet="0123456789+-. ()/@a#*:=\"'\\", max_size=40),
)
KEYS = st.sampled_from(
    ["phone", "email", "text", "ts", "order", "id", "name", "customer", "a", "jo@x.com", "+4471234548"]
)
DOCUMENTS = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=3)),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_a_second_redaction_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "SP0296925100parcel parcel \n\n1715642626315",
        "tel: 1715642626AKIAABCDEFGHIJKLMNOP",
        '{"ts": {"address": {"text": 1715642626.',
        "orders10:10, 447123454821@example.com!me",
        'order=>4915112345678"@types/node@20.1.0',
        '{"name": -1000000, "phone": null}',
        '{"name": 12, "phone": null}',
        '{"wamid.totalTokens": 860244208, "a": 1}',
    ],
)
def test_what_a_mask_uncovers_was_masked_before(text):
    once = redact(text)
    assert redact(once) == once


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=5).map("".join), AROUND, EMAILS, AROUND, st.lists(PIECES, max_size=5).map("".join))
@example("", "", "jo@10.0.0.1", "\u200b", "0700 122 121")
@example("", "", "jo@10.0.0.1", "", "0700 122 121")
def test_no_address_survives_whatever_stands_around_it(before, opening, email, closing, after):
    assert email not in html.unescape(unquote(redact(before + opening + email + closing + after)))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_a_second_redaction_of_json_changes_nothing(document):
    once = redact(json.dumps(document))
    assert redact(once) == once


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_json_stays_json(document):
    text = json.dumps(document)
    if text[0] in "[{":
        json.loads(redact(text))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_a_second_redaction_of_a_value_changes_nothing(document):
    once = redact_value(document)
    assert redact_value(once) == once


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        ["ok {} thanks", "{}", "call {}.", "a,{},b", "<b>{}</b>", '{{"note": "{}"}}', "x={}&y=1", "\n{}\n"]
    ),
    st.integers(min_value=10**6, max_value=10**18),
    st.sampled_from(["", "+", "00"]),
)
def test_no_unexplained_run_of_seven_digits_survives(frame, number, prefix):
    digits = str(number)
    is_epoch = not prefix and re.fullmatch(r"1[4-9]\d{8}(\d{3}|\d{6}|\d{9})?", digits)
    redacted = redact(frame.format(prefix + digits))
    assert bool(re.search(r"\d{7}", redacted)) == bool(is_epoch)


# What may keep seven digits in a row: an epoch, and the places of a decimal fraction.
EXPLAINED = re.compile(
    r"(?<![0-9A-Za-z+.])(?:1[4-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d{1,9})?|(?:0|[1-9]\d{0,5})\.\d{1,15})(?![0-9A-Za-z]|[.:]\d)"
)


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="0123456789+-. ()/,;x Y\n'\"<>[]{}*_", min_size=7, max_size=60))
def test_whatever_stands_around_them_seven_digits_are_masked_or_explained(text):
    redacted = redact(text)
    assert not re.search(r"\d{7}", EXPLAINED.sub("", redacted)), redacted


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(min_value=0, max_value=999), min_size=3, max_size=4),
    st.sampled_from([" ", "-", ".", "\u00a0", " - ", "/"]),
)
def test_a_number_in_groups_is_masked_as_one(groups, separator):
    written = "+44" + separator + separator.join(f"{group:03}" for group in groups)
    assert redact(f"reach me: {written}, ok") == f"reach me: ***-***-{written.replace(separator, '')[-4:]}, ok"


PAYLOAD = {
    "eventId": "d9ae0853-f99f-4860-9003-a66d3a19109f",
    "customer": {"first_name": "Quackenbush", "phone": "+599 318 1234567", "email": "quack.user@webmail.de"},
    "text": "Mail quack.user@webmail.de or call 0700 122 1219, order #919177, parcel SP029692510000920746",
    "args": json.dumps({"order_number": "919177", "phone": "5993181234567"}),
    "conversationId": "ci-aaa-001#pi-aaa-001#req139#5993181234567",
    "ms": 812.5,
}
# Beginnings of the values above that are long enough to tell something.
TELLING = ["Quacken", "318 1234", "webmail", "quack.user@", "122 121", "919177", "SP029692", "599318123", "0700 122"]


def test_json_cut_at_any_place_leaks_nothing():
    text = json.dumps(PAYLOAD)
    for cut in range(len(text)):
        redacted = redact(text[:cut])
        assert not [telling for telling in TELLING if telling in redacted], text[:cut][-40:]
        assert redact(redacted) == redacted


class Unknown:
    def __repr__(self):
        return "447123454821 jo@example.com"

    __str__ = __repr__


UNKNOWN = st.builds(Unknown)
HASHABLE = st.one_of(
    TEXTS, st.integers(), st.booleans(), st.none(), st.dates(), st.uuids(), UNKNOWN, st.decimals(allow_nan=False)
)
ANYTHING = st.recursive(
    st.one_of(
        HASHABLE, st.floats(), st.decimals(), st.binary(max_size=30), st.datetimes(), st.complex_numbers(), st.times()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.tuples(inner, inner),
        st.frozensets(HASHABLE, max_size=3),
        st.lists(inner, max_size=2).map(lambda items: (item for item in items)),
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_a_value_of_any_type_is_redacted_and_what_is_unknown_is_not_shown(value):
    redacted = redact_value(value)
    assert not leaves_of(redacted, Unknown)
    assert not leaves_of(redacted, (complex, bytes))
    assert written(redact_value(redacted)) == written(redacted)


def written(value):
    """The value as text: NaN is itself, and the elements of sets have an order."""
    if isinstance(value, dict):
        return [(written(key), written(element)) for key, element in value.items()]
    if isinstance(value, list | tuple):
        return [written(element) for element in value]
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else repr(value)


def leaves_of(value, kinds):
    """The leaves of those types, keys of dictionaries among them."""
    if isinstance(value, dict):
        return [leaf for pair in value.items() for part in pair for leaf in leaves_of(part, kinds)]
    if isinstance(value, list | tuple | set | frozenset):
        return [leaf for element in value for leaf in leaves_of(element, kinds)]
    return [value] if isinstance(value, kinds) else []


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, st.sampled_from([None, 1, 4]), st.booleans())
def test_however_json_is_written_the_same_is_masked(document, indent, is_ascii):
    usual = json.dumps(document)
    if usual[0] in "[{":
        unusual = json.dumps(document, indent=indent, ensure_ascii=is_ascii, separators=(" ,", " : "))
        assert members_of(redact(unusual)) == members_of(redact(usual))


def members_of(text):
    """The JSON as lists of pairs, so that a key that stands twice is there twice."""
    unnumbered = re.compile(r" \(\d+\)$")
    return json.loads(text, object_pairs_hook=lambda pairs: [(unnumbered.sub("", key), value) for key, value in pairs])


def test_a_key_that_stands_twice_hides_nothing():
    twice = '{"x": "jo@example.com", "x": "ok"'
    for text in [twice + "}", twice + ', "b\\\\": 1}', twice + ', "b" : 1}', twice + ', "b"\n\t: 1}']:
        assert "jo@" not in redact(text)
        assert '"ok"' in redact(text)
