"""Buckets, packed sums, slices, and the words that facts may hold."""

import base64
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.insight.facts import FactDay, FactKind, day_of, escaped
from conversations.insight.measures import MOST, bucket_of, quantile, value_of
from conversations.insight.sums import Slice, pack, sum_packed
from conversations.insight.words import OTHER, UNKNOWN, code_of, confidence_band, is_identifier, reason_kind, version_of

VALUES = st.integers(1, MOST)
TEXT = st.text(max_size=12) | st.sampled_from(["*", "#", "%2A", "", " ", "a/b"])


@given(VALUES)
def test_the_value_of_a_bucket_is_within_five_percent_of_what_is_in_it(value):
    assert abs(value_of(bucket_of(value)) - value) <= 0.07 * value


@given(VALUES, VALUES)
def test_a_longer_time_is_in_no_earlier_bucket(one, other):
    assert (bucket_of(one) <= bucket_of(other)) or one > other


def test_nothing_has_a_bucket_of_its_own_and_nothing_is_beyond_the_last():
    assert [bucket_of(value) for value in (0, 0.5, -3)] == [0, 0, 0]
    assert value_of(0) == 0
    assert bucket_of(10**300) == bucket_of(MOST)


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=80), st.sampled_from([0.5, 0.9, 0.0, 1.0]))
def test_quantiles_of_buckets_are_within_five_percent_of_exact_ones(values, share):
    exact = sorted(values)[max(0, math.ceil(share * len(values) - 1e-9) - 1)]
    found = quantile(Counter(map(bucket_of, values)), share)
    assert abs(found - exact) <= 0.07 * exact


@pytest.mark.parametrize(
    ("waits", "longest"), [([600, 36_000], 36_000), ([60, 60, 60, 60, 36_000], 36_000), ([60] * 9 + [36_000], 60)]
)
def test_nine_of_ten_do_not_wait_longer_where_there_are_few_too(waits, longest):
    assert quantile(Counter(map(bucket_of, waits)), 0.9) == pytest.approx(longest, rel=0.07)


def test_there_is_no_quantile_of_nothing():
    assert quantile({}, 0.5) is None
    assert quantile({3: 0}, 0.5) is None


PARTS = st.text(st.characters(exclude_characters="\x1f"), max_size=12) | st.integers(0, 99).map(str)
COUNTS = st.dictionaries(st.lists(PARTS, min_size=1, max_size=5).map(tuple), st.integers(1, 10**9), max_size=20)
BUCKETS = st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 99).map(str)), st.integers(1, 10**9))


@pytest.mark.slow
@given(st.lists(COUNTS | BUCKETS, max_size=3))
def test_packed_sums_add_up_to_what_was_packed(several):
    stored = [pack(Counter(each)) for each in several]
    # Bytes, or base64 where the console's client read them.
    assert sum_packed((*stored[1:], *(base64.b64encode(each).decode() for each in stored[:1]))) == sum(
        map(Counter, several), Counter()
    )


def test_buckets_take_less_room_than_their_names():
    counts = Counter({("answered", str(bucket)): 1_000 + 7 * bucket % 13 for bucket in range(60)})
    assert len(pack(counts)) < 2 * len(counts)


@given(TEXT, TEXT)
def test_a_slice_is_read_from_its_key_and_holds_what_belongs_to_it(project, channel):
    data = {"project": project, "channel": channel}
    for each in Slice.all_of(data):
        assert Slice.parse(*each.key.split("#")) == each
        assert each.holds(data)
    assert not Slice(project + "x").holds(data)
    assert not Slice(None, channel + "x").holds(data)
    assert len(set(Slice.all_of(data))) == 4


@given(TEXT, st.dates())
def test_a_day_is_read_from_its_key(owner, day):
    named = FactDay(FactKind.CONVERSATIONS, owner, day.isoformat())
    assert FactDay.of(named.key) == named
    assert escaped("*") != "*"
    assert day_of(None) == "undated"


PERSONAL = (
    *("jo@doe.example", "Jo Doe", "+447700900123", "07700 900123", "tel:07700900123", "whatsapp:+447700900123"),
    *("order_99812734_not_found", "ORD-12345678", "12 Elm Street", "Könnte Jo sein", "a" * 61, "4111111111111111"),
    *("sk_live_" + "a1B2" * 8, "see http://example.com/?token=abc", "no\nnewline", "p12345678"),
)


@pytest.mark.parametrize("text", PERSONAL)
def test_nothing_personal_is_a_code_a_version_or_a_reason(text):
    kinds = {"complaint", "payment", "asked for a person", "failure", "identity", "safety or law", OTHER}
    assert code_of(text) == OTHER
    assert version_of(text) == OTHER
    assert reason_kind(text) in kinds
    assert reason_kind(f"{text} wants a refund") == "payment"


@pytest.mark.parametrize(
    "text", ["jo@doe.example", "Jo Doe", "+447700900123", "pi-447700900123", "a\x1fb", "", "x" * 129]
)
def test_no_id_that_may_be_personal_is_kept_as_it_is(text):
    assert not is_identifier(text)


@pytest.mark.parametrize("text", ["pi-aaa-001", "2024/winter", "PI_1", "p.1:2+3"])
def test_ids_are_kept_as_they_are(text):
    assert is_identifier(text)


@pytest.mark.parametrize("value", [None, "", " ", 5, ["a"], {"a": 1}, True])
def test_what_is_no_text_is_unknown(value):
    assert code_of(value) == UNKNOWN
    assert reason_kind(value) == UNKNOWN


def test_who_is_called_has_not_asked_for_a_person():
    assert reason_kind("Please call me back") == reason_kind("Rule: all replies go to people") == "asked for a person"
    assert reason_kind("Customer noted four unanswered calls") == OTHER


def test_codes_are_kept():
    for text in ("gpt-4o-2024-08-06", "failed_to_send_message", "order_status", "Timeout", "eu.anthropic/claude:3"):
        assert code_of(f" {text} ") == text
    assert reason_kind("LOW_CONFIDENCE") == "low_confidence"
    assert reason_kind("Confusing") == OTHER


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (1, "0.9 and more"),
        ("0.9", "0.9 and more"),
        (0.899, "0.7 to 0.9"),
        (0.5, "0.5 to 0.7"),
        (0, "under 0.5"),
        (1.01, UNKNOWN),
        (-0.1, UNKNOWN),
        ("high", UNKNOWN),
        (None, UNKNOWN),
        (True, UNKNOWN),
        (float("nan"), UNKNOWN),
    ],
)
def test_confidence_in_bands(value, band):
    assert confidence_band(value) == band
