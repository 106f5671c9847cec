"""Threads of the demo: what colleagues ask the assistant at their companies, and what several writers left behind."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from console.clock import to_epoch
from conversations.demo.content import assistant_threads as content
from conversations.demo.content.assistant_threads import ASSISTANT, USER, Said

Item = dict[str, Any]
CUCUMBER, NORTHWIND, LUMEN, OUTLOCKS = "ci-cuc-001", "ci-nwe-002", "ci-lum-003", "outlocks"
# As long as the assistant keeps a thread after its last message; temporary ones go within a day.
KEPT, KEPT_FOR_NOW = timedelta(days=90), timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Plan:
    """A thread: `base` is its user's key, `ago` how long since its last message.

    `apart`: its metadata lies under the thread's own key, as the newer writer has it; else under its user's.
    """

    base: str
    thread_id: str
    title: str
    said: list[Said]
    ago: timedelta
    origin: str = "web"
    temporary: bool = False
    apart: bool = True
    between: timedelta = timedelta(seconds=70)
    more: Item = field(default_factory=dict)


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Every item as (table key, item), in the state in which `now` finds them."""
    for plan in _plans():
        yield from (("THREADS", item) for item in _thread(plan, now))
    for item in _drifted(now):
        yield "THREADS", item


def _plans() -> Iterator[Plan]:
    sinead, greta = f"{LUMEN}#leeds#sinead.walsh", f"{LUMEN}#harrogate#greta.holm"
    yusuf, ellen = f"{NORTHWIND}#yusuf.demir", f"{NORTHWIND}#ellen.marsh"
    carol, mark = f"{CUCUMBER}#carol.jennings", f"{CUCUMBER}#temps#mark.osei"
    yield Plan(sinead, "thr-lum-0141", "How often we recall", content.recall(), timedelta(minutes=34), apart=False)
    yield Plan(
        sinead,
        "thr-lum-0138",
        "Cancellations by clinic",
        content.cancellations(),
        timedelta(hours=5),
        "teams",
        apart=False,
    )
    yield Plan(sinead, "thr-lum-0120", "Letter: York closed", content.letter(), timedelta(days=3))
    yield Plan(greta, "thr-lum-0133", "Clinics with opening hours", content.cut_off(), timedelta(days=1), "whatsapp")
    yield Plan(
        greta, "thr-lum-0097", "Letter to patients, first draft", content.letter()[:2], timedelta(days=16), apart=False
    )
    yield Plan(yusuf, "thr-nwe-2210", "October bill of 91.40", content.bill(), timedelta(minutes=9))
    yield Plan(
        yusuf,
        "thr-nwe-2204",
        "Oxygen at home, HG3",
        content.outage(),
        timedelta(hours=11),
        between=timedelta(seconds=25),
    )
    yield Plan(ellen, "thr-nwe-2198", "Meter in a photograph", content.meter(), timedelta(days=2), "web", apart=False)
    yield Plan(
        ellen,
        "thr-nwe-2101",
        "Portfolio: flat by flat",
        content.audit_of_leases(84),
        timedelta(hours=20),
        between=timedelta(minutes=2),
    )
    yield Plan(yusuf, "thr-nwe-2051", "Night rate, what applies", content.bill()[:2], timedelta(days=31), apart=False)
    yield Plan(carol, "thr-cuc-0770", "Marcus Fletcher for the client", content.candidate(), timedelta(minutes=52))
    yield Plan(carol, "thr-cuc-0768", "What references may say", content.references(), timedelta(hours=26), apart=False)
    yield Plan(
        mark, "thr-cuc-0771", "Titles for a job ad", content.advert(), timedelta(hours=2), "slack", temporary=True
    )
    yield Plan(mark, "thr-cuc-0745", "Rozmowa po polsku", content.interview(), timedelta(days=8), "slack")
    yield Plan(
        mark,
        "thr-cuc-0690",
        "Night shifts, wording",
        content.advert()[:2],
        timedelta(hours=20),
        "slack",
        temporary=True,
        apart=False,
    )
    # Past its time; DynamoDB takes up to some days to remove it.
    yield Plan(
        mark, "thr-cuc-0640", "Titles, first try", content.advert()[:2], timedelta(days=2), "slack", temporary=True
    )
    yield Plan(
        f"{OUTLOCKS}#mara", "thr-out-0042", "OUT-1190 in the stand-up", content.standup(), timedelta(hours=7), "slack"
    )
    yield Plan(
        f"{OUTLOCKS}#platform#it",
        "thr-out-0040",
        "",
        [content.user("hi"), content.answer("Hello! What can I do?")],
        timedelta(days=5),
    )


def _thread(plan: Plan, now: datetime) -> Iterator[Item]:
    """A thread's metadata and messages, as the assistant writes them."""
    last = (now - plan.ago).replace(microsecond=0)
    expiry = to_epoch(last + (KEPT_FOR_NOW if plan.temporary else KEPT))
    first = last - plan.between * (len(plan.said) - 1)
    partition = f"{plan.base}#{plan.thread_id}"
    yield {
        "PK": partition if plan.apart else plan.base,
        "SK": f"THREAD#{plan.thread_id}",
        "SKTimestampThread": f"THREAD#{_milliseconds(first):019d}#{plan.thread_id}",
        "ExpiryTime": expiry,
        "org_id": plan.base.split("#")[0],
        "user_id": plan.base.split("#")[-1],
        "origin": plan.origin,
        "is_temporary": plan.temporary,
        "title": plan.title,
        "created_at": _written(first),
        "updated_at": _written(last),
        "user_message_count": sum(role == USER for role, _, _ in plan.said),
        **plan.more,
    }
    for number, (role, said, more) in enumerate(plan.said):
        yield _message(partition, plan.thread_id, number, role, said, first + plan.between * number, expiry) | more


def _message(partition: str, thread_id: str, number: int, role: str, said: Any, at: datetime, expiry: int) -> Item:
    kind = "LLM" if role == ASSISTANT else "MSG"
    message_id = f"{kind.lower()}_{thread_id.removeprefix('thr-').replace('-', '')}{number:03d}"
    return {
        "PK": partition,
        "SK": f"{kind}#{_milliseconds(at):019d}#{message_id}",
        "SKMessage": f"{kind}#{message_id}",
        "ExpiryTime": expiry,
        "thread_id": thread_id,
        "message_id": message_id,
        "timestamp": _milliseconds(at),
        "content": said,
        "role": role,
        "created_at": _written(at),
        "updated_at": _written(at),
    }


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _written(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _drifted(now: datetime) -> Iterator[Item]:
    """A thread that an older writer began and a newer one went on with: other times, NULLs, words of its own."""
    base, thread_id = f"{NORTHWIND}#ellen.marsh", "thr-nwe-1987"
    plan = Plan(base, thread_id, "Direct debits, moved", content.outage()[2:] + content.bill()[2:], timedelta(days=4))
    metadata, *messages = _thread(plan, now)
    seconds = Decimal(metadata["SKTimestampThread"].split("#")[1]) / 1000
    yield metadata | {
        "PK": base,
        "SKTimestampThread": f"THREAD#{seconds:.3f}#{thread_id}",
        "ExpiryTime": Decimal(metadata["ExpiryTime"]) + Decimal("0.25"),
        "is_temporary": None,
        "user_message_count": str(metadata["user_message_count"]),
        "origin": None,
        "locale": "en-GB",
    }
    for number, item in enumerate(messages):
        kind, stamp, message_id = item["SK"].split("#")
        in_seconds = Decimal(int(stamp)) / 1000
        older: list[Item] = [
            {"SK": f"{kind}#{int(in_seconds):019d}#{message_id}", "timestamp": str(item["timestamp"]), "verso": None},
            {"SK": f"{kind}#{in_seconds:.3f}#{message_id}", "timestamp": in_seconds, "feedback": ""},
            {
                "SK": f"{kind}#{int(stamp)}#{message_id}",
                "role": "model",
                "sources": "handbook.pdf",
                "verso": "sideways",
            },
            {"SK": f"{kind}##{message_id}", "role": None, "region": "eu-west-2"},
        ]
        yield item | older[number % len(older)]
