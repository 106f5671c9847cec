"""Masks of single values."""

import pytest

from console.redaction import mask_identifier, pseudonym
from console.redaction.masks import cut, holds_any, mask_order, mask_phone


@pytest.mark.parametrize(
    ("value", "mask"),
    [
        ("+447123454821", "***-***-4821"),
        ("(670) 234-7744", "***-***-7744"),
        ("57859", "***-***-7859"),
        ("٠٧٧٠٠٩٠٠١٢٣", "***-***-0123"),
        ("***-***-4821", "***-***-4821"),
        ("1234", "***"),
        ("1234567890123456", "***"),
        ("unknown", "***"),
    ],
)
def test_a_phone_keeps_its_last_four_digits(value, mask):
    assert mask_phone(value) == mask


def test_an_order_number_keeps_its_last_four_ascii_letters_or_digits():
    assert [mask_order(each) for each in ("SO-48213", "48213", "12é45", "***8213")] == [
        "***8213",
        "***8213",
        "***1245",
        "***8213",
    ]


@pytest.mark.parametrize(
    ("recipient", "mask"),
    [
        ("447123454821", "***-***-4821"),
        ("whatsapp:+447123454821", "***-***-4821"),
        (447123454821, "***-***-4821"),
        ("jo@example.com", "***@***"),
        ("447123454821@c.us", "***@***"),
        ("***-***-4821", "***-***-4821"),
        ("Jo Bloggs 447123454821", "***"),
        ("447123454821" + " " * 60 + "x", "***"),
        ("1234567 " * 8 + "Jo", "***"),
        ("session-7", "***"),
        (object(), "***"),
        (True, "***"),
        (None, ""),
        ("", ""),
    ],
)
def test_a_recipient_is_masked_as_what_it_is(recipient, mask):
    assert mask_identifier(recipient) == mask


def test_a_pseudonym_depends_on_value_and_key_only():
    first = pseudonym("447123454821", b"key")
    assert first == pseudonym("447123454821", b"key")
    assert len(first) == 16
    assert set(first) <= set("0123456789abcdef")
    assert first != pseudonym("447123454822", b"key")
    assert first != pseudonym("447123454821", b"other key")


def test_a_pseudonym_without_a_key_is_refused():
    with pytest.raises(ValueError, match="key"):
        pseudonym("447123454821", b"")


def test_text_that_fits_is_not_cut():
    assert (cut("abc", 3), cut("abcd", 3), cut("abc", 0)) == ("abc", "ab…", "")


def test_a_mask_that_does_not_fit_is_left_out():
    assert cut("***-***-0123", 5) == "…"
    assert cut("***-***-0123 and more", 14) == "***-***-0123…"


def test_one_piece_is_enough():
    assert holds_any("a token", ("secret", "token"))
    assert not holds_any("a token", ("secret", "key"))
    assert not holds_any("a token", ())
