"""Dialogues of the demo: their text format, and filling in names, numbers and references.

A dialogue begins with `=== project language medium` (medium: chat or email). `A:` is the assistant, `U:` the
customer; lines without a mark continue the message. `!call NAME` is a function call of the assistant, `!human
REASON` its request for a human (reason optional), `!taken` a colleague's take-over, `!back` the hand-back.
`{slot}` is filled from the facts of the conversation, `<<a|b>>` is one of the alternatives.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

ASSISTANT, USER, CALL, HUMAN, TAKEN, BACK = "assistant", "user", "call", "human", "taken", "back"
_SPEAKERS = {"A: ": ASSISTANT, "U: ": USER}
_ALTERNATIVES = re.compile(r"<<(.+?)>>")


@dataclass(frozen=True, slots=True)
class Step:
    """One message, or one thing that happens between messages (then `text` is the call's name or the reason)."""

    kind: str
    text: str

    @property
    def is_message(self) -> bool:
        """Whether this is something said."""
        return self.kind in (ASSISTANT, USER)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue as written; `medium` is chat or email."""

    project_id: str
    language: str
    medium: str
    steps: tuple[Step, ...]


def parse(text: str) -> list[Dialogue]:
    """The dialogues of a text in the format above. Raises `ValueError` for a line that fits nowhere."""
    return [_dialogue(block) for block in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]]


def _dialogue(block: str) -> Dialogue:
    head, _, body = block.partition("\n")
    project_id, language, medium = head.split()
    steps: list[Step] = []
    for line in body.rstrip().split("\n"):
        if line[:3] in _SPEAKERS:
            steps.append(Step(_SPEAKERS[line[:3]], line[3:]))
        elif line.startswith("!"):
            kind, _, rest = line[1:].partition(" ")
            if kind not in (CALL, HUMAN, TAKEN, BACK):
                raise ValueError(f"unknown mark in a dialogue of {head}: {line}")
            steps.append(Step(kind, rest.strip()))
        elif steps and steps[-1].is_message:
            steps[-1] = Step(steps[-1].kind, f"{steps[-1].text}\n{line}")
        else:
            raise ValueError(f"a line of nobody in a dialogue of {head}: {line}")
    return Dialogue(project_id, language, medium, tuple(Step(step.kind, step.text.strip()) for step in steps))


def fill(steps: Iterable[Step], facts: Mapping[str, str], rng: Random) -> list[Step]:
    """The steps with one alternative chosen and every slot filled. Raises `KeyError` for a slot without a fact."""
    return [
        Step(step.kind, _ALTERNATIVES.sub(lambda match: rng.choice(match[1].split("|")), step.text).format_map(facts))
        for step in steps
    ]
