"""The names of a person who is known by name."""

import json
from dataclasses import dataclass

import pytest

from console.redaction import redact, without_names


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (("Anna", "Schmidt"), "Hi Anna, is ANNA schmidt there? anna's bag", "Hi ***, is *** there? ***'s bag"),
        (("Anna", "Schmidt"), "Annabel Schmidtke and Johanna stay", "Annabel Schmidtke and Johanna stay"),
        (("Anna", "Schmidt"), "annaschmidt, anna_schmidt, schmidt.anna", "***, ***, ***"),
        (("Zoë", "García"), "Zoe Garcia, ZOË GARCÍA, Zoe\u0308", "***, ***, ***"),
        (("Zoe", "Garcia"), "Zoë García", "***"),
        (("Łukasz", ""), "Lukasz i łukasz", "*** i ***"),
        (("Anne-Marie", "O'Brien"), "Anne Marie OBrien; anne-marie; O’Brien; Brien", "***; ***; ***; ***"),
        (("Will", "May"), "Will and May: will you come in may?", "*** and ***: will you come in may?"),
        (("Rose", ""), "Rose, ROSE, the price rose", "***, ***, the price rose"),
        (("Jo", "Li"), "Jo Li said jo to Li, Kim", "*** said jo to ***, Kim"),
        (("Kim", "Ali"), "kim ali", "***"),
        (("J", "X"), "J and X stay", "J and X stay"),
        (("李雷", ""), "我是李雷你好", "我是***你好"),
        (("민준", ""), "민준이 왔어요", "***이 왔어요"),
        (("Наташа", "Петрова"), "Наташа ПЕТРОВА, наташа", "***, ***"),
        (("Jan", "van der Berg"), "Mr van der Berg, Berg, in der Stadt", "Mr ***, ***, in der Stadt"),
        (("Customer", "Unknown"), "the customer is unknown", "the customer is unknown"),
        (("Zoë", ""), '{"text": "from Zo\\u00eb now"}', '{"text": "from *** now"}'),
        (("Anna", "Schmidt"), "/u?name=Anna%20Schmidt&x=1", "/u?name=***&x=1"),
        (("Anna (test", "[Schmidt"), "anna [schmidt", "*** [***"),
        ((), "Anna", "Anna"),
        (("", " "), "Anna", "Anna"),
    ],
)
def test_a_name_is_masked_where_it_is_a_word(names, text, expected):
    shown = without_names(text, names)
    assert shown == expected
    assert without_names(shown, names) == shown
    assert redact(shown) == shown


@dataclass(frozen=True)
class Shown:
    words: str
    parts: tuple[str, ...]
    count: int = 3


def test_every_text_of_a_value_is_read_keys_too_and_its_shape_stays():
    value = {"Anna": ["hi Anna", 7, None, ("Schmidt",)], "at": 1.5}
    assert without_names(value, ("Anna", "Schmidt")) == {"***": ["hi ***", 7, None, ("***",)], "at": 1.5}
    assert without_names(Shown("Anna", ("Schmidt", "x")), ("Anna", "Schmidt")) == Shown("***", ("***", "x"))


def test_masks_stay():
    text = "***1234 ***-***-1234 ***@*** ***Anna"
    assert without_names(text, ("Anna", "")) == text


def test_json_stays_json():
    text = json.dumps({"note": 'a "Zoë" b', "list": ["zoe"]})
    assert json.loads(without_names(text, ("Zoë", ""))) == {"note": 'a "***" b', "list": ["***"]}
