"""Settlement of actions left pending by a dead process or a lost answer. The part reconcile runs it regularly."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from console import clock
from console.errors import BadReference, ConsoleError, ItemFull, NotFound
from console.refs import unseal
from console.trail.actions import Action, Result
from console.trail.models import IdempotencyRecord
from console.trail.recording import COMMAND_LINE, Actor, new_action_id
from conversations.handoff.protocol import (
    MODE,
    HandOffAct,
    RecordedAction,
    begin,
    close,
    close_quietly,
    event_key,
    lookup,
    read_raw,
    recorded_of,
    send,
)
from conversations.handoff.resolution import ChainLink, Resolution, resolution_of, trail_links
from conversations.handoff.stored import Raw, fence_of, last_action_of, text
from conversations.models import Conversation

FENCE_AFTER = timedelta(minutes=10)
FENCED = f"{Result.FAILED}: it had not taken effect and was fenced off"
REFUSED = f"{Result.FAILED}: it did not take effect"
UNKNOWN = "unknown: it can no longer be determined whether it took effect"


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of one pending action, "" if it stays open; `note` says why or what was done."""

    conversation_id: str
    action_id: str
    action_type: str
    recorded_at: datetime | None
    result: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The settled actions of one trail; `error` says why it could not be settled this time."""

    settled: tuple[Settled, ...] = ()
    error: str = ""


def pending_trails() -> Iterator[tuple[int, frozenset[str]]]:
    """Scan the idempotency table; yield per page the records read so far and the trails with a pending action.

    For commands only, because it reads the whole table. Raises the store's errors.
    """
    read = 0
    found = IdempotencyRecord.scan(
        (IdempotencyRecord.mode == MODE) & (IdempotencyRecord.status == Result.PENDING.value), consistent_read=True
    )
    for page in found.page_iter:
        read += int(page["ScannedCount"])
        yield read, frozenset(recorded_of(raw).trail for raw in page["Items"]) - {""}


def reconcile(
    trails: Iterable[str], *, older_than: timedelta = FENCE_AFTER, dry_run: bool = False
) -> Iterator[Settlement]:
    """Settle the pending hand-off actions of these trails, one trail after the other.

    An action whose outcome can be proved is settled; an open one older than `older_than` is fenced and failed. A trail
    that cannot be settled is reported, and the next one is settled.
    """
    for trail in trails:
        try:
            yield Settlement(tuple(settle(trail, older_than=older_than, dry_run=dry_run)))
        except ConsoleError as error:
            yield Settlement(error=f"{type(error).__name__}: {error}".rstrip(": "))


def settle(
    conversation_id: str, *, older_than: timedelta = FENCE_AFTER, dry_run: bool = False, actor: Actor = COMMAND_LINE
) -> list[Settled]:
    """Settle the pending hand-off actions of one conversation. Raises the store's errors."""
    pending = _pending(trail_links(conversation_id))
    if not pending:
        return []
    key = _key_of(conversation_id, pending)
    limit = clock.now() - older_than
    # Only actions recorded before the item is read are judged, because their predecessors had acted by then. The trail
    # is read again after the item, so that it contains everything that acted on it.
    known = {link.action_id for link in pending}
    raw, links = read_raw(key), trail_links(conversation_id)
    fenced: set[str] = set()
    if raw is not None and not dry_run:
        old = [link for link in _pending(links) if link.action_id in known and _is_old(link, limit)]
        fenced = {link.action_id for link in old if _judge(link, raw, links) is Resolution.OPEN}
    if fenced and raw is not None:
        known.add(_fence(key, raw, actor))
        raw, links = read_raw(key), trail_links(conversation_id)
    return [
        _close(
            link, _judge(link, raw, links), is_old=_is_old(link, limit), fenced=link.action_id in fenced, dry=dry_run
        )
        for link in _pending(links)
        if link.action_id in known
    ]


def _pending(links: dict[str, ChainLink]) -> list[ChainLink]:
    return [link for link in links.values() if link.is_pending]


def _is_old(link: ChainLink, limit: datetime) -> bool:
    return link.at is None or link.at <= limit


def _judge(link: ChainLink, raw: Raw | None, links: dict[str, ChainLink]) -> Resolution:
    return resolution_of(link.action_id, link.previous, None if raw is None else last_action_of(raw), links)


def _key_of(conversation_id: str, pending: list[ChainLink]) -> Raw:
    """Return the conversation's key, from the sealed reference of an action's record or the conversation-id index."""
    for link in pending:
        record = lookup(link.idempotency_key) if link.idempotency_key else None
        if record is None:
            continue
        try:
            primary_channel, found = unseal("conversation", record.reference, 2)
        except BadReference:
            continue
        if found == conversation_id:
            return {"primary_channel": text(primary_channel), "conversation_id": text(conversation_id)}
    for item in Conversation.conversation_id_index.query(conversation_id, limit=1):
        return {"primary_channel": text(item.primary_channel), "conversation_id": text(conversation_id)}
    raise NotFound("The conversation of this trail cannot be found.")


def _fence(key: Raw, raw: Raw, actor: Actor) -> str:
    """Replace the last action by a recorded one that changes nothing else, so that late writes are refused.

    Return the fence's id. Its outcome is judged like that of any other action.
    """
    fence = HandOffAct(
        action=Action.HAND_OFF_FENCE,
        actor=actor,
        primary_channel=key["primary_channel"]["S"],
        conversation_id=key["conversation_id"]["S"],
        company_id=raw.get("company_id", {}).get("S", ""),
        action_id=new_action_id(),
        previous=last_action_of(raw),
        seen={"stamp": last_action_of(raw)},
    )
    recorded, _ = begin(fence, clock.now())
    sent = send(fence_of(fence.primary_channel, fence.conversation_id, fence.previous, fence.action_id, raw))
    if sent.item is not None and last_action_of(sent.item) == fence.action_id:
        close_quietly(recorded, Result.SUCCESS)
    elif isinstance(sent.error, ItemFull):
        # Each run would leave another one.
        close_quietly(recorded, f"{Result.FAILED}: the conversation has no room left")
    return fence.action_id


def _close(link: ChainLink, found: Resolution, *, is_old: bool, fenced: bool, dry: bool) -> Settled:
    """Write the result of an action, unless it stays open or with `dry`."""
    match found:
        case Resolution.APPLIED:
            result, note = Result.SUCCESS.value, ""
        case Resolution.REFUSED:
            result, note = FENCED if fenced else REFUSED, ""
        case Resolution.OPEN if is_old and dry:
            result, note = "", "would be fenced"
        case Resolution.UNKNOWN if is_old:
            result, note = UNKNOWN, ""
        case _:
            result, note = "", "still open"
    if result and dry:
        note = "not written"
    elif result and not close(_recorded(link), result, clock.now()):
        note = "settled by another process in the meantime"
    return Settled(link.trail, link.action_id, link.action_type, link.at, result, note)


def _recorded(link: ChainLink) -> RecordedAction:
    event_id = link.idempotency_key or event_key(link.trail, link.action_id)
    gone = RecordedAction(event_id, link.trail, link.sort_key, Result.PENDING, 0, reference="")
    return lookup(event_id) or gone
