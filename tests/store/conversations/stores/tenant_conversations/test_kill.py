"""SIGKILL before and after every DynamoDB call of a clear: it is removed with its entry, or neither."""

import pytest

from conversations.stores.tenant_conversations import clearing
from tests.store.conversations.handoff.test_kill import MOST_CALLS, victims  # noqa: F401 (a fixture)
from tests.support.conversations.stores.tenant_conversations.kit import ADMIN, REF, TENANT, item

# As in the hand-off: what a process that dies leaves behind, the real store shows.
pytestmark = pytest.mark.dynoxide_only


@pytest.mark.parametrize("kill", ["before", "after"])
def test_killed_at_any_call_of_a_clear_and_sent_again(store, victims, kill):  # noqa: F811
    happened = []
    for nth in range(1, MOST_CALLS):
        store.put("TENANT_CONVERSATIONS", item())
        seen = clearing.seen_of(clearing.load_to_clear(TENANT, REF, ADMIN))
        job = {"clear": [TENANT, REF, seen]}
        ended = victims(job, kill, nth)
        is_gone, entries = not store.all("TENANT_CONVERSATIONS"), store.all("AUDIT")
        assert len(entries) == is_gone
        happened.append(is_gone)
        assert victims(job) == {"killed": False, "code": 0}
        assert not store.all("TENANT_CONVERSATIONS")
        assert [entry["action_type"] for entry in store.all("AUDIT")] == ["tenant_conversation.cleared"]
        store.empty()
        if not ended["killed"]:
            assert ended["code"] == 0
            break
    assert set(happened) == {False, True}
