"""Writing on a conversation: one conditional UpdateItem of the named attributes, `updated_at` never among them."""

from console.store.calls import ConditionFailed
from console.store.connection import call
from conversations.handoff.stored import (
    AGENT,
    ATTENTION,
    ATTRIBUTES,
    BEFORE,
    FLAG,
    LAST_ACTION,
    LEFT_AT,
    QUEUE,
    REQUESTED_AT,
    SWITCH,
    TO_AI_AT,
    Conditions,
    Expression,
    Raw,
    matters,
    update_item,
)
from conversations.indexer.states import Repair

# What a repair is judged by: it must be on the item as it was read.
JUDGED_BY = (FLAG, AGENT, LAST_ACTION, REQUESTED_AT, QUEUE)
# What attention is judged by too, besides the messages.
OF_PLATFORM = ("conversation_status", "updated_at")
# What is read of an item to judge it, and to tell of it.
READ = (*ATTRIBUTES, "company_name", "project_id", "channel_method", "messages")


def key_in(stored: Raw) -> Raw:
    """The key of an item."""
    return {name: stored[name] for name in ("primary_channel", "conversation_id")}


def write(stored: Raw, repair: Repair) -> bool:
    """Repair an item that is still as it was read; False if it is not, or is gone. Raises the store's errors."""
    conditions = Conditions()
    attention = (ATTENTION, LEFT_AT, TO_AI_AT, *OF_PLATFORM) if _is_about_attention(repair) else ()
    for attribute in (*JUDGED_BY, *attention, *((SWITCH, BEFORE) if matters(stored) else ())):
        conditions.as_read(attribute, stored)
    if attention:
        conditions.as_long_as_read("messages", stored)
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


def _is_about_attention(repair: Repair) -> bool:
    """Whether a repair says that something needs attention, or no longer: a newer message must not be missed."""
    return ATTENTION in repair.values or ATTENTION in repair.removed


def after(stored: Raw, repair: Repair) -> Raw:
    """The item as it is once the repair is written."""
    return {name: value for name, value in stored.items() if name not in repair.removed} | repair.values
