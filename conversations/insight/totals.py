"""The totals of one conversation: messages, tokens and their cost, turns until the hand-off, and answer times.

Computed from the item and its messages in one pass. docs/insight.md explains their meaning.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Any

from console import clock
from console.trees import clean, isolated
from conversations.converting import channel_of, model_in, text_of
from conversations.insight.prices import Tokens, cost
from conversations.messages.message import MessageFigures, StoredMessages
from conversations.models import Conversation
from conversations.outbox.states import NOT_ARRIVED
from conversations.records import Speaker


@dataclass(frozen=True, slots=True)
class ConversationTotals:
    """The totals of one conversation.

    `model` is the AI's as stored ("" if unknown). `cost` is in US dollars; `is_priced`: the model has a price on every
    day on which it was used. `turns` are those until the hand-off, `ai_answers` how long each answer of the AI took,
    and `human_answer` how long after the hand-off people first answered. None: there was none, or it is unknown.
    """

    messages: int
    tokens: int = 0
    model: str = ""
    cost: Decimal | None = None
    is_priced: bool = True
    turns: int | None = None
    ai_answers: tuple[timedelta, ...] = ()
    human_answer: timedelta | None = None

    @property
    def usual_ai_answer(self) -> timedelta | None:
        """The median of the AI's answer times."""
        seconds = [each.total_seconds() for each in self.ai_answers]
        return timedelta(seconds=median(seconds)) if seconds else None

    def describe(self) -> tuple[str, ...]:
        """Return each known total as a few words."""
        parts = [_counted(self.messages, "message")]
        if self.tokens:
            parts.append(_counted(self.tokens, "token") + self._cost_in_words())
        if self.turns is not None:
            parts.append(f"{_counted(self.turns, 'turn')} until the hand-off")
        if (usual := self.usual_ai_answer) is not None:
            one = len(self.ai_answers) == 1
            parts.append(f"AI {'answered' if one else 'answers'} in {clock.format_seconds(usual)}")
            parts[-1] += "" if one else " (median)"
        if self.human_answer is not None:
            parts.append(f"first human answer after {clock.format_seconds(self.human_answer)}")
        return tuple(parts)

    def _cost_in_words(self) -> str:
        model = isolated(clean(text_of(self.model, 60)))
        if self.cost is not None:
            return f", {in_dollars(self.cost)} ({model})"
        return f", price of {model} unknown" if model and not self.is_priced else ""


def totals_of(item: Conversation, stored: StoredMessages, handed_off_at: datetime | None) -> ConversationTotals:
    """Compute the totals of a conversation. Never raises, whatever is stored.

    `handed_off_at`: when people first had it, or were asked for; None if they never were, or if it is unknown.
    """
    walk = _Walk(handed_off_at)
    for figures in stored.figures():
        walk.pass_by(figures)
    model, day = model_in(item.plain("ai_config"), channel_of(item)), _day_of(item)
    costs = [cost(model, tokens, each or day) for each, tokens in walk.used.items()]
    known = [each for each in costs if each is not None]
    is_priced = len(known) == len(costs)
    return ConversationTotals(
        messages=walk.messages,
        tokens=walk.tokens,
        model=model,
        cost=sum(known, Decimal(0)) if costs and is_priced and walk.is_told_apart else None,
        is_priced=is_priced,
        turns=None if handed_off_at is None or walk.at is None else walk.turns,
        ai_answers=tuple(walk.ai_answers),
        human_answer=walk.human_answer,
    )


class _Walk:
    """Counts messages in order, oldest first.

    A message without a time counts at the time of the message before it, or at the beginning if there is none.
    """

    def __init__(self, handed_off_at: datetime | None) -> None:
        self.handed_off_at = handed_off_at
        self.messages = self.tokens = self.turns = 0
        # Tokens by day; None before any time is known. `is_told_apart`: all have a kind, which prices need.
        self.used: dict[date | None, Tokens] = defaultdict(Tokens)
        self.is_told_apart = True
        self.ai_answers: list[timedelta] = []
        self.human_answer: timedelta | None = None
        # The time of the latest message that has one.
        self.at: datetime | None = None
        # Whether the customer waits for an answer, and since when.
        self._is_open = False
        self._open_since: datetime | None = None

    def pass_by(self, figures: MessageFigures) -> None:
        """Count one message."""
        self.at = figures.at or self.at
        self._count_tokens(figures.tokens)
        if figures.is_prompt or figures.speaker is Speaker.SYSTEM:
            return
        self.messages += 1
        if figures.speaker is Speaker.CUSTOMER:
            self._open_since = self._open_since if self._is_open else figures.at
            self._is_open = True
        elif figures.speaker is Speaker.AI:
            if self._is_open:
                self._count_turn(figures)
            self._is_open = False
        elif figures.speaker is Speaker.HUMAN:
            self._count_human(figures)
            self._is_open = False

    def _count_turn(self, figures: MessageFigures) -> None:
        if self.handed_off_at is not None and (self.at is None or self.at < self.handed_off_at):
            self.turns += 1
        took = [] if figures.processing_ms is None else [timedelta(milliseconds=figures.processing_ms)]
        if figures.at is not None and self._open_since is not None and figures.at >= self._open_since:
            took.append(figures.at - self._open_since)
        # If both messages have the same time, it says nothing about how long the answer took.
        if took:
            self.ai_answers.append(max(took))

    def _count_human(self, figures: MessageFigures) -> None:
        if figures.at is None or self.handed_off_at is None or figures.at < self.handed_off_at:
            return
        if figures.reply is not None and figures.reply.state in NOT_ARRIVED:
            return
        if self.human_answer is None:
            self.human_answer = figures.at - self.handed_off_at

    def _count_tokens(self, found: Any) -> None:
        if not found:
            return
        total, read, written = (found.get(kind) for kind in ("total", "prompt", "completion"))
        if read is None and written is None:
            self.tokens += total or 0
            self.is_told_apart = self.is_told_apart and not total
            return
        if read is None:
            read = max(0, (total or 0) - (written or 0))
        if written is None:
            written = max(0, (total or 0) - read)
        self.tokens += max(total or 0, read + written)
        self.used[self.at.date() if self.at else None] += Tokens(read, written, min(found.get("cached", 0), read))


def _day_of(item: Conversation) -> date:
    """Return the day for tokens without a time."""
    known = (clock.parse_instant(item.plain(name)) for name in ("created_at", "updated_at"))
    return next((each for each in known if each is not None), clock.now()).date()


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def in_dollars(amount: Decimal) -> str:
    """Format an amount of US dollars as an estimate, with two significant digits if it is small."""
    if amount >= 1 or not amount:
        return f"about ${amount:,.2f}" if amount else "$0.00"
    if amount < Decimal("0.0001"):
        return "less than $0.0001"
    digits = max(2, 1 - amount.adjusted())
    return f"about ${amount:.{digits}f}"
