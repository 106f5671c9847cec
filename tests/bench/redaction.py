"""How long redaction takes: payloads of 4 KB, a page of 50 payloads, hostile input of 100 KB.

    python -m tests.bench.redaction [--json] [--against DIRECTORY] [--repeats N]

Payloads are made by a seeded generator, every one different. Each figure is the median of the repeats, in milliseconds.
A payload is one of twenty in a row; "the first" comes after other work, when the processor's caches hold nothing of
redaction. "cold" has an empty memo, "warm" has redacted the same texts before. With --against, the engine of another
checkout is timed in turn with this one, so that both see the same machine.
"""

import argparse
import importlib
import json
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from tests.support.redaction.hostile import hostile_inputs

PAYLOAD, PAGE, PER_PAGE = 4096, 132_000, 50
IN_A_ROW = 20
TARGETS = {"4 KB": 0.3, "page of 50, cold": 15, "page of 50, warm": 1, "hostile": 200}


class Payloads:
    """Audit payloads as JSON, like those that services write; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def harmless(self, size: int) -> str:
        """Steps of an agent: identifiers, times, counts, enums."""
        return self._filled([self._step], size)

    def dense(self, size: int) -> str:
        """Chats, prompts and tool calls; every one holds a phone, an email, an order and a parcel."""
        return self._filled([self._chat, self._lookup, self._prompt], size)

    def usual(self, size: int) -> str:
        """What an audit page shows: harmless steps, hand-offs, and now and then a chat, a prompt or a tool call."""
        return self._filled([self._step, self._handoff, self._lookup, self._step, self._chat, self._prompt], size)

    def _filled(self, makers: list[Callable[[], dict[str, object]]], size: int) -> str:
        entries: list[dict[str, object]] = []
        turn = self._random.randrange(len(makers))
        while len(json.dumps({"events": entries})) < size:
            entries.append(makers[turn % len(makers)]())
            turn += 1
        if len(entries) > 1 and len(json.dumps({"events": entries})) > size * 1.05:
            entries.pop()
        return json.dumps({"events": entries}, ensure_ascii=False)

    def _digits(self, count: int) -> str:
        return "".join(self._random.choices("0123456789", k=count))

    def _hex(self, count: int) -> str:
        return "".join(self._random.choices("0123456789abcdef", k=count))

    def _uuid(self) -> str:
        return str(uuid.UUID(self._hex(32)))

    def _time(self) -> str:
        pick = self._random.randint
        day, clock = f"202{pick(3, 6)}-{pick(1, 12):02}-{pick(1, 28):02}", f"{pick(0, 23):02}:{pick(0, 59):02}"
        return f"{day}T{clock}:{pick(0, 59):02}.{pick(0, 999):03}Z"

    def _email(self) -> str:
        host = self._random.choice(["posteo.net", "mail.pt", "shop.co.uk"])
        return f"{self._random.choice(['nadia', 'pim.k', 'o.weber', 'li'])}{self._digits(3)}@{host}"

    def _phone(self) -> tuple[str, str]:
        digits = self._random.choice(["44", "351", "49", "234", "81"]) + self._digits(9)
        return digits, f"+{digits[:2]} {digits[2:5]} {digits[5:8]} {digits[8:]}"

    def _parcel(self) -> str:
        return self._random.choice(["RX", "JD", "1Z", "KP"]) + self._digits(12)

    def _step(self) -> dict[str, object]:
        number = self._random.randint(1, 60)
        return {
            "eventId": self._uuid(),
            "type": self._random.choice(["agent.step", "routing.decided", "tool.called"]),
            "createdAt": self._time(),
            "seq": number,
            "usage": {
                "prompt_tokens": self._random.randint(300, 9000),
                "total_tokens": self._random.randint(9000, 30000),
            },
            "model": "gpt-4o-2024-08-06",
            "latencyMs": self._random.randint(1000, 9000) / 4,
            "threadId": f"thread_{self._hex(20)}",
            "idempotencyKey": f"evt:rp:conv{number}:msg{number + 3}",
            "hash": self._hex(64),
            "ttl": 1790000000 + number,
            "status": "ok",
            "retry": False,
            "parent": None,
        }

    def _handoff(self) -> dict[str, object]:
        return {
            "action": "handoff.taken_over",
            "actor": {"type": "staff", "id": self._uuid(), "role": "agent"},
            "before": {"mode": "automatic", "team": "returns", "confidence": 0.82, "risk_flags": []},
            "after": {"mode": "manual", "team": "support", "confidence": None, "risk_flags": ["chargeback", "legal"]},
            "reason": "the customer asked for a person",
            "at": self._time(),
            "version": self._random.randint(1, 40),
        }

    def _chat(self) -> dict[str, object]:
        digits, written = self._phone()
        text = (
            f"Hello, order #{self._digits(6)} has not come, write to {self._email()} or ring {written}. "
            f"Tracking {self._parcel()}"
        )
        return {
            "eventId": self._uuid(),
            "ts": self._time(),
            "conversationId": f"ci-{self._hex(3)}-001#pi-{self._hex(3)}-001#req{self._digits(2)}#{digits}",
            "message": {"from": digits, "text": text},
            "usage": {"tokens": self._random.randint(200, 4000)},
        }

    def _prompt(self) -> dict[str, object]:
        text = (
            f"Customer (tel {self._phone()[1]}) asked:\nwhere is my parcel {self._parcel()}?\n"
            f"Email on file: {self._email()}\nOrder: {self._digits(6)}"
        )
        return {"eventId": self._uuid(), "at": self._time(), "prompt": text, "model": "gpt-4o-2024-08-06"}

    def _lookup(self) -> dict[str, object]:
        email, parcel = self._email(), self._parcel()
        customer = {
            "first_name": "Ingeborg",
            "last_name": "Vandersteen",
            "phone": self._phone()[1],
            "email": email,
            "default_address": {"address1": "7 Quay Street", "city": "Fowey", "zip": "PL23 1AT"},
        }
        sent = {"tracking_number": parcel, "tracking_url": f"https://track.example.net/{parcel}"}
        return {
            "eventId": self._uuid(),
            "at": self._time(),
            "tool": "lookup_order",
            "args": json.dumps({"order_number": self._digits(6), "email": email}),
            "result": {"customer": customer, "fulfillments": [sent]},
            "ms": 640.25,
        }


def engine_of(directory: Path) -> ModuleType:
    """The package console.redaction of a checkout, apart from every other one."""
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "console"}
    sys.path.insert(0, str(directory))
    try:
        engine = importlib.import_module("console.redaction")
    finally:
        sys.path.remove(str(directory))
        for name in [name for name in sys.modules if name.split(".")[0] == "console"]:
            del sys.modules[name]
        sys.modules.update(ours)
    return engine


def milliseconds(engine: ModuleType, texts: list[str], cold: bool) -> float:
    """Redact the texts once."""
    if cold:
        engine.documents._cached.clear()
    start = time.perf_counter()
    for text in texts:
        engine.redact(text)
    return (time.perf_counter() - start) * 1000


def measured(engines: dict[str, ModuleType], repeats: int) -> dict[str, dict[str, float]]:
    """Row → engine → median milliseconds. Engines take turns, and every repeat has texts that none has seen."""
    times: dict[str, dict[str, list[float]]] = {}

    def note(row: str, *turns: list[str], cold: bool = True) -> None:
        """A figure for each of the turns, which an engine has one after another."""
        for name, engine in engines.items():
            figures = [milliseconds(engine, texts, cold) for texts in turns]
            times.setdefault(row, {}).setdefault(name, []).extend(figures)

    for repeat in range(repeats):
        payloads = Payloads(repeat)
        for kind in ("harmless", "usual", "dense"):
            make = getattr(payloads, kind)
            note(f"the first 4 KB payload, {kind}", [make(PAYLOAD)])
            note(f"4 KB payload, {kind}", *([make(PAYLOAD)] for _ in range(IN_A_ROW)))
            page = [make(PAGE // PER_PAGE) for _ in range(PER_PAGE)]
            note(f"page of 50, cold, {kind}", page)
            note(f"page of 50, warm, {kind}", page, cold=False)
    for name, text in hostile_inputs().items():
        for _ in range(3):
            note(f"hostile {name}", [text])
    return {row: {name: statistics.median(values) for name, values in by.items()} for row, by in times.items()}


def slowest(figures: dict[str, dict[str, float]], name: str, count: int) -> list[str]:
    """The hostile rows that take longest."""
    rows = [row for row in figures if row.startswith("hostile")]
    return sorted(rows, key=lambda row: -figures[row][name])[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")
    parser.add_argument("--against", type=Path, help="a directory that holds another console/redaction")
    parser.add_argument("--repeats", type=int, default=15)
    asked = parser.parse_args()
    engines = {"now": engine_of(Path(__file__).absolute().parents[2])}
    if asked.against:
        engines = {"before": engine_of(asked.against), **engines}
    figures = measured(engines, asked.repeats)
    if asked.json:
        print(json.dumps(figures, indent=1, ensure_ascii=False))
        return
    print(f"{'milliseconds, medians':60}", *(f"{name:>9}" for name in engines), "   target", sep="")
    hostile = slowest(figures, "now", 12)
    for row in [row for row in figures if not row.startswith("hostile")] + hostile:
        target = next((limit for beginning, limit in TARGETS.items() if row.startswith(beginning)), "")
        print(f"{row[:58]:60}", *(f"{figures[row][name]:9.3f}" for name in engines), f"{target:>9}", sep="")


if __name__ == "__main__":
    main()
