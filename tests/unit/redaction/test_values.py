"""Structured values."""

import datetime
from collections import namedtuple
from decimal import Decimal
from types import MappingProxyType

import pytest

from console.redaction import redact_value

Person = namedtuple("Person", "first_name phone")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"phone": 447123454821}, {"phone": "***-***-4821"}),
        ({"phone": Decimal(447123454821)}, {"phone": "***-***-4821"}),
        ({"amount": 12345678, "ts": Decimal(1715642626)}, {"amount": 12345678, "ts": Decimal(1715642626)}),
        ({"n": 508554896, "f": 0.5}, {"n": "***-***-4896", "f": 0.5}),
        ({"order": {"id": 77777777}}, {"order": {"id": "***7777"}}),
        ({"customer": [{"name": "Jo"}]}, {"customer": [{"name": "***"}]}),
        (("a", "jo@x.com"), ("a", "***@***")),
        ({1, "jo@x.com"}, {1, "***@***"}),
        (frozenset({"jo@x.com"}), frozenset({"***@***"})),
        (b"+447123454821", "***-***-4821"),
        (b"\xff\xfe", "***"),
        ('{"phone": "0700 12"}', '{"phone": "***-***-0012"}'),
        (None, None),
        (True, True),
        ({"email": None, "mobile": False}, {"email": None, "mobile": False}),
        ({447123454821: {"x": 1}}, {"***-***-4821": {"x": 1}}),
        (MappingProxyType({"email": "jo@x.com"}), {"email": "***@***"}),
        (Person("Ottilie", 57859), {"first_name": "***", "phone": "***-***-7859"}),
        ({b"first_name": "Ottilie", ("a", "b"): [1, "x"]}, {"***": "***", "*** (2)": ["***", "***"]}),
    ],
)
def test_values_are_masked_and_keep_their_shape(value, expected):
    redacted = redact_value(value)
    assert redacted == expected
    assert type(redacted) is type(expected)
    assert redact_value(redacted) == expected


def test_keys_with_one_mask_keep_all_their_values():
    redacted = redact_value({"a@x.com": 1, "***@*** (2)": 2, "b@x.com": 3, "c@x.com": 4})
    assert sorted(redacted.values()) == [1, 2, 3, 4]
    assert all(key.startswith("***@***") for key in redacted)


def test_dates_stay_unless_their_key_is_sensitive():
    day = datetime.date(1990, 1, 2)
    assert redact_value({"created": day, "birthday": day}) == {"created": day, "birthday": "***"}


def test_a_number_that_compares_with_nothing_stays():
    signaling = Decimal("sNaN")
    assert redact_value([signaling])[0] is signaling


class Unknown:
    def __str__(self):
        return "447123454821"

    __repr__ = __str__


def test_unknown_objects_fail_closed():
    assert redact_value({"a": Unknown(), "b": [Unknown()], Unknown(): 1}) == {"a": "***", "b": ["***"], "***": "***"}


def test_what_contains_itself_ends():
    value = {"email": "jo@x.com"}
    value["self"] = value
    redacted = redact_value(value)
    assert redacted["email"] == "***@***"
    assert "jo@" not in str(redacted)
