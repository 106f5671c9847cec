"""Forms in which WhatsApp and people write the same phone number: three countries have a digit more or less."""

import re

# Brazil's ninth digit after the area code, Mexico's 1 and Argentina's 9 after the country code: with it, and without.
_FORMS = (
    (re.compile(r"(\+55\d\d)9(\d{8})", re.ASCII), re.compile(r"(\+55\d\d)(\d{8})", re.ASCII), "9"),
    (re.compile(r"(\+52)1(\d{10})", re.ASCII), re.compile(r"(\+52)(\d{10})", re.ASCII), "1"),
    (re.compile(r"(\+54)9(\d{10})", re.ASCII), re.compile(r"(\+54)(\d{10})", re.ASCII), "9"),
)


def forms_on(channel: str, number: str) -> tuple[str, ...]:
    """Return the forms in which a channel may name a sender: the given one, and on WhatsApp the other one, if any."""
    other = other_form(number) if channel == "whatsapp" else ""
    return (number, other) if other else (number,)


def other_form(number: str) -> str:
    """Return the other form of a number with its country code (`+55…`), "" if it has none."""
    for longer, shorter, digit in _FORMS:
        if found := longer.fullmatch(number):
            return f"{found[1]}{found[2]}"
        if found := shorter.fullmatch(number):
            return f"{found[1]}{digit}{found[2]}"
    return ""
