"""The usual conversations of the demo: of every project, status and language, some long, some near or past their end."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import cycle
from random import Random

from console.clock import to_epoch
from conversations.demo.content import (
    asia,
    cucumber_english,
    europe,
    long_threads,
    lumen_english,
    northwind_english,
    right_to_left,
)
from conversations.demo.conversation import Draft, Item, channel_for, draft, prompt, to_item
from conversations.demo.drift import KINDS, drift
from conversations.demo.people import Population
from conversations.demo.script import ASSISTANT, CALL, USER, Dialogue, Step, fill, parse
from conversations.demo.timeline import Said, backward

# How many conversations are in which language; all others are in English.
_LANGUAGES = {
    "ar": 11, "he": 9, "es": 11, "fr": 10, "de": 10, "pl": 11, "pt": 8, "hi": 8, "zh": 8, "ja": 7, "ur": 7, "tr": 6,
}  # fmt: skip
_STATUSES = {
    "completed": 40, "awaiting_reply": 20, "reply_sent": 13, "initial_message_sent": 13, "failed": 8, "processing": 6,
}  # fmt: skip
_EXPIRED, _NEAR_END, _WITHOUT_TTL = 9, 12, 10


def build(count: int, population: Population, now: datetime, rng: Random) -> Iterator[Item]:
    """That many conversations that follow the schema."""
    texts = (
        module.TEXT for module in (cucumber_english, northwind_english, lumen_english, europe, right_to_left, asia)
    )
    dialogues = [dialogue for text in texts for dialogue in parse(text)]
    rng.shuffle(dialogues)
    spoken = {
        language: cycle([each for each in dialogues if each.language == language]) for language in (*_LANGUAGES, "en")
    }
    languages = [language for language, number in _LANGUAGES.items() for _ in range(number)]
    languages += ["en"] * (count - len(languages))
    rng.shuffle(languages)
    items = [_one(next(spoken[language]), population, now, rng) for language in languages]
    _set_ends([item for item in items if item["conversation_status"] == "completed"], now, rng)
    yield from items


def build_drifted(population: Population, now: datetime, rng: Random) -> Iterator[Item]:
    """One conversation of each kind of drift."""
    dialogues = [each for each in parse(northwind_english.TEXT) + parse(lumen_english.TEXT) if each.medium == "chat"]
    for kind, dialogue in zip(KINDS, rng.sample(dialogues, len(KINDS)), strict=True):
        each = _draft(dialogue, population, "awaiting_reply", now - timedelta(hours=rng.uniform(1, 90)), rng)
        yield drift(to_item(each, now, rng), kind, now)


def build_long(population: Population, now: datetime, rng: Random) -> Iterator[Item]:
    """Five conversations of 150 to some 390 messages."""
    plans = (
        ("pi-lum-aft", "whatsapp", timedelta(hours=3)),
        ("pi-nwe-out", "sms", timedelta(days=2)),
        ("pi-nwe-mtr", "whatsapp", timedelta(days=1)),
        ("pi-cuc-int", "whatsapp", timedelta(hours=9)),
        ("pi-nwe-mtr", "sms", timedelta(days=4)),
    )
    for place, (project_id, channel, ago) in enumerate(plans):
        person = population.next("en")
        each = draft(project_id, person, channel, "awaiting_reply" if place else "reply_sent", now - ago, rng)
        lines = list(
            (
                long_threads.aligner_diary(person.first, 130, rng),
                long_threads.storm_night(person.first, each.facts["postcode"], rng),
                long_threads.weekly_readings(person.first, each.facts["meter_serial"], 72, rng),
                long_threads.hiring_round(person.first, rng),
                long_threads.weekly_readings(person.first, each.facts["meter_serial"], 39, rng),
            )[place]
        )
        at = now - ago - sum((gap for gap, _, _ in lines), timedelta())
        for gap, role, text in lines:
            at += gap
            each.said.append(Said(role, text, at))
        each.said.insert(0, prompt(each, each.said[0].at))
        yield to_item(each, now, rng)


def _one(dialogue: Dialogue, population: Population, now: datetime, rng: Random) -> Item:
    status = rng.choices(list(_STATUSES), list(_STATUSES.values()))[0]
    age = _age(status, rng)
    at = now - age
    if age > timedelta(days=1):  # people mostly write by day
        at = at.replace(hour=rng.randint(7, 20))
    return to_item(_draft(dialogue, population, status, at, rng), now, rng)


def _draft(dialogue: Dialogue, population: Population, status: str, at: datetime, rng: Random) -> Draft:
    person = population.next(dialogue.language)
    each = draft(dialogue.project_id, person, channel_for(dialogue.medium, dialogue.project_id, rng), status, at, rng)
    steps = _until(status, fill(dialogue.steps, each.facts, rng), rng)
    each.call = next((step.text for step in reversed(steps) if step.kind == CALL), None)
    each.said = backward(steps, at, dialogue.medium, rng)
    if each.said and each.said[0].role == ASSISTANT and rng.random() < 0.8:
        each.said.insert(0, prompt(each, each.said[0].at))
    elif not each.said:
        each.created = at
        if rng.random() < 0.5:
            each.said = [prompt(each, at + timedelta(seconds=5))]
    return each


def _until(status: str, steps: list[Step], rng: Random) -> list[Step]:
    """How far a conversation of that status has come. One that failed, or has just begun, holds nothing said."""
    if status == "completed":
        return steps
    answers = [place for place, step in enumerate(steps) if step.kind == ASSISTANT]
    if status == "failed":
        return []
    if status == "initial_message_sent":
        return steps[: answers[0] + 1]
    if status == "processing":
        questions = [place for place, step in enumerate(steps) if step.kind == USER]
        return [] if rng.random() < 0.5 else steps[: rng.choice(questions) + 1]
    return steps[: rng.choice(answers[1:]) + 1]


def _age(status: str, rng: Random) -> timedelta:
    """How long ago the last update was: half of them within three days, a tail of 80 days."""
    if status == "processing" and rng.random() < 0.8:
        return timedelta(seconds=rng.uniform(2, 400))
    draw = rng.random()
    if draw < 0.25:
        return timedelta(minutes=rng.uniform(3, 1440))
    if draw < 0.65:
        return timedelta(days=rng.uniform(1, 7))
    return timedelta(days=rng.uniform(7, 30) if draw < 0.9 else rng.uniform(30, 80))


def _set_ends(items: list[Item], now: datetime, rng: Random) -> None:
    """Give some items a TTL that is past, some one of the next hours, and some none."""
    chosen = rng.sample(items, _EXPIRED + _NEAR_END + _WITHOUT_TTL)
    for item in chosen[:_EXPIRED]:
        item["ttl"] = to_epoch(now - timedelta(minutes=rng.uniform(1, 2700)))
    for item in chosen[_EXPIRED : _EXPIRED + _NEAR_END]:
        item["ttl"] = to_epoch(now + timedelta(minutes=rng.uniform(90, 2000)))
    for item in chosen[_EXPIRED + _NEAR_END :]:
        del item["ttl"]
