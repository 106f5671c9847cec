"""Rate limits for signing in: attempts are counted before any secret is checked, so that no guess slips through.

Attempts are counted by the typed name (of an account or not) and by network address; for a browser that signed in
under that name before, by browser instead, so that neither guesses at a name nor neighbours behind its address keep
its owner out. All such browsers of a name share a further count.

A count is one number in the console's table: the instant until which the attempts so far are paid for (GCRA). Each
attempt advances it by `period / limit`, to at most `period` from now (a quarter of an hour for sign-ins). So `limit`
attempts pass in a burst, and then one after each such pause: unlike with fixed windows, the allowance never comes back
all in one go, and people who are refused wait for minutes, not for the window's end. Refused attempts are not counted,
so they cannot prolong that. Conditional writes decide, so parallel attempts cannot overrun the limit.
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
# Rounds of one decision: only concurrent attempts need more than the first.
_ROUNDS = 4
# All known browsers of a name together have this many times the attempts of one: anyone who once knew the password can
# have registered any number of browsers.
KNOWN_BROWSERS = 3


class TooManyAttempts(ConsoleError):
    """Refused for `seconds`, which the error's text says in words, after `said`."""

    status = 429
    title = "Too many attempts"

    def __init__(self, seconds: int, said: str = "Too many attempts.", title: str = title) -> None:
        self.title = title
        self.seconds = self.retry_after = max(1, seconds)
        unit, number = ("hour", -(-self.seconds // 3600)) if self.seconds > 7200 else ("minute", -(-self.seconds // 60))
        super().__init__(f"{said} Try again in {number} {unit}{'s' if number > 1 else ''}.")


@dataclass(frozen=True, slots=True)
class _Count:
    """A counter: whose attempts it counts, and how many may pass in a burst and in each period."""

    kind: str
    value: str
    limit: int
    period: timedelta = QUARTER

    @property
    def key(self) -> dict[str, Any]:
        """The item's key, a keyed digest: names (people type passwords there) and addresses are never stored."""
        digest = salted_hmac(f"console.staff.throttling.{self.kind}", self.value, algorithm="sha256").digest()
        return {"pk": {"S": f"THROTTLE#{self.kind}#{as_letters(digest[:16])}"}, "sk": {"S": SORT_KEY}}

    @property
    def cost(self) -> int:
        """By how much one attempt advances the count, in milliseconds."""
        return _ms(self.period) // max(1, self.limit)


def count(name: str, address: str, *, browser: str = "") -> None:
    """Count one attempt for a name as typed ("" for none) and a network address. Call it before checking any secret.

    `browser` is the result of `console.staff.devices.known` for that name. Raises `TooManyAttempts`, and the store's
    errors: then nothing may be checked either.
    """
    # The address first: attempts refused for it do not use up those of the name's owner.
    for each in _counts(name, address, browser):
        _take(each)


def count_use(kind: str, username: str, limit: int, period: timedelta, said: str) -> None:
    """Count one use of something that each person may do `limit` times in a burst, and then once per `period / limit`.

    `kind` names it in the plural. Raises `TooManyAttempts`, whose text begins with `said`, and the store's errors: then
    it must not be done either.
    """
    try:
        _take(_Count(kind, username, limit, period))
    except TooManyAttempts as refused:
        raise TooManyAttempts(refused.seconds, said, f"Too many {kind}") from None


def forgive(name: str, address: str, *, browser: str = "") -> None:
    """After success, clear the name's (or known browser's) count, and take this attempt back from the shared one.

    The shared count is that of the address, or of all known browsers of the name. Never raises the store's errors:
    attempts that stay counted only make the next refusal come sooner.
    """
    try:
        counts = _counts(name, address, browser)
        parallel(*(partial(_give_back if each.kind in _SHARED else _forget, each) for each in counts))
    except ConsoleError as error:
        logger.warning("Attempts to sign in could not be forgiven: %s", type(error).__name__)


# Counts shared with other names or browsers: a success takes back only its own attempt.
_SHARED = frozenset({"address", "known"})


def _counts(name: str, address: str, browser: str) -> list[_Count]:
    name = name.strip().lower()
    of_account = settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT
    if name and browser:
        return [_Count("browser", f"{name}\0{browser}", of_account), _Count("known", name, KNOWN_BROWSERS * of_account)]
    counts = [_Count("address", address, settings.SIGN_IN_ATTEMPTS_PER_ADDRESS)]
    return [*counts, _Count("account", name, of_account)] if name else counts


def _take(counted: _Count) -> None:
    """Pay for one attempt, or raise `TooManyAttempts`. One write restarts an idle count, one advances a running one."""
    for _round in range(_ROUNDS):
        now, cost = _ms_now(), counted.cost
        latest = now + _ms(counted.period) - cost  # a count beyond this has no attempt left
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
            continue  # a concurrent attempt used it up, or a success cleared it
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
        return  # already in the past


def _forget(counted: _Count) -> None:
    call("DeleteItem", TableName=table_name("CONSOLE"), Key=counted.key, ReturnConsumedCapacity="TOTAL")


def _paid_until(refused: ConditionFailed) -> int:
    """Return the count that made a write fail, in epoch milliseconds; 0 if there is none."""
    return int((refused.item or {}).get("paid_until", {}).get("N", 0))


def _ms_now() -> int:
    return int(clock.now().timestamp() * 1000)


def _ms(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
