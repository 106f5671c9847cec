"""The one write on a conversation: sent, and what is known afterwards."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from console.errors import ConsoleError, NotAccepted, NotFound, Throttled
from console.store.connection import call
from console.store.errors import ConditionFailed
from conversations.handoff.effects import ATTRIBUTES, Raw
from conversations.models import Conversation

T = TypeVar("T")
TRIES = 3


@dataclass(frozen=True, slots=True)
class Sent:
    """What is known after step 2: whether the store said yes or no (None: it said neither), and the item if given.

    `only_write`: no other write of this call can still be on its way.
    """

    accepted: bool | None
    item: Raw | None
    only_write: bool = False
    error: ConsoleError | None = None


def send(update: dict[str, Any]) -> Sent:
    """The conditional UpdateItem. Never raises the store's errors: they are part of what is known.

    Where no answer came, or it lacked the item, the item is read strongly consistent: a refusal without item and
    without error is a conversation that is gone.
    """
    try:
        return Sent(True, retried(lambda: call("UpdateItem", **update))["Attributes"])
    except (ConditionFailed, NotAccepted) as refused:
        try:
            item = getattr(refused, "item", None) or read_raw(update["Key"])
        except ConsoleError as error:
            return Sent(None, None, error=error)
        return Sent(False, item, _sent_once(refused), refused)
    except ConsoleError as unanswered:
        try:
            return Sent(None, read_raw(update["Key"]), error=unanswered)
        except ConsoleError:
            return Sent(None, None, error=unanswered)


def _sent_once(refused: ConsoleError) -> bool:
    """Whether botocore sent it only once until this answer: an earlier attempt without answer may still arrive."""
    cause = refused.__cause__
    return isinstance(cause, ClientError) and not cause.response["ResponseMetadata"].get("RetryAttempts", 0)


def read_raw(key: Raw) -> Raw | None:
    """A conversation's hand-off attributes, strongly consistent, as DynamoDB JSON; None where there is no item."""
    try:
        found = Conversation.get(
            key["primary_channel"]["S"],
            key["conversation_id"]["S"],
            consistent_read=True,
            attributes_to_get=list(ATTRIBUTES),
        )
    except NotFound:
        return None
    return found.raw


def retried(work: Callable[[], T]) -> T:
    """Try a write again that met a transaction over the same item (a double click): that is over in milliseconds.

    Such a write was not carried out. Rate limits are not tried again: botocore did, with pauses.
    """
    for _ in range(TRIES - 1):
        try:
            return work()
        except Throttled as busy:
            cause = busy.__cause__
            if not isinstance(cause, ClientError) or not cause.response["Error"]["Code"].startswith("Transaction"):
                raise
    return work()
