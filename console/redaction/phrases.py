"""What people say about themselves: names, addresses, and the numbers of papers, accounts and secrets."""

import re
from collections.abc import Callable

from console.redaction import words
from console.redaction.fields import is_amount
from console.redaction.lexicon import Lexicon, lowered
from console.redaction.masks import FULL_MASK, Claim
from console.redaction.phrase import LETTER, MARKED, Phrase, Value, matching, value_after
from console.redaction.said_names import caller_at, full_name_at, name_at, signature_at
from console.redaction.said_places import ADDRESS, COORDINATES, POSTCODE, STREETS, streets
from console.redaction.shapes import count_digits

# Groups of capitals and digits, the first of them with a digit or in capitals.
_GROUPS = re.compile(
    r"(?:(?=[A-Za-z]{0,24}[0-9])[A-Za-z0-9]{1,64}|[A-Z]{1,6}(?![a-z]))"
    r"(?:[ ./\-]{1,2}(?:(?=[A-Z]{0,6}[0-9])[A-Z0-9]{1,34}|[A-Z]{1,5}|(?<=-)[a-z0-9]{4,12})(?![A-Za-z0-9])){0,10}"
)
_FEWEST_SIGNS = 5
_WALLET = re.compile(r"[A-Za-z0-9]{20,}")
_PLATE = re.compile(r"[A-Z]{1,3}[ \-]?[0-9]{1,4}[ \-]?[A-Z]{1,3}")


def _groups(fewest: int, is_enough: Callable[[str], object] = lambda _: False) -> Value:
    """Return the function for groups with so many digits at least, or enough in another way."""

    def value(text: str, start: int) -> tuple[int, int] | None:
        found = _GROUPS.match(text, start)
        if found is None:
            return None
        is_long = count_digits(found[0]) >= fewest and sum(map(str.isalnum, found[0])) >= _FEWEST_SIGNS
        return found.span() if (is_long and not is_amount(text, start)) or is_enough(found[0]) else None

    return value


_NOT_AN_AMOUNT = r"(?![0-9A-Za-z]|[.,:/][0-9]|[ ]?[%€$£¥])"
_PIN = matching(rf"(?:[0-9]{{3}}[ \-][0-9]{{3}}|[0-9]{{3,8}}){_NOT_AN_AMOUNT}")
_CODE = (
    r"(?<![0-9A-Za-z.,:/$€£¥])(?!(?:19|20)[0-9]{2}(?![0-9]))"
    rf"(?:[0-9]{{3}}[ \-][0-9]{{3}}|[0-9]{{4,8}}){_NOT_AN_AMOUNT}"
)
_PASSWORD = matching(
    r"(?!https?:)(?=[^\s\0]{0,64}[0-9])(?![0-9]+(?:[0-9]{8}|[ ./\-][0-9]))"
    r"(?P<value>[^\s\0*]{4,64}?)(?=[.,;!?)\"'」]*(?:\s|\Z)|です|입니다|[，。])"
)
_DATE = (
    r"[0-9]{1,2}(?:st|nd|rd|th|er|[.oº])?[ ./\-](?:(?:of|de|di)[ ])?"
    rf"(?:[0-9]{{1,2}}|{LETTER}{{3,14}}\.?)[ ./\-,]{{1,2}}(?:(?:of|de|del|di)[ ])?[0-9]{{2,4}}"
    r"|[0-9]{4}[ ]?[./\-年년][ ]?[0-9]{1,2}[ ]?[./\-月월][ ]?[0-9]{1,2}[日일]?"
    rf"|{LETTER}{{3,12}}\.?[ ][0-9]{{1,2}}(?:st|nd|rd|th)?,?[ ][0-9]{{4}}|(?:19|20)[0-9]{{2}}(?![0-9])"
)
_ON = (
    r"(?:[\s:=.,(]|(?:was|is|on|in|the|le|el|il|o|em|am|den|im|op|de|dnia|roku|w|в|es|est|é|è|ist|は|은|는|ने|को)"
    r"(?![^\W\d_])){0,6}"
)

# --- One-time codes ---------------------------------------------------------------------------------------------------

_CODES = Lexicon(words.ONE_TIME_CODE)
_a_code_word = re.compile(_CODES.pattern).finditer
_code_after = re.compile(rf"[^0-9\n\0]{{0,30}}?(?P<code>{_CODE})").match
# 482917 is your Google verification code
_code_before = re.compile(rf"(?P<code>{_CODE})[ ,.\-–—:)]{{1,3}}(?:{MARKED}{{1,20}}[ ,.]{{1,2}}){{0,4}}\Z").search
_WINDOW = 60


def _codes(text: str) -> list[Claim]:
    """Mask short numbers behind or before words for a code that is used once."""
    lower = lowered(text)
    spans: list[tuple[int, int]] = []
    done = 0
    for word in _a_code_word(lower):
        if word.start() < done:
            continue
        first = max(done, word.start() - _WINDOW)
        if after := _code_after(lower, word.end()):
            spans.append(after.span("code"))
            done = after.end()
        elif before := _code_before(lower[first : word.start()]):
            spans.append((first + before.start("code"), first + before.end("code")))
    return [(start, end, FULL_MASK) for start, end in spans]


# In order: a later rule does not see what an earlier one has claimed.
PHRASES: dict[str, Phrase] = {
    "birth": value_after(matching(_DATE, re.IGNORECASE), words.BIRTH, gap=_ON),
    "name": value_after(name_at, words.NAME),
    "caller": value_after(caller_at, words.CALLER, gap=r"[ ]"),
    "full name": value_after(full_name_at, words.NAME_IF_CAPITALISED, gap=r"[ ]"),
    "sign-off": value_after(signature_at, words.SIGN_OFF, gap=r"[ ]?[,.!]?[ ]{0,2}[\r\n ]{1,4}"),
    "weak sign-off": value_after(signature_at, words.WEAK_SIGN_OFF, gap=r"[ ]?[,.!]?[ ]{0,2}\r?\n{1,3}[ ]?"),
    "address": value_after(ADDRESS, words.ADDRESS, gap=r"[\s:=,.\-]{0,4}(?:(?:is|es|é|ist|est|è)[ ])?"),
    "street": Phrase(STREETS, streets),
    "place": value_after(COORDINATES, words.PLACE, gap=r"[^0-9\n\0\-]{0,12}"),
    "postcode": value_after(POSTCODE, words.POSTCODE),
    "paper": value_after(_groups(3, _PLATE.fullmatch), words.NATIONAL_ID),
    "account": value_after(_groups(6, _WALLET.fullmatch), words.MONEY),
    "code": Phrase(_CODES, _codes),
    "PIN": value_after(_PIN, words.PIN),
    "password": value_after(_PASSWORD, words.LOG_IN),
}
