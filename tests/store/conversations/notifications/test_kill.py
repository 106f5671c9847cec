"""SIGKILL before and after every call of what notes and what brings: at least once with the same id, and never lost."""

import pytest
from django.conf import settings

from conversations.notifications.deliveries import announce
from tests.support.conversations.notifications import add_at, answering, bring, happened, pointers, rows
from tests.support.victims import victims as children

# What a process that dies leaves behind, the real store shows; its children share no memory with moto.
pytestmark = pytest.mark.dynoxide_only

MOST_CALLS = 40


@pytest.fixture
def victims(store, receiver):
    """Does jobs in children that get killed; see the module of that name."""
    where = {"NOTIFICATIONS_ALLOWED_HOSTS": "127.0.0.1", "SECRET_KEY": settings.SECRET_KEY}
    with children("tests.support.conversations.notifying_victims", store.environment() | where) as do:
        yield do


@pytest.mark.parametrize("kill", ["before", "after"])
@pytest.mark.parametrize("job", ["announce", "bring"])
def test_killed_at_any_call(store, receiver, victims, job, kill):
    receiver.answer = answering(204)
    for nth in range(1, MOST_CALLS):
        receiver.received.clear()
        add_at(receiver, "/one")
        add_at(receiver, "/two")
        what = [happened(name="1"), happened(name="2")]
        if job == "bring":
            announce(what)
        ended = victims(job, kill, nth)
        # The stream brings it again, and another notifier goes on.
        announce(what)
        _free_the_lease(store)
        bring()
        arrived = [(each.path, each.headers["webhook-id"]) for each in receiver.received]
        expected = {(path, each.id) for path in ("/one", "/two") for each in what}
        assert set(arrived) == expected
        # Each destination had one in its hands when the notifier died.
        assert len(arrived) <= len(expected) + 2
        assert {each["state"] for each in rows(store)} == {"delivered"}
        assert (len(rows(store)), pointers(store)) == (4, [])
        store.empty()
        if not ended["killed"]:
            assert ended["code"] == 0
            assert len(arrived) == len(expected)
            break
    assert 3 < nth < MOST_CALLS - 1


def _free_the_lease(store) -> None:
    store.delete("CONSOLE", pk="notifications", sk="LEASE")
