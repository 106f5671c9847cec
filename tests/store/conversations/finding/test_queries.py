"""Which index serves each list, what a person sees of it, and what happens where an index is absent."""

from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.errors import NotFound, StoreUnavailable
from console.permissions import Role, Scope, Staff
from console.provisioning.definition import create_table_request
from console.store import presence
from conversations.converting import reference_of
from conversations.finding.filters import ConversationFilters
from conversations.finding.listing import neighbour_of, read_list
from conversations.finding.queries import load_row, of_company, of_project, of_recipient, of_reply
from tests.items import conversation, key_of, put_conversation
from tests.queue import filled
from tests.tables import create, create_without_some_indexes, gsis

COMPANY, OTHER = "ci-aaa-001", "ci-bbb-002"
TEL = "+447700900123"
UNSORTED, PROJECT_INDEX = "company-id-project-id-index", "company-id-project-id-updated-at-index"
AGENT = Staff("amira.haddad", "Amira", Role.AGENT, Scope.of([COMPANY]))
ADMIN = Staff("ada.admin", "Ada", Role.ADMIN, Scope.of(["*"]))


def instant(text: str) -> datetime:
    found = clock.parse_instant(text)
    assert found is not None
    return found


def read(listed, staff=AGENT):
    return read_list(listed, staff)


def statuses(page) -> list[str]:
    return sorted(row.status for row in page.rows)


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        (
            ConversationFilters(since=instant("2026-01-01"), status="failed", channel="sms", task=True),
            "created-at-index",
        ),
        (ConversationFilters(until=instant("2026-01-01"), task=True), "created-at-index"),
        (ConversationFilters(status="failed", channel="sms", task=True), "conversation-status-index"),
        (ConversationFilters(channel="sms", task=True), "channel-method-index"),
        (ConversationFilters(task=True), "task-complete-index"),
    ],
)
def test_a_recipients_first_filter_chooses_the_local_index(store, filters, index):
    with store.calls() as seen:
        read(of_recipient(TEL, filters, AGENT))
    assert {(call.operation, call.index) for call in seen} == {("Query", index)}
    assert all("ProjectionExpression" in call.request and "FilterExpression" not in call.request for call in seen)
    names = {name for call in seen for name in call.request["ExpressionAttributeNames"].values()}
    assert not names & {"messages", "ai_config", "channel_config", "project_data"}


@pytest.mark.parametrize("filters", [ConversationFilters(), ConversationFilters(hand_off="ai")])
def test_without_such_a_filter_a_recipients_list_is_newest_first_and_leaves_nothing_out(store, filters):
    for status, created in (("old", "2026-01-01T10:00:00Z"), ("undated", ...), ("new", "2026-03-01T10:00:00Z")):
        put_conversation(store, conversation_status=status, created_at=created)
    with store.calls() as seen:
        page = read(of_recipient(TEL, filters, AGENT))
    assert [row.status for row in page.rows] == ["new", "old", "undated"]
    assert "created_at: missing" in page.rows[-1].drift
    assert [(call.operation, call.index) for call in seen] == [("Query", "created-at-index"), ("Query", "")]


def test_the_filters_that_no_index_serves_are_applied_after_reading(store):
    wanted = {"conversation_status": "failed", "channel_method": "sms", "task_complete": 1}
    put_conversation(store, **wanted)
    for name, other in (("conversation_status", "completed"), ("channel_method", "whatsapp"), ("task_complete", 0)):
        put_conversation(store, **wanted | {name: other})
    put_conversation(store, **wanted, hand_off_to_human=True)
    found = read(of_recipient(TEL, ConversationFilters("failed", "sms", "ai", task=True), AGENT))
    assert len(found.rows) == 1
    assert len(read(of_recipient(TEL, ConversationFilters(channel="sms"), AGENT)).rows) == 4
    assert len(read(of_recipient(TEL, ConversationFilters(task=False), AGENT)).rows) == 1
    assert len(read(of_recipient(TEL, ConversationFilters(), AGENT)).rows) == 5


def test_dates_compare_as_instants_in_every_spelling_newest_first(store):
    inside = {
        "zulu": "2026-03-01T00:00:00Z",
        "offset": "2026-03-02T00:30:00+02:00",
        "earlier-day-by-offset": "2026-02-28T20:00:00-05:00",
        "both": "2026-03-01T12:00:00+00:00Z",
        "no-zone": "2026-03-01T09:00:00",
        "epoch": str(int(instant("2026-03-01T10:00:00Z").timestamp())),
        "milliseconds": str(int(instant("2026-03-01T11:00:00Z").timestamp() * 1000)),
    }
    outside = {
        "before": "2026-02-28T23:59:59Z",
        "after": "2026-03-02T00:00:00Z",
        "inside-as-text-only": "2026-03-01T00:30:00+02:00",
        "epoch-before": str(int(instant("2026-02-28T10:00:00Z").timestamp())),
        "words": "2026-03-01 at noon",
    }
    for status, created in (inside | outside).items():
        put_conversation(store, conversation_status=status, created_at=created)
    filters = ConversationFilters(since=instant("2026-03-01"), until=instant("2026-03-02"))
    with store.calls() as seen:
        page = read(of_recipient(TEL, filters, AGENT))
    assert statuses(page) == sorted(inside)
    assert len(seen) == 2
    iso = [row.created_at for row in page.rows if not row.status.startswith(("epoch", "milli", "offset", "earlier"))]
    assert iso == sorted(iso, reverse=True)
    open_ended = read(of_recipient(TEL, ConversationFilters(since=instant("2026-03-01")), AGENT))
    assert statuses(open_ended) == sorted([*inside, "after"])
    until = read(of_recipient(TEL, ConversationFilters(until=instant("2026-03-01")), AGENT))
    assert statuses(until) == sorted({"before", "inside-as-text-only", "epoch-before"})


def test_a_row_is_shown_only_within_scope_and_without_company_only_to_scope_all(store):
    put_conversation(store, conversation_status="mine")
    put_conversation(store, company_id=OTHER, conversation_status="other")
    put_conversation(store, company_id=..., conversation_status="nobody", request_id="n")
    put_conversation(store, conversation_status="gone", ttl=clock.to_epoch(clock.now()) - 1)
    put_conversation(store, conversation_status="lives", ttl=clock.to_epoch(clock.now()) + 900)
    assert statuses(read(of_recipient(TEL, ConversationFilters(), AGENT))) == ["lives", "mine"]
    assert statuses(read(of_recipient(TEL, ConversationFilters(), ADMIN), ADMIN)) == [
        "lives",
        "mine",
        "nobody",
        "other",
    ]
    assert not read(of_company(OTHER, ConversationFilters(), AGENT)).rows
    assert not read(of_recipient(TEL, ConversationFilters(), Staff("x", "X", Role.AGENT, Scope()))).rows


def test_companies_and_projects_are_read_through_their_index(store):
    days = {"pi-1": "2026-01-01", "pi-2": "2026-01-03", "pi-20": "2026-01-02"}
    for project_id, day in days.items():
        put_conversation(store, project_id=project_id, conversation_status=project_id, updated_at=f"{day}T08:00:00Z")
    put_conversation(store, project_id="pi-1", conversation_status="untimed", updated_at=...)
    with store.calls() as seen:
        everything = read_list(of_company(COMPANY, ConversationFilters(), AGENT), AGENT)
        by_project = read_list(of_company(COMPANY, ConversationFilters(), AGENT, in_time=False), AGENT)
    assert [row.status for row in everything.rows] == ["pi-2", "pi-20", "pi-1"]
    assert [row.project_id for row in by_project.rows] == ["pi-1", "pi-1", "pi-2", "pi-20"]
    assert [call.index for call in seen] == ["company-id-updated-at-index", "company-id-project-id-index"]
    with store.calls() as seen:
        project = read_list(of_project(COMPANY, "pi-1", ConversationFilters(), AGENT), AGENT)
    assert [row.status for row in project.rows] == ["pi-1", "untimed"]
    # The second Query finds those without a time, which only the last page does.
    assert [call.index for call in seen] == ["company-id-project-id-updated-at-index", "company-id-project-id-index"]
    first = put_conversation(store, project_id="pi-1", conversation_status="first", updated_at="2026-01-04")
    store.put_all("CONVERSATIONS", [conversation(project_id="pi-1") for _ in range(50)])
    with store.calls() as seen:
        page = read_list(of_project(COMPANY, "pi-1", ConversationFilters(), AGENT), AGENT)
    assert len(page.rows) == 50
    assert [call.index for call in seen] == ["company-id-project-id-updated-at-index"]
    rest = read_list(of_project(COMPANY, "pi-1", ConversationFilters(), AGENT), AGENT, page.next)
    assert [row.status for row in rest.rows] == ["first", "pi-1", "untimed"]
    assert rest.rows[0].reference == reference_of(**key_of(first))


def test_without_its_own_index_a_small_project_is_one_query_in_order_of_time(bare_store):
    create(bare_store, "CONVERSATIONS", GlobalSecondaryIndexes=gsis("CONVERSATIONS", PROJECT_INDEX))
    times = {"epoch": "1767520800000", "offset": "2026-01-04T12:30:00+02:00", "words": "noon", "none": ...}
    for status, at in {"oldest": "2026-01-03", **times, "latest": "2026-01-05"}.items():
        put_conversation(bare_store, conversation_status=status, updated_at=at)
    listed = of_project(COMPANY, "pi-aaa-001", ConversationFilters(), AGENT)
    assert presence.index_absent("CONVERSATIONS", PROJECT_INDEX)
    with bare_store.calls() as seen:
        page = read(listed)
    assert [row.status for row in page.rows[:4]] == ["latest", "offset", "epoch", "oldest"]
    assert sorted(row.status for row in page.rows[4:]) == ["none", "words"]
    assert page.notice == ""
    assert [call.index for call in seen] == ["company-id-project-id-index"]


def test_a_project_too_large_to_sort_begins_with_its_newest_rows_and_says_so(bare_store, monkeypatch):
    monkeypatch.setattr("console.store.sorting.ROWS_PER_READ", 3)
    create(bare_store, "CONVERSATIONS", GlobalSecondaryIndexes=gsis("CONVERSATIONS", PROJECT_INDEX))
    presence.index_ready("CONVERSATIONS", PROJECT_INDEX)
    for number in range(20):
        put_conversation(bare_store, conversation_status=f"{number}", updated_at=f"2026-01-01T00:00:{number:02}Z")
    listed = of_project(COMPANY, "pi-aaa-001", ConversationFilters(), AGENT)
    with bare_store.calls() as seen:
        page = read(listed)
    assert [row.status for row in page.rows[:2]] == ["19", "18"]
    assert statuses(page) == sorted(map(str, range(20)))
    assert page.notice == (
        "This project has more conversations than one page can sort. The newest come first, the others in no order of "
        "time."
    )
    # Four to find out that it is too large, which is remembered, the newest, and the others.
    assert [call.index for call in seen] == [*[UNSORTED] * 4, "company-id-updated-at-index", UNSORTED]
    with bare_store.calls() as seen:
        read(listed)
    assert [call.index for call in seen] == ["company-id-updated-at-index", UNSORTED]


def test_a_filter_that_finds_nothing_in_one_page_of_a_project_says_so_and_goes_on(store, monkeypatch):
    monkeypatch.setattr("console.store.paging._limit", lambda *_: 2)
    for number in range(11):
        put_conversation(store, updated_at=f"2026-01-02T00:00:{number:02}Z")
    put_conversation(store, updated_at="2026-01-01", conversation_status="rare")
    listed = of_project(COMPANY, "pi-aaa-001", ConversationFilters(status="rare"), AGENT)
    page = read(listed)
    assert not page.rows
    assert page.notice == "Searched the newest 8 conversations: none of them matches. There are more to search."
    assert statuses(read_list(listed, AGENT, page.next)) == ["rare"]


def test_hand_offs_come_from_the_queues_index_only_once_it_is_filled(store):
    put_conversation(store, hand_off_to_human=True, conversation_status="not indexed")
    keys = {"gsi_hand_off_queue": f"waiting#{COMPANY}", "hand_off_requested_at": "2026-01-01T00:00:00Z"}
    put_conversation(store, hand_off_to_human=True, conversation_status="indexed", **keys)
    # The platform has cleared its flag, and the indexer has yet to notice.
    put_conversation(store, hand_off_to_human=False, conversation_status="over", **keys)
    filters = ConversationFilters(hand_off="waiting")
    assert statuses(read(of_company(COMPANY, filters, AGENT))) == ["indexed", "not indexed"]
    filled(store)
    for listed in (of_company(COMPANY, filters, AGENT), of_project(COMPANY, "pi-aaa-001", filters, AGENT)):
        assert statuses(read(listed)) == ["indexed"]
    assert not read(of_project(COMPANY, "pi-other", filters, AGENT)).rows
    for each in (of_company(OTHER, filters, AGENT), of_project(OTHER, "pi-aaa-001", filters, AGENT)):
        assert not read(each).rows


def test_more_hand_offs_than_one_page_can_sort_are_filtered_from_the_company(store, monkeypatch):
    monkeypatch.setattr("console.store.sorting.ROWS_PER_READ", 2)
    filled(store)
    for number in range(10):
        keys = {"gsi_hand_off_queue": f"held#{COMPANY}", "hand_off_requested_at": f"2026-01-01T00:00:{number:02}Z"}
        put_conversation(store, conversation_status=f"{number}", hand_off_agent="jon", **keys)
    filters = ConversationFilters(hand_off="held")
    listed = of_company(COMPANY, filters, AGENT)
    assert len(read(listed).rows) == 10
    with store.calls() as seen:
        assert len(read(listed).rows) == 10
    assert {call.index for call in seen} == {"company-id-updated-at-index"}


def test_without_the_index_of_activity_a_company_is_listed_in_no_order_of_time(bare_store):
    create_without_some_indexes(bare_store, kept=("company-id-project-id-index",))
    put_conversation(bare_store, conversation_status="there")
    page = read_list(of_company(COMPANY, ConversationFilters(), AGENT), AGENT)
    assert statuses(page) == ["there"]
    assert page.notice == (
        "The index company-id-updated-at-index is missing in this environment, so the conversations are not "
        "sorted by time."
    )


@pytest.mark.parametrize(
    ("hand_off", "found"),
    [("waiting", ["text", "waiting"]), ("held", ["held", "overridden"]), ("ai", ["absent", "ai", "null"])],
)
def test_the_hand_off_filter_takes_absent_and_null_for_false(store, hand_off, found):
    flags = {
        "ai": False,
        "absent": ...,
        "null": None,
        "waiting": True,
        "text": "true",
        "held": True,
        "overridden": False,
    }
    for status, flag in flags.items():
        agent = "jon" if status in ("held", "overridden") else ...
        put_conversation(store, conversation_status=status, hand_off_to_human=flag, hand_off_agent=agent)
    assert statuses(read(of_company(COMPANY, ConversationFilters(hand_off=hand_off), AGENT))) == found


@pytest.mark.parametrize(
    ("channel", "ours", "index", "attribute"),
    [
        ("whatsapp", "+447588713814", "company-whatsapp-number-recipient-tel-index", "gsi_company_whatsapp_number"),
        ("sms", "+447700900444", "company-sms-number-recipient-tel-index", "gsi_company_sms_number"),
        ("email", "replies@company.example", "company-email-recipient-email-index", "gsi_company_email"),
    ],
)
def test_each_reply_index_finds_our_side_and_the_recipient(store, channel, ours, index, attribute):
    theirs = "jo@example.com" if channel == "email" else TEL
    keys = {"gsi_company_whatsapp_number": ..., attribute: ours}
    keys |= {"gsi_recipient_email": theirs} if channel == "email" else {}
    put_conversation(store, primary_channel=theirs, channel_method=channel, **keys)
    put_conversation(store, primary_channel=theirs, company_id=OTHER, **keys)
    other = {"gsi_recipient_email": "other@example.com", "gsi_recipient_tel": "+447700900999"}
    put_conversation(store, primary_channel="+447700900999", **keys | other)
    with store.calls() as seen:
        page = read(of_reply(channel, ours, theirs, AGENT))
    assert [(call.operation, call.index) for call in seen] == [("Query", index)]
    assert len(page.rows) == 1
    assert page.rows[0].channel == channel


def test_drifted_items_are_flagged_rows_and_the_others_render(store):
    put_conversation(store, request_id="sound")
    bad = {
        "created_at": ...,
        "hand_off_to_human": "maybe",
        "company_name": 7,
        "hand_off_to_human_reason": 5,
        "messages": "[]",
        "ttl": "soon",
        "surprise": ["x"],
    }
    for name, value in bad.items():
        put_conversation(store, request_id=f"bad-{name}", **{name: value})
    page = read(of_company(COMPANY, ConversationFilters(), AGENT))
    assert len(page.rows) == len(bad) + 1
    flagged = {row.short_id for row in page.rows if row.drift}
    assert flagged == {f"bad-{name}" for name in bad} - {"bad-messages", "bad-surprise"}


def test_a_thin_page_says_how_far_it_looked_and_goes_on(store, monkeypatch):
    monkeypatch.setattr("console.store.paging._limit", lambda *_: 2)
    for number in range(11):
        put_conversation(store, request_id=f"r{number}", conversation_status="other")
    put_conversation(store, updated_at="2020-01-01", conversation_status="wanted")
    filters = ConversationFilters(status="wanted")
    page = read(of_company(COMPANY, filters, AGENT))
    assert not page.rows
    assert page.notice == "Searched the newest 8 conversations: none of them matches. There are more to search."
    following = read_list(of_company(COMPANY, filters, AGENT), AGENT, page.next)
    assert statuses(following) == ["wanted"]
    assert not following.next
    assert not following.notice
    newest = read(of_recipient(TEL, ConversationFilters(hand_off="held", since=instant("2020-01-01")), AGENT))
    assert newest.notice.startswith("Searched the newest 8 conversations: none of them matches.")


@pytest.fixture
def without_indexes(bare_store):
    """The conversations table as a deployment may have it: without local indexes and reply indexes."""
    request = create_table_request("CONVERSATIONS")
    del request["LocalSecondaryIndexes"], request["GlobalSecondaryIndexes"]
    request["AttributeDefinitions"] = [
        each
        for each in request["AttributeDefinitions"]
        if each["AttributeName"] in ("primary_channel", "conversation_id")
    ]
    bare_store.client.create_table(**request)
    presence.forget()
    return bare_store


def test_without_a_local_index_the_recipients_partition_is_filtered_and_it_is_said(without_indexes):
    without_indexes.put("CONVERSATIONS", conversation(conversation_status="failed", created_at="2026-03-01T10:00:00Z"))
    without_indexes.put("CONVERSATIONS", conversation(conversation_status="other", created_at="2026-04-01T10:00:00Z"))
    for filters in (ConversationFilters(status="failed"), ConversationFilters(until=instant("2026-03-02"))):
        page = read(of_recipient(TEL, filters, AGENT))
        assert statuses(page) == ["failed"]
        assert "is missing in this environment" in page.notice
    item = load_row(page.rows[0].reference, AGENT)
    assert neighbour_of(of_recipient(TEL, ConversationFilters(status="failed"), AGENT), item, back=False) is None


def test_without_the_index_that_a_list_needs_it_says_which(without_indexes):
    with pytest.raises(StoreUnavailable, match="company-id-project-id-index"):
        read(of_company(COMPANY, ConversationFilters(), AGENT))


def test_stepping_takes_one_small_query(store):
    for number in range(3):
        put_conversation(store, request_id=f"r{number}")
    listed = of_company(COMPANY, ConversationFilters(), AGENT)
    first, second, third = read(listed).rows
    item = load_row(second.reference, AGENT)
    with store.calls() as seen:
        assert neighbour_of(listed, item, back=False) == third
        assert neighbour_of(listed, item, back=True) == first
    assert [(call.operation, call.request["Limit"]) for call in seen] == [("Query", 1)] * 2
    assert neighbour_of(listed, load_row(third.reference, AGENT), back=False) is None


def test_stepping_keeps_to_filters_and_scope(store):
    for number, status in enumerate(("a", "b", "a")):
        put_conversation(store, request_id=f"r{number}", conversation_status=status)
    put_conversation(store, company_id=OTHER, conversation_status="a")
    listed = of_recipient(TEL, ConversationFilters(status="a"), AGENT)
    first, last = read(listed).rows
    assert neighbour_of(listed, load_row(first.reference, AGENT), back=False) == last
    assert neighbour_of(listed, load_row(last.reference, AGENT), back=False) is None
    other = load_row(read(of_company(COMPANY, ConversationFilters(status="b"), AGENT)).rows[0].reference, AGENT)
    assert neighbour_of(listed, other, back=False) is None


def test_loading_a_row_refuses_what_is_out_of_scope_gone_or_absent(store):
    mine, other = conversation(), conversation(company_id=OTHER)
    gone = conversation(ttl=clock.to_epoch(clock.now() - timedelta(hours=1)))
    for item in (mine, other, gone):
        store.put("CONVERSATIONS", item)
    assert load_row(reference_of(TEL, mine["conversation_id"]), AGENT).company_id == COMPANY
    for conversation_id in (other["conversation_id"], gone["conversation_id"], "nothing"):
        with pytest.raises(NotFound):
            load_row(reference_of(TEL, conversation_id), AGENT)
    with pytest.raises(NotFound):
        load_row("junk", AGENT)


def test_no_list_scans_and_every_read_is_limited(store):
    now = datetime.now(UTC)
    with store.calls() as seen:
        for filters in (
            ConversationFilters(),
            ConversationFilters(status="x"),
            ConversationFilters(since=now),
            ConversationFilters(hand_off="held"),
        ):
            read(of_company(COMPANY, filters, AGENT))
            read(of_recipient(TEL, filters, AGENT))
    assert {call.operation for call in seen} - {"DescribeTable"} == {"Query", "BatchGetItem"}
    assert all(0 < call.request["Limit"] <= 500 for call in seen if call.operation == "Query")
