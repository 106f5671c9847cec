"""What the console costs in AWS a month: the table of docs/aws.md, of which every number is here.

`UNITS` are measured (tests/store/test_costs.py), `PRICES` are list prices, all else are assumptions that the page has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Units:
    """DynamoDB's units, indexes included: half a read for 4 KB that may be a moment old, a write for each KB."""

    reads: float
    writes: float


UNITS = {
    "AI conversation": Units(13, 10),
    "request": Units(12, 31),
    "take": Units(2, 31),
    "reply": Units(10, 47),
    "message": Units(1, 31),
    "hand back": Units(3, 31),
    "conversation page": Units(5, 0),
    "conversation poll": Units(3, 0),
    "queue poll without news": Units(4, 0),
    "queue poll with news": Units(8.5, 0),
    "idle minute": Units(272, 140),
}
# US dollars, eu-west-2, on demand, without free tiers.
PRICES = {
    "million writes": 0.7423,
    "million reads": 0.1485,
    "GB stored": 0.297,
    "GB recovery": 0.2377,
    "vCPU hour": 0.04656,
    "GB hour": 0.00511,
    "load balancer hour": 0.02646,
    "capacity unit hour": 0.0084,
    "address hour": 0.005,
    "million requests of SQS": 0.50,
    "million Lambdas": 0.20,
    "GB second": 0.0000166667,
    "alarm metric": 0.10,
    "GB of log lines": 0.5985,
    "secret": 0.40,
}
HOURS, MINUTES, DAYS = 730, 43_800, 30


@dataclass(frozen=True)
class Size:
    """A month: what comes in, who works, and how many tasks of the web server there are."""

    conversations: int
    agents: int
    companies: int
    web_tasks: int

    @property
    def to_people(self) -> float:
        """One conversation in ten is handed to people."""
        return self.conversations / 10

    @property
    def agent_hours(self) -> int:
        """21 days of 8 hours."""
        return self.agents * 168

    @property
    def idempotency_gb(self) -> float:
        """5 records of 0.5 KB for a conversation, for 30 days."""
        return self.conversations * 5 * 0.5 / 1e6

    @property
    def trail_gb(self) -> float:
        """5 entries of 0.5 KB for a conversation, for 60 days."""
        return self.conversations * 5 * 0.5 * 2 / 1e6

    @property
    def walked_kb(self) -> float:
        """What a walk of Insight reads: 100 items of 0.5 KB a second."""
        return (self.idempotency_gb + self.trail_gb) * 1e6

    @property
    def walks(self) -> float:
        """One begins 6 hours after the last one ended."""
        return DAYS * 86_400 / (6 * 3_600 + self.walked_kb / 50)


SIZES = (Size(10_000, 5, 1, 2), Size(100_000, 50, 5, 2), Size(1_000_000, 200, 20, 6))


def _dynamodb(reads: float, writes: float = 0) -> float:
    return (reads * PRICES["million reads"] + writes * PRICES["million writes"]) / 1e6


def _times(what: str, count: float) -> float:
    return _dynamodb(UNITS[what].reads * count, UNITS[what].writes * count)


def _people(size: Size) -> float:
    once = sum(_times(what, size.to_people) for what in ("request", "take", "hand back"))
    return once + sum(_times(what, 3 * size.to_people) for what in ("message", "reply", "conversation page"))


def _polling(size: Size) -> float:
    return _times("queue poll with news", size.agent_hours * 225) + _times("conversation poll", size.agent_hours * 450)


def _sums(size: Size) -> float:
    minutes = 12 * 60 * DAYS
    facts = size.conversations / DAYS / 2 * 0.5 / 4
    return _dynamodb(minutes * facts, minutes * size.companies * 24)


def _whole_tables(size: Size) -> float:
    seconds = size.idempotency_gb * 1_000 * 0.03
    runs = min(DAYS * 288, DAYS * 86_400 / (100 * seconds))
    return _dynamodb(runs * size.idempotency_gb * 1e6 / 4 + size.walks * size.walked_kb / 8)


def _storage(size: Size) -> float:
    facts = size.conversations * 24 * 0.7 / 1e6
    messages = size.to_people * 6 * 6 * 1.0 / 1e6
    return (facts + messages) * (PRICES["GB stored"] + PRICES["GB recovery"])


def _task_hours(tasks: int) -> float:
    return tasks * HOURS * (0.5 * PRICES["vCPU hour"] + PRICES["GB hour"] + PRICES["address hour"])


def _balancer(size: Size) -> float:
    units = 1 if size.agents <= 50 else 2
    return HOURS * (PRICES["load balancer hour"] + units * PRICES["capacity unit hour"] + 2 * PRICES["address hour"])


def _queues(size: Size) -> float:
    return (MINUTES * 60 + size.to_people * 3 * 8) / 1e6 * PRICES["million requests of SQS"]


def _lambdas(size: Size) -> float:
    events = size.conversations * 5 + size.to_people * 20
    runs = MINUTES * 4 + MINUTES / 2 + MINUTES / 10
    seconds = events * 0.2 + runs * 1.5
    # Insight has twice the memory of the others.
    gb_seconds = (seconds + MINUTES * 1.5) * 0.5 + size.walks * size.walked_kb / 50
    return (events + runs) / 1e6 * PRICES["million Lambdas"] + gb_seconds * PRICES["GB second"]


def _watching(size: Size) -> float:
    logs = size.agent_hours * 700 * 0.0002 / 1_000 + 0.5
    return 50 * PRICES["alarm metric"] + logs * PRICES["GB of log lines"] + PRICES["secret"]


ROWS: tuple[tuple[str, Callable[[Size], float]], ...] = (
    ("Conversations of the AI: 10 messages in 5 writes", lambda size: _times("AI conversation", size.conversations)),
    (
        "Its two indexes of activity on the platform's table: 4 for each of these writes",
        lambda size: _dynamodb(0, size.conversations * 20),
    ),
    ("Conversations with people: a request, a take, 3 messages, 3 replies, 3 pages, a hand-back", _people),
    ("Agents' pages that keep themselves fresh: half the time the queue, half a conversation they hold", _polling),
    ("Insight's sums: the day's facts each minute for 12 hours, 24 items a company", _sums),
    ("Tables read whole: reconcile and Insight's walks", _whole_tables),
    ("`manage.py work` with nothing to do: 43,800 minutes", lambda _: _times("idle minute", MINUTES)),
    ("Storage with recovery: facts of 24 months (0.7 KB), messages of 6 (1 KB)", _storage),
    ("Web servers: 0.5 vCPU, 1 GB and an address each", lambda size: _task_hours(size.web_tasks)),
    ("Work as a process: 2 such tasks", lambda _: _task_hours(2)),
    ("Load balancer: 1 to 2 capacity units, 2 addresses", _balancer),
    ("SQS: the outbox asked once a second, 8 requests a reply", _queues),
    ("50 alarm metrics, log lines, a secret", _watching),
)


def table() -> Iterator[str]:
    """The rows of docs/aws.md."""
    names = [f"{size.conversations:,} conversations, {size.agents} agents" for size in SIZES]
    yield f"| US dollars a month | {' | '.join(names)} |"
    yield "|---|--:|--:|--:|"
    for words, cost in ROWS:
        yield f"| {words} | {' | '.join(_dollars(cost(size)) for size in SIZES)} |"
    totals = [sum(cost(size) for _, cost in ROWS) for size in SIZES]
    yield f"| **Together** | {' | '.join(f'**{_dollars(each)}**' for each in totals)} |"
    yield f"| Work as Lambdas, in place of the two tasks | {' | '.join(_dollars(_lambdas(size)) for size in SIZES)} |"


def _dollars(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 10 else f"{amount:,.1f}"


def units_table() -> Iterator[str]:
    """What was measured, for the page."""
    yield "| | read units | write units |"
    yield "|---|--:|--:|"
    for what, units in UNITS.items():
        yield f"| {what} | {units.reads:g} | {units.writes:g} |"


def price_list() -> Iterator[str]:
    """The prices, in one sentence."""
    yield ", ".join(f"{what} ${price:.10f}".rstrip("0") for what, price in PRICES.items()) + "."
