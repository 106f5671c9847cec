"""Recognition of what a typed text can be, by its form alone, without a read.

A text can be several things: a word may be the id of a tenant or a company, or a username. All are searched.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from console.store.models import PARTITION_KEY_BYTES


class MeaningKind(StrEnum):
    """A kind of identifier; the values are the words of the page."""

    PHONE = "a phone number"
    EMAIL = "an email address"
    CONVERSATION = "a conversation's id"
    THREAD = "a thread's key"
    SESSION = "a chatbot session's id"
    DIGEST = "a SHA-256 id, of a chatbot user or an image"
    EVENT = "an idempotency key"
    TENANT = "a tenant's id"
    COMPANY = "a company's id"
    CHANNEL = "a channel"
    CHANNEL_ID = "a channel's id without its type"
    STAFF = "a username"
    USER = "the id of a tenant's user"
    MESSAGE = "a message's id"
    REQUEST = "a request's id"
    THREAD_ID = "a thread's own id"
    NAME = "the name of a company or tenant"


# Kinds that are recognised but not searched, and why.
UNSEARCHED = {
    MeaningKind.MESSAGE: "You can only find a message within its thread. Open the thread, or look it up under Threads.",
    MeaningKind.THREAD_ID: (
        "You cannot search by a thread's own id alone. Search for its whole key, organisation#user#thread."
    ),
}


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that the typed text can be. `value` omits prefixes and other text around it."""

    kind: MeaningKind
    value: str


MAX_LENGTH = PARTITION_KEY_BYTES
_SCHEME = re.compile(r"(?:whatsapp|tel|sms|smsto|mailto)\s*:\s*(?=\S)", re.IGNORECASE)
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[^\s@<>()\[\],;:\"]+\.[^\s@<>()\[\],;:\".]{2,}")
_PHONE = re.compile(r"(?:\+|00)?[\d\s().\-/‐-―·]+", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.IGNORECASE | re.ASCII)
_SESSION = re.compile(r"[0-9a-f]{64}:\d{1,19}(?:\.\d+)?", re.IGNORECASE | re.ASCII)
_EVENT = re.compile(r"(?:evt|act):[a-z_]+:.+", re.DOTALL)
_MESSAGE = re.compile(r"(?:MSG|LLM)#.+|(?:msg|wamid|mid|chatcmpl|run)[_.-].+", re.DOTALL)
_CHANNEL = re.compile(r"(?:CHANNEL#)?([a-z0-9]+(?:[_-][a-z0-9]+)*)[#:]\s*([^#\s].*)", re.DOTALL)
_CHANNEL_TYPES = frozenset({"whatsapp", "sms", "email", "teams", "slack", "telegram", "dashboard"})
# The tenant platform identifies WhatsApp and Telegram channels by a digest of the bot's token.
_TOKEN_DIGEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_SLACK = re.compile(r"[TCDGEAB][A-Z0-9]{6,20}", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@+-]*[A-Za-z0-9])?", re.ASCII)
_FULL_NAME = re.compile(r"[A-Za-z][A-Za-z'-]*(?: [A-Za-z][A-Za-z'-]*){1,3}")
_NAME = re.compile(r"(?=.*[^\W\d_])\w[\w '’&.,()/+-]{1,79}")
_REQUEST, _THREAD = re.compile(r"req(?:[_-].+|\d.*)", re.IGNORECASE), re.compile(r"(?:thread|thr)[_-].+", re.IGNORECASE)
_HANDLE = re.compile(r"@[A-Za-z][A-Za-z0-9_]{3,31}", re.ASCII)
_DIGITS = (7, 15)
# The platform's conversation ids have at least this many parts: company, project, request, usually the recipient.
_PARTS = 3


def recognise(typed: str) -> tuple[Meaning, ...]:
    """Return everything that a text can be, likeliest first; empty if it is no identifier. Never raises."""
    text = normalized_text(typed)
    if not text or len(text.encode("utf-8", "replace")) > MAX_LENGTH:
        return ()
    return tuple(dict.fromkeys(_meanings(text)))


def is_national(number: str) -> bool:
    """Return whether a typed phone number lacks its country code."""
    digits = [char for char in number if char.isdigit() or char == "+"]
    return digits[:1] == ["0"] and digits[:2] != ["0", "0"]


def with_code(national: str, code: str) -> str:
    """Return a national number with a country code in place of its leading zero."""
    return code + "".join(char for char in national if char.isdigit()).removeprefix("0")


def tried_with(codes: Sequence[str]) -> str:
    """Return the sentence that says which country codes a national number was tried with."""
    if not codes:
        return NATIONAL
    several = len(codes) > 1
    words = f"{', '.join(codes[:-1])} and {codes[-1]}" if several else codes[0]
    which = f"the code{'s' if several else ''} of your companies' own numbers"
    return f"The number has no country code. It was tried with {words}, {which}."


NATIONAL = "Numbers are stored with their country code: search for +44 7700 900600 rather than 07700 900600."


def matches_name(name: str, typed: str) -> bool:
    """Return whether every typed word is the beginning of a word of the name."""
    words = name.casefold().split()
    return all(any(word.startswith(part) for word in words) for part in typed.casefold().split())


def called(typed: str, names: Mapping[str, str]) -> list[str]:
    """Return the ids with exactly that name, else those whose names match the words typed; `names` are by id."""
    whole = [each for each, name in names.items() if name.casefold() == typed.casefold()]
    return whole or [each for each, name in names.items() if matches_name(name, typed)]


def normalized_text(typed: str) -> str:
    """Return a typed text, normalized, without invisible characters copied from a page or a chat."""
    text = unicodedata.normalize("NFKC", typed.encode("utf-8", "replace").decode())
    return "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Cc", "Co", "Cs")).strip()


def _meanings(text: str) -> Iterator[Meaning]:
    """Yield the meanings of a text; unambiguous forms come first and exclude all others."""
    if _EVENT.fullmatch(text):
        yield Meaning(MeaningKind.EVENT, text)
    elif _SESSION.fullmatch(text):
        yield Meaning(MeaningKind.SESSION, text.lower())
    elif _SHA256.fullmatch(text):
        yield Meaning(MeaningKind.DIGEST, text.lower())
    elif _MESSAGE.fullmatch(text):
        yield Meaning(MeaningKind.MESSAGE, text)
    elif (prefixed := _prefixed(text)) is not None:
        yield prefixed
    elif text.count("#") >= _PARTS - 1 and not text.startswith("CHANNEL#"):
        yield Meaning(MeaningKind.CONVERSATION, text)
        yield Meaning(MeaningKind.THREAD, text)
    elif (channel := _channel(text)) is not None:
        yield channel
    elif (address := _address(text)) is not None:
        yield Meaning(MeaningKind.EMAIL, address)
        yield Meaning(MeaningKind.CHANNEL_ID, address)
    elif (number := _number(text)) is not None:
        yield Meaning(MeaningKind.PHONE, number)
        yield Meaning(MeaningKind.CHANNEL_ID, number)
    else:
        yield from _words(text)


_PREFIXES = {
    "TENANT#": MeaningKind.TENANT,
    "STAFF#": MeaningKind.STAFF,
    "COMPANY#": MeaningKind.COMPANY,
    "USER#": MeaningKind.USER,
}


def _prefixed(text: str) -> Meaning | None:
    """Return the meaning of a key with a known prefix and one part after it."""
    for prefix, kind in _PREFIXES.items():
        rest = text.removeprefix(prefix)
        if rest != text and rest and "#" not in rest:
            return Meaning(kind, rest)
    return None


def _channel(text: str) -> Meaning | None:
    """Return the channel of `CHANNEL#type#id`, or of a known type and an id: `slack:T024BE7LD`."""
    found = _CHANNEL.fullmatch(text)
    if found is None:
        return None
    kind, channel_id = found.groups()
    channel_id = channel_id.strip()
    is_number = _SCHEME.match(text) and not _TOKEN_DIGEST.fullmatch(channel_id)
    if not text.startswith("CHANNEL#") and (kind not in _CHANNEL_TYPES or is_number):
        return None
    return Meaning(MeaningKind.CHANNEL, f"{kind}#{channel_id}")


def _address(text: str) -> str | None:
    text = text.removeprefix(found[0]) if (found := _SCHEME.match(text)) else text
    if "<" in text and text.endswith(">"):
        text = text[text.rfind("<") + 1 : -1].strip()
    return text if _EMAIL.fullmatch(text) else None


def _number(text: str) -> str | None:
    """Return a phone number as typed, without a scheme such as `tel:` before it."""
    text = text.removeprefix(found[0]) if (found := _SCHEME.match(text)) else text
    digits = sum(char.isdigit() for char in text)
    plain = "".join(str(unicodedata.digit(char)) if char.isdigit() else char for char in text)
    return text if _DIGITS[0] <= digits <= _DIGITS[1] + 2 and _PHONE.fullmatch(plain) else None


def _words(text: str) -> Iterator[Meaning]:
    """Yield the meanings of words that may be ids, which only the stores can confirm."""
    if _UUID.fullmatch(text):
        yield Meaning(MeaningKind.CHANNEL_ID, text.lower())
    elif _HANDLE.fullmatch(text) or _SLACK.fullmatch(text):
        yield Meaning(MeaningKind.CHANNEL_ID, text)
    if _REQUEST.fullmatch(text) or _UUID.fullmatch(text):
        yield Meaning(MeaningKind.REQUEST, text)
    elif _THREAD.fullmatch(text):
        yield Meaning(MeaningKind.THREAD_ID, text)
    if _FULL_NAME.fullmatch(text):
        yield Meaning(MeaningKind.STAFF, text.lower().replace(" ", "."))
    elif _WORD.fullmatch(text):
        yield from _ids(text)
    if _NAME.fullmatch(text) and not _UUID.fullmatch(text):
        yield Meaning(MeaningKind.NAME, text)


def _ids(text: str) -> Iterator[Meaning]:
    """Yield every kind of id that a word may be. Tenant ids are lower-case, but people capitalise them in sentences."""
    if text == text.lower() and not _UUID.fullmatch(text):
        yield Meaning(MeaningKind.STAFF, text)
    yield Meaning(MeaningKind.TENANT, text)
    if text != text.lower() and not _SLACK.fullmatch(text):
        yield Meaning(MeaningKind.TENANT, text.lower())
    yield Meaning(MeaningKind.COMPANY, text)
    yield Meaning(MeaningKind.USER, text)
    if not _UUID.fullmatch(text) and not _SLACK.fullmatch(text):
        yield Meaning(MeaningKind.CHANNEL_ID, text)
