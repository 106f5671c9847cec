"""When each message of a demo conversation was written, relative to the moment it ends or a human was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from conversations.demo.script import ASSISTANT, Step


@dataclass(frozen=True, slots=True)
class Said:
    """One message with its instant. `prompt` marks the instruction that opened the conversation."""

    role: str
    text: str
    at: datetime
    prompt: bool = False


def backward(steps: Sequence[Step], end: datetime, medium: str, rng: Random) -> list[Said]:
    """Messages of which the last was written at `end`."""
    said: list[Said] = []
    at = end
    for step, before in reversed(_with_before(steps)):
        said.append(Said(step.kind, step.text, at))
        at -= gap(before, step.kind, medium, rng)
    return said[::-1]


def forward(steps: Sequence[Step], begin: datetime, end: datetime, medium: str, rng: Random) -> list[Said]:
    """Messages after `begin`; their gaps are shortened where they would not end before `end`."""
    pairs = _with_before(steps)
    gaps = [gap(before, step.kind, medium, rng).total_seconds() for step, before in pairs]
    room = max(1.0, (end - begin).total_seconds() * 0.9)
    scale = min(1.0, room / sum(gaps)) if gaps else 1.0
    said, at = [], begin
    for (step, _), seconds in zip(pairs, gaps, strict=True):
        at += timedelta(seconds=seconds * scale)
        said.append(Said(step.kind, step.text, at))
    return said


def _with_before(steps: Sequence[Step]) -> list[tuple[Step, str]]:
    """The messages, each with the kind of the step before it: after a function call the assistant goes on at once."""
    kinds = ["", *(step.kind for step in steps)]
    return [(step, before) for step, before in zip(steps, kinds, strict=False) if step.is_message]


def gap(before: str, after: str, medium: str, rng: Random) -> timedelta:
    """How long the one who speaks after `before` takes: seconds for the assistant, minutes to hours for people."""
    if after == ASSISTANT:
        if before == ASSISTANT:  # it comes back with news
            return timedelta(hours=rng.uniform(2, 26), seconds=rng.random() * 60)
        return timedelta(seconds=rng.uniform(25, 110) if medium == "email" else rng.uniform(3, 16))
    if medium == "email":
        return timedelta(hours=rng.uniform(1, 22), seconds=rng.random() * 60)
    if before == after:
        return timedelta(seconds=rng.uniform(6, 140))
    if rng.random() < 0.1:
        return timedelta(hours=rng.uniform(2, 20))
    return timedelta(seconds=min(3600.0, 15 + rng.expovariate(1 / 150)))
