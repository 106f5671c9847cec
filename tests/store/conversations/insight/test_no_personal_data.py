"""Nothing personal of what the other stores hold is in the facts, in what is noted of walks, or in clear in links."""

import json
from datetime import timedelta

import pytest

from console import clock
from conversations.insight import walking
from conversations.insight.measures import TOPICS
from conversations.insight.walking import WALKED, FactWalker
from tests.store.conversations.indexer.test_worker import Clock
from tests.support.conversations.insight.kit import stored_facts, sums
from tests.support.conversations.stores.chats.kit import event, session
from tests.support.conversations.stores.tenant_conversations.kit import item
from tests.support.conversations.stores.threads.kit import message, thread
from tests.support.tenants.items import tenant

PHONE, EMAIL, NAME, DIGITS = "+447700900123", "sam.smith@example.com", "Zebedee Canary", "447700900123"
CANARIES = (PHONE, EMAIL, NAME, DIGITS, "zebedee", "sam.smith", "canary")
LATER = {"expires_at": clock.to_epoch(clock.now() + timedelta(days=20))}
TOLD = f"{NAME} {PHONE} {EMAIL}"


def everything(store) -> None:
    """Items of every store with personal data wherever a writer may put any."""
    base, at = f"org#{EMAIL}", clock.to_iso(clock.now() - timedelta(days=3))
    store.put_all(
        "THREADS",
        [
            thread(f"t-{DIGITS}", base, title=TOLD, origin=f"phone:{DIGITS}"),
            message("MSG", f"q-{DIGITS}", PK=f"{base}#t-{DIGITS}", content=TOLD, role=EMAIL),
            message(
                "LLM",
                "a",
                PK=f"{base}#t-{DIGITS}",
                content=TOLD,
                verso=TOLD,
                feedback=TOLD,
                stop_reason=EMAIL,
                sources=[
                    {"title": TOLD, "url": f"https://{DIGITS}.example/{NAME[:7]}"},
                    f"https://{EMAIL}/",
                    TOLD,
                ],
                response_metadata={"model": EMAIL, "user": TOLD, "stop_reason": PHONE, "usage": {"input_tokens": 3}},
            ),
        ],
    )
    begun = clock.to_epoch(clock.now()) - 600
    config = json.dumps({"model": PHONE, "user": NAME})
    store.put("SESSIONS", session(begun, UserId=PHONE, SessionId=f"{PHONE}:{begun}", SessionConfig=config))
    store.put(
        "CHATS", event(begun, begun + 5, EMAIL, SessionId=f"{PHONE}:{begun}", UserId=PHONE, ImageId=f"image-{DIGITS}")
    )
    conversation = f"ci-x#pi-x#{NAME}#{DIGITS}"
    store.put(
        "AUDIT",
        {
            "conversation_id": conversation,
            "ts_action_id": f"{at}#{EMAIL}",
            "action_type": f"call {PHONE}",
            "result": f"fail: {TOLD}",
            "action_payload_redacted": json.dumps({"to": TOLD}),
            **LATER,
        },
    )
    store.put(
        "IDEMPOTENCY",
        {
            "event_id": f"evt:rp:{conversation}:{EMAIL}",
            "conversation_id": conversation,
            "created_at": at,
            "mode": PHONE,
            "intent": NAME,
            "source_message_id": EMAIL,
            **LATER,
        },
    )
    flow = {"type": f"ask {NAME}", "requested_at": at, "phone": PHONE}
    store.put("CONVERSATION_STATE", {"conversation_id": conversation, "updated_at": at, "pending_flow": flow, **LATER})
    store.put("TENANTS", tenant("outlocks", name=NAME))
    said = [{"role": EMAIL, "content": TOLD, "metadata": {"timestamp": at, "user": TOLD}}]
    store.put("TENANT_CONVERSATIONS", item(f"c-{DIGITS}", said, pk=f"outlocks#{EMAIL}#{PHONE}"))


@pytest.mark.slow
def test_no_canary_is_stored_anywhere(store, monkeypatch):
    monkeypatch.setattr(walking, "PAGE", 1)
    everything(store)
    ticking = Clock()
    for kind in WALKED:
        one = FactWalker(kind, wait=ticking.wait, now=ticking.now, owner="one")
        for number in range(12):
            one.cycle()
            ticking.wait(6)
            assert_clean(store, f"{kind} {number}")
        assert not one.counts["failed"]
        assert stored_facts(store, kind), kind
        for topic in TOPICS[kind]:
            for measure in sums(kind, topic):
                assert not [each for each in CANARIES if each.lower() in " ".join(measure).lower()]
    assert_clean(store, "sums")


def assert_clean(store, when: str) -> None:
    for table in ("INSIGHT", "CONSOLE"):
        for each in store.all(table):
            text = json.dumps(each, default=str, ensure_ascii=False).lower()
            found = [canary for canary in CANARIES if canary.lower() in text]
            assert not found, (when, table, each["pk"], found)
