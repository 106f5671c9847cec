"""What a page says of a reply, from its row alone."""

from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.refs import unseal_data
from conversations.conversation.updates import replies_known
from conversations.outbox.rows import MessageRow, status_of
from conversations.outbox.states import ReplyState

NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


def reply(**values) -> MessageRow:
    return MessageRow("c1\n+44", "p1", **{"direction": "out", "author": "ana", "state": "queued"} | values)


@pytest.mark.parametrize(
    ("state", "ahead", "seconds"),
    [("queued", 10.0, 10), ("queued", 0.5, 1), ("queued", 0.0, 0), ("queued", -5.0, 0), ("sending", 10.0, 0)],
)
def test_a_reply_can_be_taken_back_until_it_leaves(state, ahead, seconds):
    status = status_of(reply(state=state, not_before=clock.to_iso(NOW + timedelta(seconds=ahead))))
    assert status.undo_seconds == seconds
    assert bool(status.undo) == bool(seconds)
    if seconds:
        assert unseal_data("sent reply", status.undo) == ["c1\n+44", "p1"]


@pytest.mark.parametrize("not_before", [None, "soon"])
def test_a_reply_that_leaves_at_no_known_time_cannot_be_taken_back(not_before):
    status = status_of(reply(not_before=not_before))
    assert (status.undo_seconds, status.undo) == (0, "")


@pytest.mark.parametrize("state", ReplyState)
def test_only_a_reply_that_certainly_did_not_arrive_can_be_sent_again(state):
    can_be = state in ("failed", "not sent")
    status = status_of(reply(state=state.value))
    assert bool(status.again) is can_be
    if can_be:
        assert unseal_data("sent reply", status.again) == ["c1\n+44", "p1"]
    assert status_of(reply(state=state.value, retried_by="another")).again == ""
    assert status_of(reply(state=state.value, template="HX1")).again == ""


SAID = {
    "queued": ("sending", ""),
    "sending": ("sending", ""),
    "sent": ("sent", ""),
    "delivered": ("delivered", "good"),
    "read": ("read", "good"),
    "failed": ("failed", "bad"),
    "not sent": ("not sent", "bad"),
    "unknown": ("not known to be sent", "human"),
    "recalled": ("recalled", ""),
    None: ("unknown", ""),
}


@pytest.mark.parametrize("state", SAID)
def test_each_state_is_said_in_words_and_one_of_another_version_as_it_is(state):
    status = status_of(reply(state=state, state_at="2026-02-01T09:00:00Z"))
    assert (status.label, status.tone) == SAID[state]
    assert status.state == (state or "")
    assert status.at == NOW - timedelta(hours=1)


def test_an_error_that_a_service_worded_is_redacted():
    assert status_of(reply(state="failed", error="No way to +447700900123.")).error == "No way to ***-***-0123."
    assert status_of(reply(author=None)).author == status_of(reply()).error == ""


def test_an_open_page_learns_of_each_change_of_a_reply_and_of_nothing_else():
    rows = [reply(), MessageRow("c1\n+44", "p2", direction="out", state="sent")]
    known = replies_known(rows)
    assert replies_known(rows[::-1]) == known
    assert replies_known([*rows, MessageRow("c1\n+44", "p3", direction="in", state="received")]) == known
    assert replies_known([reply(state="sent"), rows[1]]) != known
    assert replies_known([reply(retried_by="another"), rows[1]]) != known
    assert replies_known([]) == ""


def test_only_the_latest_thirty_replies_can_change_a_page():
    rows = [MessageRow("c1\n+44", f"p{number:02}", direction="out", state="sent") for number in range(31)]
    known = replies_known(rows)
    rows[0].state = "failed"
    assert replies_known(rows) == known
    rows[1].state = "failed"
    assert replies_known(rows) != known
