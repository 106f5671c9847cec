"""What is written so that machines should not read it: in words, with odd signs, with similar letters."""

import base64
import binascii
import re

from console.redaction import words
from console.redaction.lexicon import Lexicon, lowered, pattern_of
from console.redaction.masks import EMAIL_MASK, FULL_MASK, MARKS, Claim, digits_of, mask_phone_digits
from console.redaction.shapes import count_digits, phone_word_near

NUMBERS = Lexicon(words.NUMBER_WORDS)
_NUMBERS = frozenset(words.NUMBER_WORDS.split())
_WEAK = frozenset(words.WEAK_NUMBER_WORDS.split())
_JOINING = frozenset(words.BETWEEN_NUMBER_WORDS.split())
# Words with their vowel signs, and digits.
_TOKEN = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{MARKS}])*|[0-9]+")
# So many words are a number, or fewer beside digits if all of them make a number so long.
_FEWEST_WORDS = 5
_LENGTHS = {2: 10, 3: 7, 4: 7}
_WIDEST_GAP = 4
JOINED_DIGITS = Lexicon("零 〇 一 二 三 五 七 八 九 幺 ゼロ 공 영 일 삼 오 육 칠 팔 구")
_JOINED_DIGITS = re.compile(
    r"(?:(?:ゼロ|マル|[〇零一二三四五六七八九幺两])[ \-・、]?){7,}|(?:[공영일이삼사오육륙칠팔구][ \-]?){8,}"
)


def spelled_numbers(text: str) -> list[Claim]:
    """Mask numbers that are said in words: five in a row, or fewer beside digits that make a long number."""
    lower = lowered(text)
    claims: list[Claim] = []
    start = end = said = length = 0
    for token in _TOKEN.finditer(lower):
        word = token[0]
        is_near = token.start() - end <= _WIDEST_GAP and "\n" not in lower[end : token.start()]
        if word in _JOINING and is_near and said:
            end = token.end()
            continue
        is_said = word in _NUMBERS or (said and is_near and word in _WEAK)
        if not (is_near and (is_said or word.isdecimal())):
            _note(claims, lower, start, end, said, length)
            start, said, length = token.start(), 0, 0
        if is_said:
            said, length = said + 1, length + 1
        elif word.isdecimal():
            length += len(word)
        end = token.end()
    _note(claims, lower, start, end, said, length)
    return claims


def _note(claims: list[Claim], text: str, start: int, end: int, said: int, length: int) -> None:
    if said >= _FEWEST_WORDS or (said in _LENGTHS and length >= _LENGTHS[said]):
        claims.append((start, start + len(text[start:end].rstrip()), FULL_MASK))


def joined_digits(text: str) -> list[Claim]:
    """Mask long runs of digits as Chinese, Japanese and Korean write them in words."""
    return [
        (found.start(), found.start() + len(found[0].rstrip(" -・、")), FULL_MASK)
        for found in _JOINED_DIGITS.finditer(text)
    ]


# --- Numbers with odd signs -------------------------------------------------------------------------------------------

# A tag, a comment, or up to six signs between groups of digits, but no comma with a space behind it. Only a number
# with a zero before it goes on in the next line.
_SIGN = r"(?:</?[A-Za-z]{1,8}/?>|<!--[^>\0]{0,40}-->|(?![,;] )[^\w\0<>\n]|[_ー])"
_ODD_PHONE = re.compile(
    r"(?P<start>[+0-9](?<![0-9A-Za-z_.,/:\-].)(?:(?<=\+)[0-9]{1,4}|(?<=0)[1-9][0-9]{0,4}|[0-9]{2}))"
    rf"(?:(?:{_SIGN}{{1,6}}|(?<=[0-9]{{4}})\n(?=[1-9][0-9]{{4,5}}\b))[0-9]{{1,8}}){{1,6}}(?![0-9A-Za-z])"
)
# What long_numbers of shapes.py masks better.
_is_usual = re.compile(r"[0-9 .\-/()+]+").fullmatch
_has_odd_sign = re.compile(r"[0-9](?:[ ]{0,2}[^\w .\-/()+\0]|[_ー])").search
_SHORTEST, _LONGEST = 9, 13
# 0 and O, 1 and I and l, 5 and S, 8 and B, 3 and E.
_LOOK_ALIKES = re.compile(r"[0O](?<![\w./\-].)[0-9OoIlSBE]{2,12}(?:[ .\-][0-9OoIlSBE]{2,12}){0,4}(?!\w)")
_FEWEST_REAL = 5
_BASE64 = re.compile(r"\b[A-Za-z0-9+/]{16,}+={0,2}(?![A-Za-z0-9+/=_\-])")
_LONGEST_BASE64 = 2000
_personal_inside = re.compile(r"[\w.+\-]@[\w\-]+\.\w|(?:[0-9][ .\-/()]{0,2}){9}").search


def odd_phones(text: str) -> list[Claim]:
    """Mask phone numbers with other signs between their digits: 07911_123_456, **07911** 123 456."""
    claims: list[Claim] = []
    if not _has_odd_sign(text):
        return claims
    for found in _ODD_PHONE.finditer(text):
        digits = digits_of(found[0])
        is_national = found["start"][0] in "0+"
        if _is_usual(found[0]):
            continue
        if _SHORTEST <= len(digits) <= _LONGEST and (is_national or phone_word_near(text, *found.span())):
            claims.append((*found.span(), mask_phone_digits(digits)))
    return claims


def look_alikes(text: str) -> list[Claim]:
    """Mask phone numbers with letters that look like digits: O79II I23456."""
    return [
        (*found.span(), FULL_MASK)
        for found in _LOOK_ALIKES.finditer(text)
        if _FEWEST_REAL <= count_digits(found[0]) < sum(map(str.isalnum, found[0]))
        and 10 <= sum(map(str.isalnum, found[0])) <= 13
    ]


def encoded_texts(text: str) -> list[Claim]:
    """Mask base64 of a text with an address or a phone number in it."""
    return [(*found.span(), FULL_MASK) for found in _BASE64.finditer(text) if _is_personal(found[0])]


def _is_personal(encoded: str) -> bool:
    if len(encoded) > _LONGEST_BASE64 or encoded.isdigit() or encoded.islower() or encoded.isupper():
        return False
    try:
        inside = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return inside.isprintable() and _personal_inside(inside) is not None


# --- Email addresses: "at" for the @, "dot" for the dot ---------------------------------------------------------------

_AT_WORDS, _DOT_WORDS = pattern_of(words.AT), pattern_of(words.DOT)
_OPEN, _CLOSE = r"[ ]{0,2}[(\[{<][ ]?", r"[ ]?[)\]}>][ ]{0,2}"
_DOT = rf"(?:[ ]{{1,2}}(?:{_DOT_WORDS})[ ]{{1,2}}|{_OPEN}(?:{_DOT_WORDS}|\.){_CLOSE}|[_\-]dot[_\-])"
_LABEL = r"[\w\-]{1,63}"
_HOST = rf"{_LABEL}(?:(?:{_DOT}|\.){_LABEL}){{1,4}}"
_TOP = r"(?:com|org|net|info|email|io|co|me|eu|[a-z]{2})(?![\w.])"
_SAID_AT = re.compile(
    # anna at example dot com; not "look at example.com"
    rf"(?:[ ]{{1,2}}at[ ]{{1,2}}{_LABEL}(?=.{{0,40}}?[ ](?:dot|punkt|punt|point)[ ])(?:(?:{_DOT}|\.){_LABEL}){{1,4}}"
    rf"|(?:[ ]{{1,2}}(?:{_AT_WORDS})[ ]{{1,2}}|{_OPEN}(?:at|a|@|{_AT_WORDS}){_CLOSE}"
    rf"|[ ]{{1,2}}@[ ]{{0,2}}|@[ ]{{1,2}}|@(?=[\w\-]+[ ](?:{_DOT_WORDS})[ ])"
    rf"|=40(?=[a-z][\w\-]{{0,62}}\.[a-z]{{2}})){_HOST}"
    rf"|[_\-]at[_\-](?:{_LABEL}(?:{_DOT}|\.)){{1,3}}{_TOP})"
)
_SAID_LOCAL = re.compile(rf"(?<![\w.+\-])[\w.+\-]{{1,64}}(?:{_DOT}[\w+\-]{{1,40}}){{0,2}}\Z")
_LONGEST_LOCAL = 80
_NOT_MAILBOXES = frozenset(words.NOT_A_MAILBOX.split())
AT_SIGNS = ("(at", "[at", "{at", "<at", "( at", "(AT", "[AT", "(a)", "_at_", "-at-", "=40", " @", "@ ", "[@", "(@")
SAID_AT = Lexicon(words.AT, words.DOT)


def said_emails(text: str) -> list[Claim]:
    """Mask `kat at example dot com`, `kat (at) example.com`, `kat @ example.com` and the like."""
    lower = lowered(text)
    claims: list[Claim] = []
    done = 0
    for found in _SAID_AT.finditer(lower):
        first = max(done, found.start() - _LONGEST_LOCAL)
        local = _SAID_LOCAL.search(lower[first : found.start()])
        if local and local[0] not in _NOT_MAILBOXES:
            claims.append((first + local.start(), found.end(), EMAIL_MASK))
            done = found.end()
    return claims
