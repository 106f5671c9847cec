"""Harmless shapes, which are made of digits but must stay, and long runs of digits that no shape explains.

Each line is one shape. A shape is delimited: no letter, digit, dot or plus before it, no letter or digit after it.
A weak shape could also be a phone number, and is not kept near a phone word.
"""

import re

from console.redaction import words
from console.redaction.credentials import KEY_PREFIX
from console.redaction.lexicon import Lexicon, beginnings, may_be_said
from console.redaction.masks import (
    FULL_MASK,
    MAX_PHONE_DIGITS,
    MIN_PHONE_DIGITS,
    NOT_DIGITS,
    Claim,
    digits_of,
    holds_any,
    mask_phone_digits,
)

_TIME = r"[0-9]{1,2}:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?(?:Z|[+\-][0-9]{2}:?[0-9]{2}(?![0-9]))?"
_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH = r"(?:0[1-9]|1[0-2])"
_DAY = r"(?:0[1-9]|[12][0-9]|3[01])"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_UUID = r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
# In "let 07700900123 us know", "us" is not a unit: microseconds are written without a space.
_UNIT = r"(?:us|[ ]?(?:bytes|bits|[KkMGT]?i?B|ms|ns|tokens|rows|records|chars|characters))(?![A-Za-z])"
_CURRENCY = "EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|BRL|MXN|ZAR|AED|SAR|TRY|SGD|HKD|KRW|THB"
_TWO_LETTERS = r"(?=[0-9]*[a-f][0-9]*[a-f])"

# Seconds, milliseconds, microseconds or nanoseconds since 1970, between 2014 and 2033.
EPOCH = re.compile(r"1[4-9][0-9]{8}(?:[0-9]{3}|[0-9]{6}|[0-9]{9})?")

_EPOCH_WITH_FRACTION = rf"{EPOCH.pattern}(?:\.[0-9]{{1,9}})?"
# A decimal fraction (also a tiny one, as logarithms of probabilities are), unless it looks like 555.1234567.
_FRACTION = r"(?![0-9]{3}\.[0-9]{7}(?![0-9]))(?:0|[1-9][0-9]{0,5})\.[0-9]{1,15}(?:[eE]-[0-9]{1,3}(?![0-9]))?"

_STRONG = (
    _UUID,
    # X-Ray and W3C trace ids
    r"1-[0-9a-f]{8}-[0-9a-f]{24}",
    r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}",
    # hex digests and object ids, of the usual lengths
    rf"{_TWO_LETTERS}(?:[0-9a-f]{{128}}|[0-9a-f]{{96}}|[0-9a-f]{{64}}|[0-9a-f]{{56}}|[0-9a-f]{{40}}|[0-9a-f]{{32}}"
    r"|[0-9a-f]{24}|[0-9a-f]{16})",
    r"(?=(?:[0-9]*[A-F]){3})(?:[0-9A-F]{64}|[0-9A-F]{40}|[0-9A-F]{32})",
    # hex after a prefix: thread_91001c2c9e0ef90542d8, sha256:…
    rf"(?<=[a-z]_){_TWO_LETTERS}[0-9a-f]{{14,64}}",
    # a request id of the platform: req-7398450f
    r"(?<=req-)(?=[0-9]*[a-f])[0-9a-f]{8}",
    rf"(?<=sha(?:256|384|512):){_TWO_LETTERS}[0-9a-f]{{16,128}}",
    # ULIDs of our years
    r"(?=(?:[0-9]*[A-Z]){6})01[E-N][0-9A-HJKMNP-TV-Z]{23}",
    # a memory address
    r"0x(?=[0-9]*[A-Fa-f])[0-9A-Fa-f]{4,16}",
    # ISO intervals, which would otherwise match as single dates; ISO and European dates, with or without a time; times
    rf"{_YEAR}-{_MONTH}-{_DAY}(?:T{_TIME})?/{_YEAR}-{_MONTH}-{_DAY}(?:T{_TIME})?",
    rf"{_YEAR}[\-/.]{_MONTH}[\-/.]{_DAY}(?:(?:T|[ ]{{1,2}}){_TIME})?",
    rf"{_YEAR}{_MONTH}{_DAY}T[0-9]{{4,6}}(?:\.[0-9]{{1,9}})?Z?",
    rf"[0-9]{{1,2}}[/.\-][0-9]{{1,2}}[/.\-]{_YEAR}(?:(?:T|,?[ ]{{1,2}}){_TIME})?",
    rf"{_YEAR}[\-/]{_YEAR}",
    _TIME,
    # a price after its currency sign
    r"(?<=[$€£¥₹])(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,9})(?:[.,][0-9]{2})?",
    # 1.234.567,89 and 1 234 567,89 €
    r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){1,4},[0-9]{2}",
    rf"[1-9][0-9]{{0,2}}(?:[ ][0-9]{{3}}){{1,4}},[0-9]{{2}}(?=[ ]?(?:[€$£]|(?:{_CURRENCY}|kr|zł|Kč|Ft)(?![A-Za-z])))",
    # a fraction with its unit
    rf"(?:0|[1-9][0-9]{{0,5}})\.[0-9]{{1,6}}{_UNIT}",
)
_WEAK = (
    # IPv4 with mask or port
    rf"{_OCTET}(?:\.{_OCTET}){{3}}(?:[:/][0-9]{{1,5}})?",
    _FRACTION,
    # a product and its version: Chrome/120.0.6099.109
    r"(?<=[A-Za-z]/)[0-9]{1,3}\.[0-9]{1,2}(?:\.[0-9]{1,5}){1,2}",
    # 0.0.0.4567, 10.2.14.20315; Linux kernels: 4.18.0-553.el8
    r"[0-9]{1,2}(?:\.[0-9]{1,2}){2}\.[0-9]{1,5}",
    r"[0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,3}-[0-9]{1,4}(?=[.\-][a-z])",
    # a commit as git shows it: commit 2712345
    r"(?<=commit )[0-9a-f]{7,12}",
    # an amount with its currency: USD 1234567, 1234567.50 EUR
    rf"(?<=(?:{_CURRENCY}) )[1-9][0-9]{{0,8}}(?:[.,][0-9]{{2}})?",
    rf"[1-9][0-9]{{0,8}}(?:[.,][0-9]{{2}})?(?=[ ]?(?:{_CURRENCY})(?![A-Za-z]))",
    # a date at the end of a name: claude-3-5-sonnet-20241022
    rf"(?<=[A-Za-z][\-_]){_YEAR}{_MONTH}{_DAY}",
    # a quantity with its unit; with ten digits it could be a phone number
    rf"(?:0|[1-9][0-9]{{0,8}}){_UNIT}",
)

# What every shape has near its first character. Most numbers do not, and need not be tried for each shape.
_PROMISING = (
    r"(?:(?=[0-9A-Za-z]{7}|[0-9A-Za-z]*+(?:[\-/.:,][0-9A-Fa-f]|[ ]?[A-Zbkmgunrtc]|(?:[ ][0-9]{3}){1,4},[0-9]))"
    r"|(?<=[$€£¥₹].)|(?<=[A-Zt] .))"
)
# The look-behind around the look-ahead lets the pattern begin with a set of characters, which `re` searches fast.
_A_SHAPE = (
    rf"{_PROMISING}(?<=(?=(?:(?P<strong>{'|'.join(_STRONG)})|(?P<weak>{'|'.join(_WEAK)}))(?![0-9A-Za-z]|[.:][0-9])).)"
)
# Hex letters alone are not a shape: they contain no digits to keep.
_HEX_AHEAD = r"(?=[0-9A-Fa-f]{7})(?=[A-Fa-f\-]{0,40}[0-9])"
_shape = re.compile(rf"[0-9A-Fa-f](?<![0-9A-Za-z+.].)(?:(?<=[0-9])|{_HEX_AHEAD}){_A_SHAPE}").search
# Three digits, adjacent or nearly.
_has_number = re.compile(r"[0-9][ .\-/()+]{0,3}[0-9][ .\-/()+]{0,3}[0-9]").search
_AN_EPOCH = re.compile(rf"1(?<![0-9A-Za-z+.].)(?<=(?=(?P<epoch>{_EPOCH_WITH_FRACTION})(?![0-9A-Za-z]|[.:][0-9])).)")
# Identifiers with a word that says what they are, each with its signs: without any of them the pattern cannot match.
_NAMED = (
    # an account in an ARN, a queue or an image
    (r"arn:aws[a-z\-]{0,10}:[a-z0-9\-]{1,30}:[a-z0-9\-]{0,20}:[0-9]{12}(?![0-9])", ("arn:",)),
    (r"sqs\.[a-z0-9\-]{1,20}\.amazonaws\.com(?:\.cn)?/[0-9]{12}(?![0-9])", ("sqs.",)),
    (r"(?<![0-9A-Za-z+])[0-9]{12}\.dkr\.ecr\.", (".dkr.",)),
    # eight digits after a short prefix may be a Singapore phone number: sg-87654321
    (
        r"(?<![\w\-])(?:(?:subnet|vpc|vol|eni|snap|rtb|igw|ami|acl|eipalloc)-|(?:sg|nat|i)-(?=[0-9]*[a-f]))"
        r"(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9A-Za-z])",
        ("subnet-", "vpc-", "vol-", "eni-", "snap-", "rtb-", "igw-", "ami-", "acl-", "eipalloc-", "sg-", "nat-", "i-"),
    ),
    # a Twilio message id: SMa119b9c78124375b5e0183f147e06066
    (rf"[SM]M(?<![0-9A-Za-z]..){_TWO_LETTERS}[0-9a-f]{{32}}(?![0-9A-Za-z])", ("SM", "MM")),
    (r"(?i:isbn)(?:-1[03])?:?[ ]?(?:97[89][\- ]?)?(?:[0-9][\- ]?){9}[0-9Xx](?![0-9])", ("ISBN", "isbn")),
)
_a_named = re.compile("|".join(pattern for pattern, _ in _NAMED)).finditer
NAMED_SIGNS = tuple(sign for _, signs in _NAMED for sign in signs)
# Text after an @ that is not a host. Not call me @555.123.4567, nor hi@555.123.4567
_REVISION = re.compile(
    # lib@20.1.0; org/action@v4 and org/repo@3f78685, after a path; image@sha256:…; a package source
    r"@(?:(?<=[A-Za-z0-9_\-.]@)(?![0-9]{3}\.[0-9]{3}\.[0-9]{3})[0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,6})?(?![0-9.@])"
    r"|(?<=[A-Za-z0-9_\-.]@)(?:sha256:[0-9a-f]{7,64}(?![0-9A-Za-z])|git\+(?:https|ssh)://))"
    r"|/[\w.\-]{1,100}(?P<ref>@(?:v[0-9]{1,4}(?:\.[0-9]{1,6}){0,3}(?![\w@]|\.\w)"
    r"|(?=[a-f]*[0-9])[0-9a-f]{7,40}(?![\w@]|\.\w)))",
    re.ASCII,
)
# What all of them contain; most texts do not, and skip the search.
_may_be_revision = re.compile(r"@(?:v?[0-9]|[0-9a-f]{7}|sha256:|git\+)").search
# A Teams conversation or meeting, unless it contains a long number, which would be shown.
_TEAMS = re.compile(
    rf"(?<!\w)[0-9]{{1,2}}:(?:(?={_TWO_LETTERS}[0-9a-f]{{32}}@)"
    r"|(?=(?:[0-9_\-]*[A-Za-z]){4})(?![\w\-]{0,100}(?<![0-9A-Za-z])[0-9]{9}))[\w\-]{8,100}"
    r"@(?:thread\.(?:tacv2|v2|skype)|unq\.gbl\.spaces)(?!\w)",
    re.ASCII,
)
# A shape after a dialling code is the rest of a phone number: +49 1715642626, 0049-1715642626.
_DIALLING_CODE = re.compile(r"(?:\+|(?<![0-9.:])0)[0-9]{0,5}[ .\-()/]{1,3}\Z")
_PHONE_WORDS = Lexicon(words.PHONE)
_phone_word = re.compile(
    # but not in user agents: Mobile Safari, Mobile/15E148, WhatsApp/2.24
    rf"{_PHONE_WORDS.pattern}|phone|mobile(?! safari|/)|whats[ ]?app(?!/)|t(?<![a-z].)el(?:ep|ef|éf)|msisdn|wa[_ ]?id"
    r"|contact:?[ ]?\(|wa\.me/|☎"
).search
# Those of them that may stand inside other words or behind signs.
_PHONE_PIECES = ("phone", "mobil", "whats", "contact", "wa", "msisdn", "☎", *sorted(_PHONE_WORDS.pieces))
_ASCII_PIECES = 6
_WINDOW_BEFORE, _WINDOW_AFTER = 32, 20


def phone_word_near(text: str, start: int, end: int) -> bool:
    """Return whether a phone word is near text[start:end]."""
    first = max(0, start - _WINDOW_BEFORE)
    # One character more, so that a word cut by the start of the window does not match.
    before = max(0, first - 1)
    window = text[before : end + _WINDOW_AFTER].lower()
    if _PHONE_WORDS.starts.isdisjoint(beginnings(window)) and not holds_any(
        window, _PHONE_PIECES[: None if not window.isascii() else _ASCII_PIECES]
    ):
        return False
    return _phone_word(window, first - before) is not None


# Frequent whole values, which need no further look. The most frequent come first.
_CLOCK = r"[0-2][0-9]:[0-5][0-9]:[0-6][0-9](?:\.[0-9]{1,9})?(?:Z|[+\-][0-9]{2}:?[0-9]{2})?"
FREQUENT_SHAPE = "|".join(
    (
        _UUID,
        rf"{_YEAR}-{_MONTH}-{_DAY}(?:[T ]{_CLOCK})?",
        rf"(?!{KEY_PREFIX})(?=[a-z]{{2,12}}[_#:\-])(?:"
        # prefixed ids: thread_91001c2c9e0ef90542d8, audit#<uuid>
        rf"[a-z]{{2,12}}[_#:\-](?:{_UUID}|{_TWO_LETTERS}[0-9a-f]{{14,64}})"
        # idempotency keys: evt:rp:conv123:msg456
        r"|(?:evt|event|idem|dedupe|job)(?::[a-z]{1,6}[0-9]{0,6}){1,4}"
        # model names: gpt-4o-2024-08-06, claude-3-5-sonnet-20241022
        rf"|[a-z]{{2,12}}(?:-[0-9]?[a-z]{{0,12}}){{0,6}}-{_YEAR}-?{_MONTH}-?{_DAY})",
        # type and enum names; a long word after a separator may be a key
        r"(?!wamid|AKIA|ASIA|AIza|eyJ|[A-Za-z.]{1,40}[_\-]at[_\-])[A-Za-z]{1,40}+(?:[_./\-]{1,2}[A-Za-z]{1,13}+)*[0-9]{0,2}",
        rf"{_TWO_LETTERS}(?:[0-9a-f]{{64}}|[0-9a-f]{{40}}|[0-9a-f]{{32}})",
    )
)
_WHOLE = re.compile(
    "|".join(
        (
            FREQUENT_SHAPE,
            *_STRONG,
            r"[A-Za-z]{1,11}[0-9]{1,4}",
            # dedupe:<uuid>:send
            rf"(?:(?!{KEY_PREFIX})[a-z]{{2,12}}[_#:\-]){{1,2}}(?:{_UUID}|{_TWO_LETTERS}[0-9a-f]{{14,64}})(?::[a-z]{{1,12}})?",
        )
    )
)
# One of them, or text that no rule could match: a credential without a digit has a long word.
_WORD = r"[A-Za-z]{1,15}+(?<!wamid)(?![A-Za-z])"
NOTHING_SUSPICIOUS = rf"(?:[^0-9@%&\\=:$A-Za-z\u0080-\U0010ffff]++|{_WORD})*"
# Three words at most: more may say something (lexicon.may_be_said).
_PIECES = rf"(?:[^\" (\[0-9@%&\\=:$A-Za-z\u0080-\U0010ffff]++|{_WORD})*"
NOTHING_SUSPICIOUS_UNQUOTED = rf"{_PIECES}(?:[ ]{_PIECES}){{0,2}}"
_is_plain = re.compile(rf"{NOTHING_SUSPICIOUS}|{_WHOLE.pattern}").fullmatch
# A number that is a whole value: small, a fraction, or an epoch.
WHOLE_NUMBER = rf"-?(?:[0-9]{{1,6}}|{_FRACTION}|{_EPOCH_WITH_FRACTION})(?![0-9.eE])"
is_whole_number = re.compile(WHOLE_NUMBER).fullmatch


def is_plain_text(text: str) -> bool:
    """Return whether no rule could match anything in a text."""
    return _is_plain(text) is not None and not may_be_said(text)


def harmless_shapes(text: str) -> list[Claim]:
    """Claim, to be kept, every harmless shape with digits except epochs."""
    claims: list[Claim] = []
    if not _has_number(text):
        return claims
    position = 0
    while found := _shape(text, position):
        kind = "strong" if found["strong"] is not None else "weak"
        start, end = found.span(kind)
        position = found.end()
        if not _behind_dialling_code(text, start) and (kind == "strong" or not phone_word_near(text, start, end)):
            claims.append((start, end, None))
            position = end
    return claims


def epochs(text: str) -> list[Claim]:
    """Claim, to be kept, epochs without a phone word near them."""
    claims: list[Claim] = []
    for found in _AN_EPOCH.finditer(text):
        start, end = found.span("epoch")
        if not _behind_dialling_code(text, start) and not phone_word_near(text, start, end):
            claims.append((start, end, None))
    return claims


def _behind_dialling_code(text: str, start: int) -> bool:
    return _DIALLING_CODE.search(text, max(0, start - 9), start) is not None


def named_identifiers(text: str) -> list[Claim]:
    """Claim, to be kept, AWS accounts and resources, ids of text messages, and ISBNs, each identified by a word."""
    return [(*found.span(), None) for found in _a_named(text)]


def revisions(text: str) -> list[Claim]:
    """Claim, to be kept, `@20.1.0` in `@types/node@20.1.0` and the like, and Teams ids: none are email addresses."""
    claims: list[Claim] = []
    if "@thread." in text or "@unq." in text:
        claims += [(*found.span(), None) for found in _TEAMS.finditer(text)]
    if _may_be_revision(text):
        claims += [(*found.span("ref" if found["ref"] else 0), None) for found in _REVISION.finditer(text)]
    return sorted(claims)


_LONG = 7
# 07924 129923: one number if a word before it says so, and its groups are not a date, a time or a field.
NUMBER_IN_GROUPS = r"(?=(?:[0-9][ ]?){7})[0-9]{2,5}(?:[ ][0-9]{2,6}){1,5}(?![0-9A-Za-z]|[\-/.:=][0-9A-Za-z])"
# At least five characters, since five digits are the shortest phone number.
_NUMBER = re.compile(r"[0-9+](?=[0-9 .\-/()+]{4})[0-9]*+(?:[ .\-/()+]{1,3}+[0-9]++)*")
# 00123 has no country code, only leading zeros.
_has_country_code = re.compile(r"\+|00[1-9][0-9]{0,2}[ .\-/(]").match
# The rest of a number cut by a line break. One group with a number on the next line too is a row of a table.
_REST = re.compile(
    r"[ ]{0,2}\r?\n[ ]{0,2}"
    r"(?P<rest>[0-9]++(?:(?:[ .\-/()]{1,3}+[0-9]++)+(?![ .\-/()]{1,3}+[0-9])|(?![ ]{0,2}\r?\n[ ]{0,2}[0-9])))"
    r"(?![0-9A-Za-z])"
)
# The number of digits before the line break that cannot be a whole number with its country code, and of a whole one.
_CUT, _COMPLETE = range(3, 10), range(10, MAX_PHONE_DIGITS + 1)
_GROUP = re.compile(r"\+?[0-9]+")
_EXTENSION = re.compile(r"(?:x|ext\.?) ?[0-9]", re.IGNORECASE)
_LETTERS_AFTER = re.compile(r"[A-Za-z0-9]+(?:-[0-9]{1,3}(?![0-9A-Za-z]))?")
# Words that a number may follow without a space and still be a number of its own.
_names_a_number = re.compile(
    r"(?:phone|(?<![a-z])(?:tel|mob|cell|fax|sms|nr|no)|mobile?|whats ?app)\Z", re.IGNORECASE
).search
# A national number in groups, which is separate even from a word directly before it: call07700 900 123
_is_national = re.compile(r"0[1-9][0-9]{2,3}(?:[ .\-/()]{1,3}[0-9]{2,6}){1,3}(?![0-9A-Za-z])").match
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def lone_number(digits: str) -> str:
    """Mask text of ASCII digits only, as long_numbers would without words around it."""
    if len(digits) < _LONG or EPOCH.fullmatch(digits):
        return digits
    return mask_phone_digits(digits)


def long_numbers(text: str) -> list[Claim]:
    """Mask runs of seven or more digits, grouped or not, and shorter ones that are phone numbers."""
    claims: list[Claim] = []
    end = 0
    while found := _NUMBER.search(text, end):
        start, stop = found.span()
        in_word, after_word = _is_in_word(text, start), text[stop : stop + 1] in _LETTERS
        claim: Claim | None = None
        if in_word or after_word:
            claim, stop = _claim_at_word(text, start, stop, end, in_word)
        elif stop - start >= MIN_PHONE_DIGITS:
            stop = _end_after_line_break(text, start, stop)
            claim = _number_claim(text, start, stop, end)
        if claim:
            claims.append(claim)
        # A match can shrink to nothing ("+ 12345x"); the search must still advance.
        end = claim[1] if claim else max(stop, start + 1)
    return claims


def _claim_at_word(text: str, start: int, stop: int, floor: int, in_word: bool) -> tuple[Claim | None, int]:
    """Return the claim on a number that touches a letter, and the end of the number."""
    first = _GROUP.match(text, start)
    # "B12 0700 122 121": digits in a word are a separate group.
    if first and (in_word or first.end() == stop):
        return _word_claim(text, start, first.end(), floor), first.end()
    is_short = len(digits_of(text[start:stop])) < _COMPLETE.start
    if is_short and not phone_word_near(text, start, stop):
        stop = _without_last_group(text, start, stop)
    return _number_claim(text, start, stop, floor), stop


def _is_in_word(text: str, start: int) -> bool:
    """Return whether a number begins inside a word; with a plus it never does."""
    if text[start - 1 : start] not in _LETTERS or text[start] == "+":
        return False
    return not _is_national(text, start) and _names_a_number(text, max(0, start - 9), start) is None


def _number_claim(text: str, start: int, stop: int, floor: int) -> Claim | None:
    digits = digits_of(text[start:stop])
    if len(digits) > MAX_PHONE_DIGITS:
        return start, stop, FULL_MASK
    if len(digits) < _LONG and not (
        len(digits) >= MIN_PHONE_DIGITS and (text[start] == "+" or phone_word_near(text, start, stop))
    ):
        return None
    if start > floor and text[start - 1] == "(" and text.count("(", start, stop) < text.count(")", start, stop):
        start -= 1
    return start, stop, mask_phone_digits(digits)


def _end_after_line_break(text: str, start: int, stop: int) -> int:
    """Return the end of a number with a country code that may continue on the next line: +44 7700⏎900 999."""
    if text[stop : stop + 1] not in {" ", "\r", "\n"} or not _has_country_code(text, start):
        return stop
    before = len(digits_of(text[start:stop]))
    found = _REST.match(text, stop) if before in _CUT else None
    if found is None:
        return stop
    behind = len(digits_of(found["rest"]))
    return found.end() if behind > 2 and before + behind in _COMPLETE else stop


def _word_claim(text: str, start: int, stop: int, floor: int) -> Claim | None:
    """Mask digits inside a word (SP029692510000920746) together with the word."""
    if stop - start < _LONG:
        return None
    while start > floor and (text[start - 1] in _LETTERS or text[start - 1].isdigit()):
        start -= 1
    rest = _LETTERS_AFTER.match(text, stop)
    return start, rest.end() if rest else stop, FULL_MASK


def _without_last_group(text: str, start: int, stop: int) -> int:
    """Return the end of "1435" in "1435 163rd Avenue": the last group belongs to a word, unless it is an extension."""
    if _EXTENSION.match(text, stop):
        return stop
    while stop > start and text[stop - 1].isdigit():
        stop -= 1
    while stop > start and not text[stop - 1].isdigit():
        stop -= 1
    return stop


def count_digits(text: str) -> int:
    """Return the number of ASCII digits in text. The functions of bytes are several times faster than a pattern."""
    return len(text.encode("utf-8", "replace").translate(None, NOT_DIGITS))
