"""Searches for personal data, which are recorded before the result is shown.

Those of people who may not reveal it are limited, and need a reason: people who see only masks could otherwise find out
whose number it is by typing guesses. A refused search reads nothing, so that neither its answer nor its timing
distinguishes a hit from a miss. Those of others are recorded once an hour for each person they look for. Reveals are
limited here, too.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from django import forms
from django.conf import settings

from console.errors import ConsoleError, TableMissing
from console.forms import NO_REASON, LookupForm
from console.permissions import Permission, Staff
from console.redaction import redact
from console.redaction.masks import digits_of
from console.refs import keyed_pseudonym
from console.search.finders import with_country_codes
from console.search.meanings import MeaningKind, normalized_text, recognise
from console.staff.throttling import TooManyAttempts, count_use
from console.trail.actions import Action, Result
from console.trail.recording import Actor, NoTrail, TrailEntry, record, record_counted, record_once, staff_trail

logger = logging.getLogger(__name__)
T = TypeVar("T")

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Searched only as a whole part of a conversation's id, which no number of a person is.
_REQUEST_ID = re.compile(r"req[-_][0-9a-f]{8}", re.ASCII | re.IGNORECASE)
# Kinds that are always personal. A chatbot user's digest is of a phone number, so anybody can compute it.
_PERSONAL = frozenset({MeaningKind.PHONE, MeaningKind.EMAIL, MeaningKind.SESSION, MeaningKind.DIGEST})


def is_personal(typed: str) -> bool:
    """Return whether a text is or contains what pages would mask: a number, an address, or an id made of one."""
    if _REQUEST_ID.fullmatch(normalized_text(typed)):
        return False
    return any(meaning.kind in _PERSONAL for meaning in recognise(typed)) or redact(typed) != typed


def needs_reason(typed: str, staff: Staff) -> bool:
    """Return whether this person must give a reason before searching for this text."""
    return not staff.can(Permission.PII_REVEAL) and is_personal(typed)


def personal_in(form: LookupForm) -> str:
    """Return the personal data in a valid look-up, whose search has to be recorded; "" if there is none."""
    typed = {name: str(form.cleaned_data.get(name, "")) for name in form.base_fields}
    if form.of_person is not None:
        return " ".join(typed[name] for name in form.of_person)
    return next((each for each in typed.values() if is_personal(each)), "")


def has_reason(form: forms.Form, staff: Staff) -> bool:
    """Return whether a valid form of a search for personal data has the reason it needs; if not, add an error to it."""
    if staff.can(Permission.PII_REVEAL) or form.cleaned_data.get("reason"):
        return True
    form.add_error("reason", NO_REASON)
    return False


def record_search(typed: str, form: forms.Form, staff: Staff, search: Callable[[], T], hits: Callable[[T], int]) -> T:
    """Run `search`, record that this person looked for `typed` with the form's reason, and return the result.

    For people who may not reveal personal data, raises `TooManyAttempts` before anything is read, and `NoTrail`. Raises
    the errors of `search` and the store's errors; it returns no result that could be recorded and is not.
    """
    may_reveal = staff.can(Permission.PII_REVEAL)
    if not may_reveal:
        _count_search(staff)
    found = search()
    meanings = recognise(typed)
    person, *tried_as = _pseudonyms_of(typed, staff)
    payload = {
        "person": person,
        # The likeliest meaning.
        "looked_for": meanings[0].kind.value if meanings else "what a person is known by",
        "hits": hits(found),
    } | ({"tried_as": tried_as} if tried_as else {})
    try:
        if may_reveal:
            record_once(_entry(staff, payload=payload), f"search.{person}", HOUR)
        else:
            record(_entry(staff, payload=payload | {"reason": form.cleaned_data["reason"]}))
    except TableMissing as missing:
        if may_reveal:
            return found
        raise NoTrail("You can search for personal data", "you cannot search here") from missing
    return found


def pseudonym_of(typed: str) -> str:
    """Return the keyed pseudonym of a person by number or address: the same for all its usual spellings."""
    for meaning in recognise(typed):
        if meaning.kind is MeaningKind.PHONE:
            international = meaning.value.lstrip("( ").startswith(("+", "00"))
            digits = digits_of(re.sub(r"\(0\)", "", meaning.value) if international else meaning.value)
            return keyed_pseudonym(f"+{digits.removeprefix('00')}")
        if meaning.kind is MeaningKind.EMAIL:
            return keyed_pseudonym(meaning.value.lower())
    return keyed_pseudonym(normalized_text(typed))


def _pseudonyms_of(typed: str, staff: Staff) -> tuple[str, ...]:
    """Return `pseudonym_of`, and those of a number without country code with each code that searches try."""
    meanings = recognise(typed)
    _, tried = with_country_codes(meanings, staff)
    return tuple(dict.fromkeys((pseudonym_of(typed), *(pseudonym_of(each.value) for each in tried[len(meanings) :]))))


def count_reveal(staff: Staff, entry: TrailEntry) -> None:
    """Count one reveal before it is made; `entry` is the one that will record it.

    Raises `TooManyAttempts`, which is recorded too, and the store's errors.
    """
    limit = settings.REVEALS_PER_DAY
    said = f"You can reveal {limit} people a day."
    _count("reveals", limit, DAY, said, replace(entry, payload={}, result=f"{Result.FAILED}: too many reveals"))


def _count_search(staff: Staff) -> None:
    limit = settings.PERSONAL_SEARCHES_PER_HOUR
    said = f"You can make {limit} searches for personal data an hour."
    _count("searches", limit, HOUR, said, _entry(staff, result=f"{Result.FAILED}: too many searches"))


def _count(kind: str, limit: int, period: timedelta, said: str, refused: TrailEntry) -> None:
    """Count one use by the actor of `refused`; over the limit, record `refused` and raise `TooManyAttempts`."""
    who = refused.actor.name
    try:
        count_use(kind, who, limit, period, said)
    except TooManyAttempts:
        try:
            record_counted(refused, f"refused.{who}")
        except ConsoleError as error:
            # Refuse even if the refusal cannot be recorded.
            logger.error("A refusal could not be recorded: %s", type(error).__name__)
        raise


def _entry(staff: Staff, **payload: Any) -> TrailEntry:
    return TrailEntry(staff_trail(staff.username), Action.PERSON_SEARCHED, Actor.of(staff), **payload)
