"""How often somebody may try to sign in: counted before anything secret is checked, so that no guess slips through.

Attempts are counted by what was typed as a name (of an account or not), by network address, and, for a browser that
signed in under that name before, by browser instead: so neither guesses at a name nor neighbours behind its address
keep its owner out. All such browsers of a name share a further count.

A count is one number in the console's table: the instant until which the attempts so far are paid for (GCRA). Each
attempt pays `QUARTER / limit` on; nobody may be paid for further ahead than a quarter of an hour. So `limit` attempts
go through at once, and from then on one after each such pause: unlike windows of the clock there is no border at which
the allowance comes back at once, and who is refused waits for minutes, not for the window's end. Refused attempts are
not counted, so they cannot prolong that. One conditional write decides, so parallel attempts cannot overrun it.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from console import clock
from console.errors import ConsoleError, Throttled
from console.refs import as_letters
from console.store.calls import ConditionFailed, parallel, table_name
from console.store.connection import call

logger = logging.getLogger(__name__)

QUARTER = timedelta(minutes=15)
SORT_KEY = "SIGN-IN"
# Rounds of one decision: only attempts at the very same moment need more than the first.
_ROUNDS = 4
# All known browsers of a name together have so many times the attempts of one: whoever once knew the password can have
# made any number of browsers known.
KNOWN_BROWSERS = 3


class TooManyAttempts(ConsoleError):
    """Refused for now; `seconds` says for how long, and the error's text says so in words, after `said`."""

    status = 429
    title = "Too many attempts"

    def __init__(self, seconds: int, said: str = "Too many attempts.", title: str = title) -> None:
        self.title = title
        self.seconds = self.retry_after = max(1, seconds)
        unit, number = ("hour", -(-self.seconds // 3600)) if self.seconds > 7200 else ("minute", -(-self.seconds // 60))
        super().__init__(f"{said} Try again in {number} {unit}{'s' if number > 1 else ''}.")


@dataclass(frozen=True, slots=True)
class _Count:
    """Whose attempts are counted, and how many of them go through at once and in a period."""

    kind: str
    value: str
    limit: int
    period: timedelta = QUARTER

    @property
    def key(self) -> dict[str, Any]:
        """Where it is kept. Names (people type passwords there) and addresses are never stored, only keyed digests."""
        digest = salted_hmac(f"console.staff.throttling.{self.kind}", self.value, algorithm="sha256").digest()
        return {"pk": {"S": f"THROTTLE#{self.kind}#{as_letters(digest[:16])}"}, "sk": {"S": SORT_KEY}}

    @property
    def cost(self) -> int:
        """What one attempt pays on, in milliseconds."""
        return _ms(self.period) // max(1, self.limit)


def count(name: str, address: str, *, browser: str = "") -> None:
    """Count one attempt for a name as typed ("" for none) and a network address. Call it before checking any secret.

    `browser` is what `console.staff.devices.known` says of the browser for that name. Raises `TooManyAttempts`, and the
    store's errors: then nothing may be checked either.
    """
    # The address first: who is refused for it does not use up what the name's owner may try.
    for each in _counts(name, address, browser):
        _take(each)


def count_use(kind: str, username: str, limit: int, period: timedelta, said: str) -> None:
    """Count one use of what each person may do `limit` times at once, and then once in each such part of the period.

    `kind` names it in the plural. Raises `TooManyAttempts`, whose text begins with `said`, and the store's errors: then
    it may not be done either.
    """
    try:
        _take(_Count(kind, username, limit, period))
    except TooManyAttempts as refused:
        raise TooManyAttempts(refused.seconds, said, f"Too many {kind}") from None


def forgive(name: str, address: str, *, browser: str = "") -> None:
    """After success: forget the name's (or the known browser's) attempts, and take this one back from what is shared:
    the address, or all known browsers of the name.

    Never raises: the attempts stay counted for a while then, which only makes the next refusal come sooner.
    """
    try:
        counts = _counts(name, address, browser)
        parallel(*(partial(_give_back if each.kind in _SHARED else _forget, each) for each in counts))
    except ConsoleError as error:
        logger.warning("Attempts to sign in could not be forgiven: %s", type(error).__name__)


# Counts to which others than this name or browser add: a success forgives only its own attempt there.
_SHARED = frozenset({"address", "known"})


def _counts(name: str, address: str, browser: str) -> list[_Count]:
    name = name.strip().lower()
    of_account = settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT
    if name and browser:
        return [_Count("browser", f"{name}\0{browser}", of_account), _Count("known", name, KNOWN_BROWSERS * of_account)]
    counts = [_Count("address", address, settings.SIGN_IN_ATTEMPTS_PER_ADDRESS)]
    return [*counts, _Count("account", name, of_account)] if name else counts


def _take(counted: _Count) -> None:
    """Pay for one attempt, or raise `TooManyAttempts`. Either write is conditional on what the other one needs."""
    for _round in range(_ROUNDS):
        now, cost = _ms_now(), counted.cost
        latest = now + _ms(counted.period) - cost  # whoever is paid for beyond this has no attempt left
        idle, running = "attribute_not_exists(paid_until) OR paid_until < :now", "paid_until BETWEEN :now AND :latest"
        try:
            return _pay(counted, ":first", idle, now=now, first=now + cost)
        except ConditionFailed as refused:
            ahead = _paid_until(refused) - latest
        if ahead > 0:
            raise TooManyAttempts(-(-ahead // 1000))
        try:
            return _pay(counted, "paid_until + :cost", running, now=now, cost=cost, latest=latest)
        except ConditionFailed:
            continue  # other attempts of this moment used it up, or a success forgave it
    raise Throttled("Too many attempts at the same moment. Try again.")


def _pay(counted: _Count, until: str, condition: str, *, now: int, **values: int) -> None:
    numbers = {"now": now, **values, "gone": (now + 2 * _ms(counted.period)) // 1000}
    call(
        "UpdateItem",
        TableName=table_name("CONSOLE"),
        Key=counted.key,
        UpdateExpression=f"SET paid_until = {until}, expires_at = :gone",
        ConditionExpression=condition,
        ExpressionAttributeValues={f":{name}": {"N": str(value)} for name, value in numbers.items()},
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ReturnConsumedCapacity="TOTAL",
    )


def _give_back(counted: _Count) -> None:
    try:
        call(
            "UpdateItem",
            TableName=table_name("CONSOLE"),
            Key=counted.key,
            UpdateExpression="SET paid_until = paid_until - :cost",
            ConditionExpression="paid_until > :now",
            ExpressionAttributeValues={":cost": {"N": str(counted.cost)}, ":now": {"N": str(_ms_now())}},
            ReturnConsumedCapacity="TOTAL",
        )
    except ConditionFailed:
        return  # long paid


def _forget(counted: _Count) -> None:
    call("DeleteItem", TableName=table_name("CONSOLE"), Key=counted.key, ReturnConsumedCapacity="TOTAL")


def _paid_until(refused: ConditionFailed) -> int:
    """The count that made a write fail, in epoch milliseconds; 0 where there is none."""
    return int((refused.item or {}).get("paid_until", {}).get("N", 0))


def _ms_now() -> int:
    return int(clock.now().timestamp() * 1000)


def _ms(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
