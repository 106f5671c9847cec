"""Nothing personal gets into Insight, in whatever field it comes."""

import base64
import zlib

import pytest

from console.schema.tables import table_name
from conversations.indexer.handling import handle
from conversations.indexer.streams.records import StreamChange
from conversations.insight.rolling import roll_changed
from tests.dynamodb import from_dynamodb
from tests.store.conversations.insight.core.kit import NOW
from tests.unit.conversations.insight.kit import DAY, HOUR, MINUTE, Trail, item, said

pytestmark = pytest.mark.usefixtures("time", "key_is_there")

# Each with what must not be found of it.
PERSONAL = {
    "Philippa Featherstone": "Featherstone",
    "philippa.featherstone@mail.example": "featherstone@",
    "+447700900456": "900456",
    "07700 900456": "900 456|900456",
    "tel:07700-900-456": "900-456",
    "whatsapp:+447700900456": "900456",
    "0044 (0)7700 900456": "900456",
    "order_88213347_not_found": "88213347",
    "order 88213347": "88213347",
    "12 Larkspur Crescent, Norwich": "Larkspur",
    "Philippa wants her refund of order 88213347": "88213347|Philippa",
    "4111 1111 1111 1111": "4111 1111",
    "AB123456C for Philippa": "Philippa",
}
CONVERSATION = "ci-aaa-001#pi-aaa-001#r1#447700900456"


def everything_stored(store) -> str:
    """All of Insight's items and links as text, and what is packed in them unpacked."""
    texts = []
    for table in ("INSIGHT", "CONSOLE"):
        for stored in store.client.scan(TableName=table_name(table))["Items"]:
            found = from_dynamodb(stored)
            if table == "CONSOLE" and not found["pk"].startswith("INSIGHT"):
                continue
            if "counts" in found:
                packed = found.pop("counts")
                texts.append(zlib.decompress(base64.b64decode(packed) if isinstance(packed, str) else packed).decode())
            if "sealed" in found:
                texts.append(base64.b64decode(found["sealed"] + "==", altchars=b"-_").decode("latin-1"))
            texts.append(repr(found))
    return "\n".join(texts)


@pytest.mark.parametrize("planted", PERSONAL)
def test_nothing_personal_is_kept_of_any_field(store, time, planted):
    words = said("user", MINUTE, content=planted, name=planted, sender=planted)
    stored = item(
        words,
        said("assistant", 2 * MINUTE, content=planted, model=planted),
        said("ana", HOUR, content=planted, agent=planted, agent_name=planted),
        said("user", 12 * DAY, role=planted, content=planted),
        **{
            **{"primary_channel": "+447700900456", "conversation_id": CONVERSATION, "recipient_name": planted},
            **{"recipient_tel": planted, "recipient_email": planted, "project_id": planted, "project_name": planted},
            **{"channel_method": planted, "ai_config": {"model": planted, planted: {"deployment_name": planted}}},
            **{"processor_version": planted, "router_version": planted, "failure_reason": planted},
            **{"conversation_status": f"failed_{planted}", "hand_off_to_human": True, "request_id": planted},
            **{"hand_off_to_human_reason": planted, "hand_off_note": planted, "hand_off_agent": planted},
        },
    )
    state = {"conversation_id": CONVERSATION, "last_intent": planted, "last_routing_confidence": 0.9}
    store.put("CONVERSATION_STATE", state | {"last_routed_team": planted, "pending_flow": {planted: planted}})
    trail = Trail().asks(HOUR, planted).add("hand_off.take", 2 * HOUR, planted, reason=planted)
    for entry in trail.add("hand_off.hand_back", 3 * HOUR, planted, reason=planted).entries:
        entry.conversation_id = CONVERSATION
        entry.save()
    store.put("CONVERSATIONS", from_dynamodb(stored))
    handle(StreamChange("1", None, stored, NOW))
    assert len(list(roll_changed({}))) == 2
    kept = everything_stored(store)
    assert "SUMS#" in kept
    assert "INSIGHT_LINK#" in kept
    for part in (planted, *PERSONAL[planted].split("|"), "447700", "900456"):
        assert part.lower() not in kept.lower()
