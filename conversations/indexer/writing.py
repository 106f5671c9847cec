"""Writing on a conversation: one conditional UpdateItem of the named attributes, `updated_at` never among them."""

from console.store.connection import call
from console.store.errors import ConditionFailed
from conversations.handoff.effects import (
    AGENT,
    FLAG,
    LAST_ACTION,
    QUEUE,
    REQUESTED_AT,
    Conditions,
    Expression,
    Raw,
    update_item,
)
from conversations.handoff.routing import BEFORE, SWITCH, matters
from conversations.indexer.states import Repair

# What a repair is judged by: it must be on the item as it was read.
JUDGED_BY = (FLAG, AGENT, LAST_ACTION, REQUESTED_AT, QUEUE)


def key_in(stored: Raw) -> Raw:
    """The key of an item."""
    return {name: stored[name] for name in ("primary_channel", "conversation_id")}


def write(stored: Raw, repair: Repair) -> bool:
    """Repair an item that is still as it was read; False if it is not, or is gone. Raises the store's errors."""
    conditions = Conditions()
    for attribute in (*JUDGED_BY, *((SWITCH, BEFORE) if matters(stored) else ())):
        conditions.as_read(attribute, stored)
    change = Expression(dict(repair.values), removed=repair.removed)
    key = key_in(stored)
    request = update_item(key["primary_channel"]["S"], key["conversation_id"]["S"], change, conditions, returns="NONE")
    # What is there instead is read again, by whoever judges again: no need to send a whole conversation along.
    del request["ReturnValuesOnConditionCheckFailure"]
    try:
        call("UpdateItem", **request)
    except ConditionFailed:
        return False
    return True


def after(stored: Raw, repair: Repair) -> Raw:
    """The item as it is once the repair is written."""
    return {name: value for name, value in stored.items() if name not in repair.removed} | repair.values
