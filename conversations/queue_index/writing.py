"""Repairs of a conversation: one conditional UpdateItem of the named attributes, never `updated_at`."""

from console.store.calls import ConditionFailed
from console.store.connection import call
from conversations.handoff.partitions import note_arrival
from conversations.handoff.stored import (
    AGENT,
    ATTENTION,
    ATTRIBUTES,
    FLAG,
    LAST_ACTION,
    LEFT_AT,
    QUEUE,
    REQUESTED_AT,
    ROUTING_BEFORE,
    SWITCH,
    TO_AI_AT,
    Conditions,
    Expression,
    Raw,
    involves_routing,
    key_in,
    update_item,
)
from conversations.queue_index.states import Repair

# Attributes that a repair is based on: they must be unchanged since the item was read.
JUDGED_BY = (FLAG, AGENT, LAST_ACTION, REQUESTED_AT, QUEUE)
# Attributes that attention also depends on, in addition to the messages.
PLATFORM_ATTRIBUTES = ("conversation_status", "updated_at")
# Attributes read of an item, to judge it and to notify about it.
READ = (*ATTRIBUTES, "company_name", "project_id", "channel_method", "messages")


def write(stored: Raw, repair: Repair) -> bool:
    """Repair an item if it is still as read; return False if it changed or is gone. Raises the store's errors."""
    conditions = Conditions()
    attention = (ATTENTION, LEFT_AT, TO_AI_AT, *PLATFORM_ATTRIBUTES) if _is_about_attention(repair) else ()
    for attribute in (*JUDGED_BY, *attention, *((SWITCH, ROUTING_BEFORE) if involves_routing(stored) else ())):
        conditions.as_read(attribute, stored)
    if attention:
        conditions.as_long_as_read("messages", stored)
    change = Expression(dict(repair.values), removed=repair.removed)
    note_arrival(stored, change)
    key = key_in(stored)
    request = update_item(key["primary_channel"]["S"], key["conversation_id"]["S"], change, conditions, returns="NONE")
    # The caller reads the item again if it judges it again: do not return a whole conversation with the failure.
    del request["ReturnValuesOnConditionCheckFailure"]
    try:
        call("UpdateItem", **request)
    except ConditionFailed:
        return False
    return True


def _is_about_attention(repair: Repair) -> bool:
    """Return whether a repair changes what needs attention: such a write must not miss a newer message."""
    return ATTENTION in repair.values or ATTENTION in repair.removed


def after(stored: Raw, repair: Repair) -> Raw:
    """Return the item with the repair applied."""
    return {name: value for name, value in stored.items() if name not in repair.removed} | repair.values
