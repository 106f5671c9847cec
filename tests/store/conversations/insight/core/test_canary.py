"""Nothing personal gets into Insight, in whatever field it comes."""

import base64
import re
import zlib
from html import unescape

import pytest
from django.urls import reverse

from console.store.calls import table_name
from conversations.indexer.handling import handle
from conversations.insight.facts import FactKind
from conversations.insight.reports import PAGES
from conversations.insight.rolling import roll_changed
from conversations.workers.streams.records import StreamChange
from tests.dynamodb import from_dynamodb
from tests.people import auditor, signed_in
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


def plant(store, planted: str) -> None:
    """A conversation with it in every field, its state and its trail; the indexer hears of it."""
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
    handle(StreamChange(None, stored, NOW))


@pytest.mark.parametrize("planted", PERSONAL)
def test_nothing_personal_is_kept_of_any_field(store, time, planted):
    plant(store, planted)
    assert len(list(roll_changed({}))) == 2
    kept = everything_stored(store)
    assert "SUMS#" in kept
    assert "INSIGHT_LINK#" in kept
    for part in (planted, *PERSONAL[planted].split("|"), "447700", "900456"):
        assert part.lower() not in kept.lower()


@pytest.mark.slow
@pytest.mark.parametrize("slug", [slug for slug, page in PAGES.items() if page.kind is FactKind.CONVERSATIONS])
def test_nothing_personal_is_in_the_files_of_charts(store, time, slug):
    for planted in PERSONAL:
        plant(store, planted)
    assert list(roll_changed({}))
    client = signed_in(auditor())
    of_march = "company=ci-aaa-001&period=days&since=2026-03-01&until=2026-03-20"
    page = client.get(f"{reverse('insight-report', args=[slug])}?{of_march}").content.decode()
    files = [unescape(each) for each in re.findall(r'<a href="([^"]+)">CSV<', page)]
    texts = [client.get(each).content.decode().lower() for each in files]
    assert max(text.count("\n") for text in texts) > 1
    parts = [part for planted in PERSONAL for part in (planted, *PERSONAL[planted].split("|"), "447700", "900456")]
    for text in texts:
        assert [part for part in parts if part.lower() in text] == []
