"""A parser for the demo's dialogues: text files in `dialogues/`, in the format that the README there describes."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("dialogues")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_SPAN = re.compile(r"-?([0-9]+[dhms])+")


class DialogueError(ValueError):
    """A line that cannot be parsed. The message begins with file and line."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")


@dataclass(slots=True)
class Turn:
    """One message, or one event between messages. `more` has further attributes of the stored message."""

    kind: str
    text: str
    place: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ago(self) -> timedelta:
        """How long ago it happened, from the first word of the text. Raises `DialogueError`."""
        return span(self.text.split(" ", 1)[0], self.place)

    def words(self, count: int) -> list[str]:
        """Return the first `count` words of the text, then the rest ("" if there is none). Raises `DialogueError`."""
        words = self.text.split(" ", count)
        if len(words) < count:
            raise DialogueError(self.place, f"“{self.kind}” needs {count} words, such as “{self.kind}: 2h amira”")
        return words if len(words) > count else [*words, ""]

    def json(self) -> Any:
        """Parse the text as JSON. Raises `DialogueError`."""
        return _json(self.text, self.place, object)


@dataclass(slots=True)
class Dialogue:
    """One dialogue: the words of its first line, its headers and its turns. `place` is "FILE:LINE"."""

    words: tuple[str, ...]
    place: str
    headers: dict[str, str] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)

    def get(self, name: str, default: str = "") -> str:
        """Return a header, or the default if it is absent."""
        return self.headers.get(name, default)

    def needed(self, name: str) -> str:
        """Return a required header. Raises `DialogueError`."""
        if name not in self.headers:
            raise DialogueError(self.place, f"the dialogue has no “{name}:” line")
        return self.headers[name]

    def span(self, name: str) -> timedelta:
        """Return a required header as a time span. Raises `DialogueError`."""
        return span(self.needed(name), self.place)

    def json(self, name: str) -> Any:
        """Parse a header as JSON; {} if it is absent. Raises `DialogueError`."""
        return _json(self.get(name, "{}"), self.place, object)

    def as_written(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return the item with the headers `set` and `unset` applied, which imitate writers that drift from the schema.

        Keys of an index may only be unset: DynamoDB refuses them with another type.
        """
        left_out = self.get("unset").split()
        return {name: value for name, value in (item | self.json("set")).items() if name not in left_out}


def span(text: str, place: str) -> timedelta:
    """Parse a time span such as `3d4h`, `90m` or `-40m`. Raises `DialogueError`."""
    if not _SPAN.fullmatch(text):
        raise DialogueError(place, f"“{text}” is not a time span such as 3d4h, 90m or -40m")
    parts: Mapping[str, int] = {_UNITS[unit]: int(number) for number, unit in re.findall(r"([0-9]+)([dhms])", text)}
    return timedelta(**parts) * (-1 if text.startswith("-") else 1)


def read(name: str, words: int, headers: Collection[str], kinds: Collection[str]) -> list[Dialogue]:
    """Return the dialogues of `dialogues/NAME.txt`. Raises `DialogueError`.

    `words` is the number of words in the first line of each; `headers` and `kinds` are the allowed headers and turns.
    """
    path = FOLDER / f"{name}.txt"
    return list(parse(path.read_text(encoding="utf-8"), path.name, words, headers, kinds))


def parse(text: str, file: str, words: int, headers: Collection[str], kinds: Collection[str]) -> Iterator[Dialogue]:
    """Parse dialogues as `read` does, from a text; `file` is its name in error messages."""
    dialogue: Dialogue | None = None
    # Not `splitlines`, which also splits at other separators that a message may contain.
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{file}:{number}"
        if line.startswith("=== "):
            if dialogue is not None:
                yield _whole(dialogue)
            dialogue = Dialogue(tuple(line.split()[1:]), place)
            if len(dialogue.words) != words:
                raise DialogueError(place, f"“===” is followed by {words} words, not {len(dialogue.words)}")
        elif line.startswith("#"):
            continue
        elif dialogue is None:
            if line.strip():
                raise DialogueError(place, "a file begins with a line “=== …”")
        else:
            _take(line, place, dialogue, headers, kinds)
    if dialogue is not None:
        yield _whole(dialogue)


def _take(line: str, place: str, dialogue: Dialogue, headers: Collection[str], kinds: Collection[str]) -> None:
    """Process one line: blank, a further line of a message, a header, a turn, or attributes of the last turn."""
    turns = dialogue.turns
    if not line.strip() or line.startswith("  "):
        if turns:
            turns[-1].text += f"\n{line[2:].rstrip()}"
        elif line.strip():
            raise DialogueError(place, "an indented line goes on with a message, and there is none before it")
        return
    name, colon, rest = line.partition(":")
    if not colon or line[0] == " ":
        raise DialogueError(
            place, f"“{line.strip()}” is not “name: text”; further lines of a message are indented by two"
        )
    if name == "with" and turns:
        turns[-1].more |= _json(rest, place, dict)
    elif name in headers and not turns:
        if name in dialogue.headers:
            raise DialogueError(place, f"the dialogue has two “{name}:” lines")
        dialogue.headers[name] = rest.strip()
    elif name in kinds:
        turns.append(Turn(name, rest.strip(), place))
    else:
        known = ", ".join(sorted(kinds if turns else {*headers, *kinds}))
        raise DialogueError(place, f"“{name}” is not known here; known are {known}")


def _whole(dialogue: Dialogue) -> Dialogue:
    for turn in dialogue.turns:
        turn.text = turn.text.strip()
    return dialogue


def _json(text: str, place: str, kind: type) -> Any:
    try:
        value = json.loads(text, parse_float=Decimal, object_hook=_set_or_map)
    except (ValueError, TypeError) as error:
        raise DialogueError(place, f"not JSON: {error}") from None
    if not isinstance(value, kind):
        raise DialogueError(place, "“with:” takes a JSON object")
    return value


def _set_or_map(pairs: dict[str, Any]) -> Any:
    """Convert `{"SS": ["a", "b"]}`, or `NS` for numbers, to a set, which JSON does not have."""
    return set(*pairs.values()) if pairs.keys() in ({"SS"}, {"NS"}) else pairs
