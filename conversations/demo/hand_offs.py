"""Conversations that wait for a human, are held by a colleague, or came back to the assistant."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import takewhile
from random import Random

from console.clock import to_epoch
from conversations.demo.content import taken, waiting
from conversations.demo.conversation import Draft, Item, channel_for, draft, prompt, to_item
from conversations.demo.people import Population
from conversations.demo.script import BACK, CALL, HUMAN, TAKEN, Dialogue, Step, fill, parse
from conversations.demo.timeline import backward, forward
from conversations.demo.trail import HandOffTrail, Record

# What Amira acts on is of the two companies in her scope; what is of Lumen is for Tom, and for Ada, who may do all.
AMIRA, TOM, ADA = "amira.haddad", "tom.becker", "ada.admin"

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# How long each dialogue of `content.waiting` waits, in its order: what cannot wait has not waited long.
_WAITS = (
    3.4 * _DAY, 4 * _MINUTE, 11 * _MINUTE, 27 * _HOUR, 8 * _HOUR, 6 * _DAY, 4.5 * _DAY, 46 * _HOUR, 44 * _MINUTE,
    21 * _HOUR, 7 * _MINUTE, 5.6 * _HOUR, 2.6 * _DAY, 34 * _HOUR, 58 * _MINUTE, 16 * _MINUTE, 11 * _HOUR, 15 * _HOUR,
    23 * _MINUTE, 140 * _MINUTE, 31 * _MINUTE, 190 * _MINUTE, 260 * _MINUTE, 75 * _MINUTE, 2 * _MINUTE, 100 * _MINUTE,
)  # fmt: skip
_EXPIRED_WAIT = 9  # this dialogue waits a second time, in an item past its TTL
_RELEASED = {
    0: (
        AMIRA,
        "Meter point numbers are swapped in the network data, ticket with the operator is open. Needs a call to the customer.",
    ),
    3: (TOM, "She would rather talk to a woman. Free after 4 pm."),
    7: (TOM, "Practice manager is back tomorrow, please remind her."),
}
_REQUESTED = {13: TOM, 16: AMIRA}

# (waited before the take, held since, by whom), in the order of `content.taken.HELD`
_HELD = (
    (12 * _MINUTE, 18 * _MINUTE, AMIRA),
    (6 * _MINUTE, 40 * _MINUTE, TOM),
    (3 * _HOUR, 53 * _HOUR, AMIRA),
    (35 * _MINUTE, 3 * _HOUR, TOM),
    (1 * _HOUR, 5 * _HOUR, AMIRA),
    (4 * _HOUR, 26 * _HOUR, TOM),
    (2 * _HOUR, 76 * _HOUR, AMIRA),
    (9 * _MINUTE, 55 * _MINUTE, TOM),
)
_LOST_RACE, _FROM_COLLEAGUE, _SECOND_HOLDER, _OVERRIDDEN = 3, 5, 6, 7
# After this one the generator is moved on by an action's id, so that conversations after it keep theirs.
_MOVED_ON = 1

# Which of those that were handed back had called the customer.
_CALLED_BACK = (0, 1, 3, 4)
# (waited before the take, held for, handed back ago, by whom, note), in the order of `content.taken.HANDED_BACK`
_HANDED_BACK = (
    (14 * _MINUTE, 25 * _MINUTE, 2 * _HOUR, AMIRA, "Payment found under the old account number; account is clear."),
    (
        5 * _MINUTE,
        9 * _MINUTE,
        20 * _HOUR,
        TOM,
        "Ground-floor room exists in every practice, ask reception for room 1.",
    ),
    (2 * _HOUR, 50 * _MINUTE, 30 * _HOUR, TOM, "Client promised not to move it again."),
    (40 * _MINUTE, 12 * _MINUTE, 50 * _HOUR, AMIRA, "Last digit is after the point on this meter type."),
    (3 * _HOUR, 70 * _MINUTE, 76 * _HOUR, TOM, "Polish contract is in the document store now."),
    (7 * _HOUR, 20 * _HOUR, 4 * _DAY, TOM, "Statutory declaration accepted by compliance."),
    (20 * _MINUTE, 100 * _MINUTE, 5 * _DAY, AMIRA, "Generator delivered; claim form sent."),
)


def build(population: Population, now: datetime, rng: Random) -> Iterator[tuple[Item, list[Record], datetime]]:
    """Every conversation with a hand-off: item, its records, and when the human was asked for."""
    dialogues = parse(waiting.TEXT)
    for place, (dialogue, wait) in enumerate(zip(dialogues, _WAITS, strict=True)):
        yield _waiting(place, dialogue, population, now - wait, now, rng)
    yield _expired(dialogues[_EXPIRED_WAIT], population, now, rng)
    for place, dialogue in enumerate(parse(taken.HELD)):
        yield _held(place, dialogue, population, now, rng)
    for place, dialogue in enumerate(parse(taken.HANDED_BACK)):
        yield _handed_back(place, dialogue, population, now, rng)


def _waiting(
    place: int, dialogue: Dialogue, population: Population, asked: datetime, now: datetime, rng: Random
) -> tuple[Item, list[Record], datetime]:
    each, steps = _begin(dialogue, population, asked, rng)
    # Later messages come early in the wait: where nobody set a time, the last update is all that tells how long it is.
    each.said += forward(_after(steps, HUMAN), asked, asked + 0.15 * (now - asked), dialogue.medium, rng)
    item = to_item(each, now, rng)
    _flag(item, steps)
    trail = HandOffTrail(item, rng)
    if place in _RELEASED:
        agent, note = _RELEASED[place]
        trail.platform_asked(asked + timedelta(seconds=2))
        trail.take(agent, asked + 0.2 * (now - asked))
        trail.release(agent, note, asked + 0.3 * (now - asked))
    elif place in _REQUESTED:
        trail.request(_REQUESTED[place], item["hand_off_to_human_reason"], asked)
    return item, trail.records, asked


def _expired(
    dialogue: Dialogue, population: Population, now: datetime, rng: Random
) -> tuple[Item, list[Record], datetime]:
    item, records, asked = _waiting(-1, dialogue, population, now - 20 * _HOUR, now, rng)
    item["ttl"] = to_epoch(now - 40 * _MINUTE)
    return item, records, asked


def _held(
    place: int, dialogue: Dialogue, population: Population, now: datetime, rng: Random
) -> tuple[Item, list[Record], datetime]:
    wait, since, agent = _HELD[place]
    took = now - since
    asked = took - wait
    each, steps = _begin(dialogue, population, asked, rng)
    each.said += forward(_after(steps, HUMAN, TAKEN), asked, took, dialogue.medium, rng)
    each.said += forward(_after(steps, TAKEN), took, now, dialogue.medium, rng)
    item = to_item(each, now, rng)
    _flag(item, steps)
    trail = HandOffTrail(item, rng)
    trail.platform_asked(asked + timedelta(seconds=2))
    if place == _FROM_COLLEAGUE:
        trail.take(ADA, took)
        trail.take_from_colleague(agent, took + 3 * _HOUR)
        item["hand_off_note"] = "Finance partner answers by email only; case number is in the shared mailbox."
    elif place == _SECOND_HOLDER:
        trail.take(TOM, took)
        trail.release(
            TOM,
            "Shift ends. Registration is corrected, the claim is still to be re-opened as business.",
            took + 40 * _MINUTE,
        )
        trail.take(agent, took + 90 * _MINUTE)
    else:
        previous = item.get("hand_off_action_id")
        trail.take(agent, took)
        if place == _LOST_RACE:
            trail.take_too_late(AMIRA, agent, previous, took + timedelta(milliseconds=380))
        if place == _MOVED_ON:
            rng.getrandbits(128)
    if place == _OVERRIDDEN:
        trail.override()
    return item, trail.records, asked


def _handed_back(
    place: int, dialogue: Dialogue, population: Population, now: datetime, rng: Random
) -> tuple[Item, list[Record], datetime]:
    wait, held, ago, agent, note = _HANDED_BACK[place]
    back = now - ago
    took = back - held
    asked = took - wait
    each, steps = _begin(dialogue, population, asked, rng)
    each.said += forward(_after(steps, HUMAN, TAKEN), asked, took, dialogue.medium, rng)
    each.said += forward(_after(steps, TAKEN, BACK), took, back, dialogue.medium, rng)
    each.said += forward(_after(steps, BACK), back, now, dialogue.medium, rng)
    each.status = "completed" if place % 3 else "awaiting_reply"
    each.call = next((step.text for step in reversed(steps) if step.kind == CALL), None)
    item = to_item(each, now, rng)
    _flag(item, steps)
    trail = HandOffTrail(item, rng)
    trail.platform_asked(asked + timedelta(seconds=2))
    trail.take(agent, took)
    if place in _CALLED_BACK:
        trail.reveal(agent, took + 0.4 * (back - took))
    trail.hand_back(agent, note, back)
    return item, trail.records, asked


def _begin(dialogue: Dialogue, population: Population, asked: datetime, rng: Random) -> tuple[Draft, list[Step]]:
    """The conversation up to the moment when a human was asked for, and all steps with their slots filled."""
    person = population.next(dialogue.language)
    channel = channel_for(dialogue.medium, dialogue.project_id, rng)
    each = draft(dialogue.project_id, person, channel, rng.choice(("awaiting_reply", "reply_sent")), asked, rng)
    steps = fill(dialogue.steps, each.facts, rng)
    before = list(takewhile(lambda step: step.kind != HUMAN, steps))
    each.said = backward(before, asked - timedelta(seconds=2), dialogue.medium, rng)
    if before[0].kind != "user":
        each.said.insert(0, prompt(each, each.said[0].at))
    return each, steps


def _after(steps: list[Step], mark: str, until: str = "") -> list[Step]:
    """What comes after one mark, up to another."""
    begin = next(place for place, step in enumerate(steps) if step.kind == mark) + 1
    return list(takewhile(lambda step: step.kind != until, steps[begin:]))


def _flag(item: Item, steps: list[Step]) -> None:
    """What the platform sets when the assistant asks for a human: the flag, and a reason where it gave one."""
    reason = next(step.text for step in steps if step.kind == HUMAN)
    item |= {"hand_off_to_human": True, "hand_off_to_human_reason": reason or None}
