"""Companies' monthly budgets (calendar month in UTC, US dollars) for the cost of tokens, and what is spent of them.

Items of the console's own table, in partitions that one Query reads:

- `pk = BUDGETS`, `sk` the company's id: `amount`, which people set, with its `version`; and from the latest check
  `month`, `spent` and `unpriced`. A check leaves the version alone, so that it never conflicts with an edit;
- `pk = BUDGETS_REACHED#{month}`, `sk = {company_id}#{share}`: when a share was reached, and what was spent of which
  amount. Written once.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from pynamodb.attributes import Attribute, UnicodeAttribute
from pynamodb.constants import STRING

from console import clock
from console.caching import cached_for
from console.errors import ConsoleError, Invalid
from console.permissions import Permission, Staff
from console.store.calls import ConditionFailed, TransactionRefused, parallel
from console.store.connection import transaction
from console.store.models import InstantAttribute, LenientItem, WholeNumberAttribute
from console.store.presence import table_ready
from console.trail.actions import Action
from console.trail.items import VersionedItem
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry
from conversations.companies import check_team_lead, name_or_id
from conversations.insight.facts import FactKind
from conversations.insight.measures import Topic
from conversations.insight.reports.usage import cost_of
from conversations.insight.sums import MOST_OWNERS, InsightPeriod, InsightQuery, Slice, read_topics

logger = logging.getLogger(__name__)

PARTITION, REACHED = "BUDGETS", "BUDGETS_REACHED#"
# The most budgets that can exist: one Query reads all of them.
MOST = 1_000
# The maximum age of the budgets that pages show.
SECONDS = 20
# The percentages that are announced, highest first.
SHARES = (100, 80)
# What was reached is of no use after its month.
KEPT = timedelta(days=62)


class DollarsAttribute(Attribute[Decimal]):
    """An amount that is not negative, stored as text such as `250.00`."""

    attr_type = STRING

    def serialize(self, value: Decimal) -> str:
        """Return the amount as text."""
        return str(value)

    def deserialize(self, value: Any) -> Decimal:
        """Return the amount. Raises `ValueError` and `InvalidOperation` for any other text."""
        amount = Decimal(value)
        if not amount.is_finite() or amount < 0:
            raise ValueError("The text is not an amount.")
        return amount


class CostBudget(VersionedItem):
    """A company's budget; `amount` is None for none. `spent` and `unpriced` (tokens) are those of `month`, if any."""

    CHANGED = "Somebody else changed this budget in the meantime."
    amount = DollarsAttribute(null=True)
    month = UnicodeAttribute(null=True)
    spent = DollarsAttribute(null=True)
    unpriced = WholeNumberAttribute(null=True)

    @property
    def company_id(self) -> str:
        """The company."""
        return self.sk


@dataclass(frozen=True, slots=True)
class MonthCost:
    """The cost of a month's tokens whose prices are known, against a budget. `first` is the first day of the month."""

    first: date
    amount: Decimal
    spent: Decimal
    unpriced: int
    company_id: str = ""
    name: str = ""

    @property
    def left(self) -> Decimal:
        """What is left of the budget; negative if it is exceeded."""
        return self.amount - self.spent

    @property
    def over(self) -> Decimal:
        """The amount spent beyond the budget."""
        return max(Decimal(0), -self.left)

    @property
    def percent(self) -> int:
        """The percentage spent, rounded down: 100 only once all of it is spent."""
        return int(self.spent * 100 / self.amount)

    @property
    def used(self) -> str:
        """The percentage spent, as text."""
        return f"{self.percent:,}%"

    @property
    def share(self) -> int:
        """The highest of `SHARES` that is reached; 0 for none."""
        return next((each for each in SHARES if self.percent >= each), 0)


def month_of(day: date) -> str:
    """Return the month of a day, such as `2026-11`."""
    return f"{day:%Y-%m}"


# --- What people set --------------------------------------------------------------------------------------------------


def list_budgets() -> tuple[CostBudget, ...]:
    """Return the budgets of all companies, strongly consistent. One Query; raises the store's errors."""
    return tuple(CostBudget.list_in(PARTITION, MOST))


@cached_for(SECONDS)
def known_budgets() -> tuple[CostBudget, ...]:
    """Return the same as `list_budgets`, cached for up to `SECONDS`."""
    return list_budgets()


def load(company_id: str, staff: Staff) -> CostBudget:
    """Return a company's budget, strongly consistent.

    Raises `Forbidden`, `NotFound` (out of scope), and the store's errors.
    """
    check_team_lead(company_id, staff)
    return CostBudget.find(PARTITION, company_id) or CostBudget(PARTITION, company_id)


def save(company_id: str, amount: Decimal | None, version: int, staff: Staff) -> None:
    """Set a company's budget and record it in the trail; None removes it. `version` is the one the user saw.

    The amount that the user saw is no change and is not recorded.
    Raises the errors of `load`, `Invalid` if there are too many budgets, and `Conflict` if somebody else changed it
    meanwhile.
    """
    stored = load(company_id, staff)
    if not stored.version and len(list_budgets()) >= MOST:
        raise Invalid(f"There can be up to {MOST:,} budgets. Remove one first.")
    if version == stored.version and (amount or None) == stored.amount:
        return
    payload = {"company": name_or_id(company_id), "from": _for_trail(stored.amount), "to": _for_trail(amount)}
    entry = TrailEntry(SYSTEM_TRAIL, Action.BUDGET_CHANGED, Actor.of(staff), company_id, payload=payload)
    values = {} if amount is None else {"amount": Decimal(f"{amount:.2f}")} | _spent_now(company_id)
    CostBudget(PARTITION, company_id, **values).put(version, entry)
    known_budgets.cache_clear()


def _for_trail(amount: Decimal | None) -> dict[str, str]:
    return {} if amount is None else {"dollars a month": f"{amount:,.2f}"}


def _spent_now(company_id: str) -> dict[str, Any]:
    """Return what a check would note now, so that pages show immediately whether a share of a budget is reached."""
    if not table_ready("INSIGHT"):
        return {}
    today = clock.now().date()
    spent, unpriced = read_cost(company_id, today.replace(day=1), today)
    return {"month": month_of(today), "spent": spent, "unpriced": unpriced}


# --- What is spent ----------------------------------------------------------------------------------------------------


def read_cost(company_id: str, first: date, last: date) -> tuple[Decimal, int]:
    """Return the cost of a company's tokens in a period, both days included, and the number of tokens without a price.

    One Query; raises the store's errors.
    """
    query = InsightQuery((company_id,), Slice(), InsightPeriod(first, last))
    return cost_of(read_topics(FactKind.CONVERSATIONS, query, (Topic.USAGE,))[Topic.USAGE])


def month_costs(names: Mapping[str, str], until: date) -> list[MonthCost]:
    """Return what was spent from the first of the month until a day, for the companies (name by id) that have a budget.

    One Query of budgets, which is cached, and one for each of the first `MOST_OWNERS` companies with a budget.
    """
    first = until.replace(day=1)
    found = [(each.company_id, each.amount) for each in known_budgets() if each.amount and each.company_id in names]
    found = sorted(found, key=lambda each: names[each[0]].casefold())[:MOST_OWNERS]
    costs = parallel(*(partial(read_cost, company_id, first, until) for company_id, _ in found))
    return [
        MonthCost(first, amount, *cost, company_id, names[company_id])
        for (company_id, amount), cost in zip(found, costs, strict=True)
    ]


def reached_budgets(names: Mapping[str, str], staff: Staff) -> list[MonthCost]:
    """Return this month's budgets with a share reached, of these companies (name by id), for staff who lead teams.

    As of the latest check; most exceeded first. One Query, which is cached. If it fails, log it and return none.
    """
    if not names or not staff.can(Permission.TEAM_LEAD):
        return []
    try:
        budgets = known_budgets()
    except ConsoleError as error:
        logger.warning("Could not read the budgets: %s", type(error).__name__)
        return []
    first = clock.now().date().replace(day=1)
    found = [
        MonthCost(first, each.amount, each.spent, each.unpriced or 0, each.company_id, names[each.company_id])
        for each in budgets
        if each.amount and each.spent and each.company_id in names and each.month == month_of(first)
    ]
    return sorted((each for each in found if each.share), key=lambda each: (-each.percent, each.name.casefold()))


# --- What was reached -------------------------------------------------------------------------------------------------


class ReachedBudget(LenientItem):
    """The stored note of a reached share, and what was spent by then of which amount."""

    at = InstantAttribute()
    amount = DollarsAttribute()
    spent = DollarsAttribute()
    unpriced = WholeNumberAttribute()
    expires_at = WholeNumberAttribute()


@dataclass(frozen=True, slots=True)
class ReachedShare:
    """A share of a budget (80 or 100) that was reached `at` an instant, and what was spent by then."""

    share: int
    at: datetime
    cost: MonthCost


def check(budget: CostBudget, today: date, known: Iterable[ReachedShare]) -> ReachedShare | None:
    """Note what a company has spent this month; return the share of its budget that is reached, if any.

    If several shares are reached, only the highest is noted. `known` are the shares noted before; a known one is
    returned again, so that the announcement is repeated if a process died before it. Raises the store's errors.
    """
    if not budget.amount:
        return None
    first = today.replace(day=1)
    cost = MonthCost(first, budget.amount, *read_cost(budget.company_id, first, today), budget.company_id)
    if (budget.month, budget.spent, budget.unpriced) != (month_of(first), cost.spent, cost.unpriced):
        _note_spent(cost)
    if not cost.share:
        return None
    noted = next(
        (each for each in known if (each.cost.company_id, each.share) == (budget.company_id, cost.share)), None
    )
    return noted or _note_reached(budget, ReachedShare(cost.share, clock.now(), cost))


def reached_in(month: date) -> list[ReachedShare]:
    """Return the shares reached in the month of a day. One Query; raises the store's errors."""
    items = ReachedBudget.list_in(REACHED + month_of(month), len(SHARES) * MOST)
    return [found for each in items if (found := _read_reached(each, month.replace(day=1))) is not None]


def _note_spent(cost: MonthCost) -> None:
    """Note what is spent, unless the budget was removed."""
    try:
        CostBudget(PARTITION, cost.company_id).update(
            actions=[
                CostBudget.month.set(month_of(cost.first)),
                CostBudget.spent.set(cost.spent),
                CostBudget.unpriced.set(cost.unpriced),
            ],
            condition=CostBudget.pk.exists(),
        )
    except ConditionFailed:
        return


def _note_reached(budget: CostBudget, found: ReachedShare) -> ReachedShare | None:
    """Note a reached share; None if it was already noted or the budget has just changed: the next check sees that."""
    cost = found.cost
    reached = ReachedBudget(
        REACHED + month_of(cost.first),
        f"{cost.company_id}#{found.share}",
        at=found.at,
        amount=cost.amount,
        spent=cost.spent,
        unpriced=cost.unpriced,
        expires_at=clock.to_epoch(found.at + KEPT),
    )
    try:
        with transaction() as writes:
            writes.condition_check(CostBudget, PARTITION, cost.company_id, CostBudget.version == budget.version)
            writes.save(reached, ReachedBudget.pk.does_not_exist())
    except TransactionRefused:
        return None
    return found


def _read_reached(item: ReachedBudget, first: date) -> ReachedShare | None:
    company_id, _, share = item.sk.rpartition("#")
    if not item.amount or None in (item.at, item.spent, item.unpriced) or not share.isdecimal():
        return None
    return ReachedShare(int(share), item.at, MonthCost(first, item.amount, item.spent, item.unpriced, company_id))
