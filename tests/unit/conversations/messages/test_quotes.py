"""Quoted text of an email: where it begins, in many languages, and that nothing of the text is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.messages.quotes import fold_quotes, quote_begins
from conversations.records import Block, Message, Speaker
from tests.model.redaction.test_growth import check_text

ANSWER = "Please cancel it.\n\nLee"
# How mail programs introduce what they quote.
INTRODUCED = {
    "English": "On Mon, 2 Feb 2026 at 10:00, Shop <replies@shop.example> wrote:",
    "English on two lines": "On Mon, 2 Feb 2026 at 10:00, The Shop of Long Names\n<replies@shop.example> wrote:",
    "German": "Am 02.02.2026 um 10:00 schrieb Shop <replies@shop.example>:",
    "French": "Le lun. 2 févr. 2026 à 10:00, Shop <replies@shop.example> a écrit :",
    "Spanish": "El lun, 2 feb 2026 a las 10:00, Shop (<replies@shop.example>) escribió:",
    "Portuguese": "Em seg., 2 de fev. de 2026 às 10:00, Shop <replies@shop.example> escreveu:",
    "Russian": "пн, 2 февр. 2026 г. в 10:00, Shop <replies@shop.example> написал(а):",
    "Swedish": "Den mån 2 feb. 2026 kl 10:00 skrev Shop <replies@shop.example>:",
    "Dutch": "Op ma 2 feb 2026 om 10:00 schreef Shop <replies@shop.example>:",
    "Outlook": "-----Original Message-----",
    "Outlook in German": "-----Ursprüngliche Nachricht-----",
    "Outlook's line": "________________________________",
}
QUOTED = "> Your order is on its way.\n>\n> The shop"


def email(text: str, speaker: Speaker = Speaker.CUSTOMER) -> Message:
    return Message(1, "a", speaker, "Customer", None, (Block("text", text),))


def parts(text: str) -> tuple[str, str]:
    [block] = fold_quotes(email(text)).blocks
    return block.text, block.quoted


@pytest.mark.parametrize("introduction", INTRODUCED.values(), ids=INTRODUCED)
@pytest.mark.parametrize("quoted", [QUOTED, "Your order is on its way.\nThe shop"], ids=["marked", "plain"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_quoted_text_begins_with_its_introduction(introduction, quoted, newline):
    text = f"{ANSWER}\n\n{introduction}\n{quoted}".replace("\n", newline)
    shown, folded = parts(text)
    assert shown.split() == ANSWER.split()
    assert folded.split() == f"{introduction} {quoted}".split()


def test_marked_lines_at_the_end_are_folded_in_any_language():
    # Polish: the library does not know its introduction, which stays.
    shown, folded = parts(f"Proszę anulować.\n\nW dniu 2.02.2026 Shop napisał:\n{QUOTED}")
    assert shown == "Proszę anulować.\n\nW dniu 2.02.2026 Shop napisał:"
    assert folded == QUOTED


@pytest.mark.parametrize(
    "text",
    [
        f"On Monday, Shop wrote:\n{QUOTED}\nNo, it is not.",
        "On Monday, Shop wrote:\n> Is it red?\nYes.\n> Is it big?\nNo.",
        QUOTED,
        "On my way, wrote: nothing",
        "> ",
        "",
        "two lines\n> and 3 > 2\nare no quotation",
    ],
)
def test_answers_below_or_between_quoted_lines_stay_in_sight(text):
    assert parts(text) == (text, "")


def test_only_what_the_customer_wrote_is_folded():
    message = email(f"{ANSWER}\n{INTRODUCED['English']}\n{QUOTED}", Speaker.AI)
    assert fold_quotes(message) is message


@given(st.lists(st.sampled_from([*INTRODUCED.values(), "> x", ">", "", " ", "words", "On", "x" * 400]), max_size=12))
def test_no_line_with_words_is_lost_or_changed(lines):
    text = "\n".join(lines)
    shown, folded = parts(text)
    assert f"{shown}\n{folded}".split() == text.split()


HOSTILE = {
    "introductions": lambda n: "On " * n + " wrote",
    "schrieb": lambda n: "Am " + " schrieb " * n,
    "addresses": lambda n: "2026/01/01 " + " <@" * n,
    "heeft": lambda n: "Op " + " heeft " * n + " geschreven",
    "short lines": lambda n: "Am schrieb schrieb x\n" * n,
    "headers": lambda n: "From: x\n" * n,
    "marks": lambda n: "> x\n" * n,
    "marks and blanks": lambda n: ">\n\n" * n + "x",
    "blank lines": lambda n: "\n" * n,
    "answers between": lambda n: "On x wrote:\n" + "> x\ny\n" * n,
    "line just short enough": lambda n: ("2026/01/01 " + " <@" * 95 + "\n") * (n // 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_the_text(hostile):
    check_text(hostile, read=lambda text: quote_begins(text.split("\n")))
