"""The timeline of a conversation: all kinds in one order, page by page, filtered, linked, redacted and on record."""

import html
import json
import re
from datetime import timedelta

import pytest

from console import clock
from console.audit.queries import has_record_index
from console.store.calls import table_name
from conversations.conversation import opening
from conversations.conversation.timeline.lines import LineKind
from conversations.conversation.timeline.reading import NO_INDEX, NO_RECORDS, NO_TRAIL, RECORDS_UNREAD
from conversations.converting import reference_of
from tests import faults
from tests.answers import text_of
from tests.items import put_conversation, reference, url_of
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, auditor, member, signed_in
from tests.store.conversations.conversation.test_conversation_view import HTMX, message, opened

ALL = tuple(LineKind)
PHONE = "+447700900999"
LINE = re.compile(r'<li class="\w*" id="([a-z]-[a-z-]+)">(.*?)</div>\s*</li>', re.DOTALL)


def ago(minutes: float) -> str:
    return clock.to_iso(clock.now() - timedelta(minutes=minutes))


def entry(item, minutes: float, action: str = "tag", **attributes) -> dict:
    return {
        "conversation_id": item["conversation_id"],
        "ts_action_id": f"{ago(minutes)}#{action}-{minutes}",
        "action_type": action,
        "action_payload_redacted": f'{{"tag": "t{minutes}"}}',
        "result": "success",
        **attributes,
    }


def record(item, minutes: float, name: str, **attributes) -> dict:
    return {
        "event_id": f"evt:rp:{item['conversation_id']}:{name}",
        "conversation_id": item["conversation_id"],
        "created_at": ago(minutes),
        "status": "processed",
        "mode": "route_only",
        **attributes,
    }


def whole(item, staff, kinds=ALL) -> list:
    """The lines of all pages."""
    found, cursor = [], ""
    for _ in range(60):
        _, page = opening.timeline(reference(item), staff, kinds, cursor)
        found += page.lines
        cursor = page.next
        if not cursor:
            return found
    raise AssertionError("the pages do not end")


def shown(answer) -> list[tuple[str, str]]:
    """Anchor and text of each line of a page."""
    found = LINE.findall(answer.content.decode())
    return [(anchor, " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())) for anchor, text in found]


@pytest.fixture
def item(store):
    """One of everything, a minute apart, newest first: state, hand-off, action, record, messages."""
    return stored_in(store)


def stored_in(store) -> dict:
    stored = put_conversation(
        store, messages=[message(1, "Hello", minutes_ago=9), message(2, f"I am on {PHONE}", "user", 8)]
    )
    store.put("IDEMPOTENCY", record(stored, 6, "m1"))
    store.put("AUDIT", entry(stored, 5, "route", idempotency_key=f"evt:rp:{stored['conversation_id']}:m1"))
    who = {"actor": "tom.becker", "actor_role": "agent"}
    store.put("AUDIT", entry(stored, 4, "hand_off.request", **who))
    state = {"conversation_id": stored["conversation_id"], "expires_at": clock.to_epoch(clock.now()) + 999}
    store.put("CONVERSATION_STATE", state | {"last_processed_at": ago(7), "updated_at": ago(3)})
    return stored


# --- One order --------------------------------------------------------------------------------------------------------


def test_everything_stands_in_one_order_newest_first(item):
    client = signed_in(member())
    for headers in ({}, HTMX):
        answer = client.get(url_of(item, "timeline/"), **headers)
        told = [text for _, text in shown(answer) if "opened the transcript" not in text]
        assert [re.sub(r"^\d\d:\d\d ", "", text)[:42].strip() for text in told] == [
            "state State updated Middleware",
            "hand-off tom.becker asked for a human agen",
            "action Routed Middleware Details Action ro",
            "idempotency A message that came in Route o",
            "state Last message processed Middleware",
            f"message Customer message 2 I am on {PHONE}"[:42].strip(),
            "message AI message 1 Hello",
        ]
        assert ("<html" in answer.content.decode()) is (headers == {})


def test_anchors_are_letters_and_the_same_each_time(item):
    client = signed_in(member())
    client.get(url_of(item, "timeline/"))
    first, second = (shown(client.get(url_of(item, "timeline/"))) for _ in range(2))
    assert len(first) == 8
    assert first == second
    anchors = [anchor for anchor, _ in first]
    assert len(set(anchors)) == len(anchors)
    assert not any(re.search(r"\d", anchor) for anchor in anchors)


def test_nothing_is_lost_or_told_twice_over_pages(store):
    """Of all kinds, interleaved, some at the same instant, epochs and timestamps, expired ones among them."""
    now = clock.now()
    item = put_conversation(
        store,
        messages=[message(n, f"text {n}", "user", minutes_ago=2 * (80 - n)) for n in range(80)],
        hand_off_to_human=True,
        hand_off_requested_at=ago(31),
    )
    past = {"expires_at": clock.to_epoch(now) - 9}
    entries = [entry(item, n, **(past if n % 7 == 0 else {})) for n in range(1, 100)]
    for n, each in enumerate(entries):
        if n % 3 == 0:
            each["ts_action_id"] = f"{clock.to_epoch(now - timedelta(minutes=n + 1))}#{n}"
    store.put_all("AUDIT", entries)
    records = [record(item, n, f"m{n}", **(past if n % 5 == 0 else {})) for n in range(1, 120)]
    store.put_all("IDEMPOTENCY", records)
    store.put("CONVERSATION_STATE", {"conversation_id": item["conversation_id"], "updated_at": ago(50)})
    lines = [line for line in whole(item, as_staff(member())) if line.action != "transcript.opened"]
    kinds = [line.kind for line in lines]
    assert {kind: kinds.count(kind) for kind in LineKind} == {
        LineKind.MESSAGE: 80,
        LineKind.HAND_OFF: 1,
        LineKind.ACTION: 99 - 14,
        LineKind.RECORD: 119 - 23,
        LineKind.STATE: 1,
    }
    assert len({line.anchor for line in lines}) == len(lines)
    times = [line.at for line in lines]
    assert times == sorted(times, reverse=True)


def test_what_has_no_readable_time_comes_last_in_its_page_and_is_flagged(store):
    timed = [message(n, f"text {n}", minutes_ago=100 - n) for n in range(1, 61)]
    timed[1] = {"role": "user", "content": "old and dateless", "message_timestamp": "last week"}
    timed[58] = {"role": "user", "content": "new and dateless"}
    item = put_conversation(store, messages=timed)
    store.put("AUDIT", entry(item, 5, ts_action_id="zzz"))
    staff = as_staff(member())
    _, first = opening.timeline(reference(item), staff, (LineKind.MESSAGE, LineKind.ACTION))
    last = [line for line in first.lines if line.at is None]
    assert last == [*first.lines[-2:]]
    assert sorted(line.text for line in last) == ["", "new and dateless"]
    assert all(line.drift for line in last)
    page = signed_in(member()).get(f"/conversations/{reference(item)}/timeline/").content.decode()
    assert "Without a readable time</h3>" in page
    _, second = opening.timeline(reference(item), staff, (LineKind.MESSAGE, LineKind.ACTION), first.next)
    assert [line.text for line in second.lines if line.at is None] == ["old and dateless"]
    assert not second.next


def test_state_with_an_unreadable_time_is_told_on_the_first_page(store, item):
    store.update("CONVERSATION_STATE", {"conversation_id": item["conversation_id"]}, last_processed_at="yesterday")
    lines = whole(item, as_staff(member()), (LineKind.STATE,))
    assert [(line.words, line.at is None) for line in lines] == [
        ("State updated", False),
        ("Last message processed", True),
    ]
    assert lines[1].drift == ("its time cannot be read",)


def test_a_hand_off_that_only_the_item_tells_is_told(store):
    item = put_conversation(
        store, hand_off_to_human=True, hand_off_requested_at=ago(5), hand_off_to_human_reason=f"angry, {PHONE}"
    )
    lines = whole(item, as_staff(member()), (LineKind.HAND_OFF,))
    assert [(line.words, line.text) for line in lines] == [("A human was requested", "angry, ***-***-0999")]
    store.put("AUDIT", entry(item, 5, "hand_off.request"))
    assert len(whole(item, as_staff(member()), (LineKind.HAND_OFF,))) == 1


# --- Filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds", [(kind,) for kind in LineKind] + [(LineKind.MESSAGE, LineKind.STATE), (LineKind.RECORD, LineKind.ACTION)]
)
def test_a_filter_shows_these_kinds_and_says_which(item, kinds):
    client = signed_in(member())
    answer = client.get(url_of(item, "timeline/"), {"kind": [kind.value for kind in kinds]})
    text = answer.content.decode()
    told = {re.sub(r"^\d\d:\d\d ", "", text).split()[0] for _, text in shown(answer)}
    assert told == {str(kind.value).replace("record", "idempotency") for kind in kinds}
    checked = re.findall(r'name="kind" value="([\w-]+)"[^>]* checked', text)
    assert set(checked) == {kind.value for kind in kinds}


@pytest.mark.parametrize("query", ["", "?kind=", "?kind=junk", "?kind=%00&page=x&at=y", "?kind[]=message"])
def test_without_a_filter_all_kinds_are_shown(item, query):
    answer = signed_in(member()).get(url_of(item, "timeline/") + query)
    assert answer.content.decode().count(" checked") == 5
    assert len(shown(answer)) >= 7


def test_a_filter_goes_on_over_pages(store, item):
    store.put_all("AUDIT", [entry(item, n / 100) for n in range(1, 250)])
    store.put_all("AUDIT", [entry(item, 100 + n, "hand_off.release") for n in range(60)])
    client = signed_in(member())
    url, told = url_of(item, "timeline/?kind=hand-off"), []
    for _ in range(9):
        answer = client.get(url)
        told += [anchor for anchor, _ in shown(answer)]
        following = re.search(r'rel="next" href="([^"]+)"', answer.content.decode())
        if not following:
            break
        url = html.unescape(following.group(1))
        assert "kind=hand-off" in url
    assert len(told) == len(set(told)) == 61


def test_an_empty_page_that_is_not_the_last_says_so(store, item):
    store.put_all("AUDIT", [entry(item, n / 100) for n in range(1, 250)])
    text = signed_in(member()).get(url_of(item, "timeline/?kind=hand-off")).content.decode()
    assert "No lines of these kinds so far" in text
    assert "Nothing here" not in text


def test_a_cursor_of_another_filter_or_person_is_the_first_page(store, item):
    store.put_all("AUDIT", [entry(item, n) for n in range(20, 90)])
    amira, tom = as_staff(member()), as_staff(member("tom.becker"))
    _, first = opening.timeline(reference(item), amira, ALL)
    for staff, kinds in ((tom, ALL), (amira, (LineKind.ACTION, LineKind.MESSAGE))):
        assert opening.timeline(reference(item), staff, kinds, first.next)[1].from_start
    assert not opening.timeline(reference(item), amira, ALL, first.next)[1].from_start


# --- Links ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_link_to_a_line_leads_to_its_page_for_a_colleague_too(store, item):
    store.put_all("AUDIT", [entry(item, n, idempotency_key=f"act:{n}") for n in range(20, 90)])
    store.put_all("IDEMPOTENCY", [record(item, n, f"x{n}") for n in range(20, 60, 3)])
    mine, colleagues = signed_in(member()), signed_in(auditor())
    url = url_of(item, "timeline/")
    mine.get(url), colleagues.get(url)
    seen = 0
    for page in (url, html.unescape(re.search(r'rel="next" href="([^"]+)"', mine.get(url).content.decode()).group(1))):
        for here in re.findall(r'class="link-here" href="([^"]+)"', mine.get(page).content.decode()):
            address, _, anchor = html.unescape(here).partition("#")
            assert not re.search(r"\d{7}|%23|%2B", re.sub(r"[A-Za-z0-9_-]{40,}", "", address))
            answer = colleagues.get(address)
            assert anchor in [each for each, _ in shown(answer)]
            assert "The linked line no longer exists" not in answer.content.decode()
            seen += 1
    assert seen > 80


def test_a_link_that_is_not_valid_shows_the_newest_and_says_so(item):
    client = signed_in(member())
    # That the transcript was opened is a line itself, from the second time on.
    client.get(url_of(item, "timeline/"))
    newest = shown(client.get(url_of(item, "timeline/")))
    answer = client.get(url_of(item, "timeline/?at=junk"))
    assert [anchor for anchor, _ in shown(answer)] == [anchor for anchor, _ in newest]
    assert "The linked line no longer exists" in answer.content.decode()


def test_messages_lead_into_the_transcript_and_entries_and_records_to_their_pages(store, item):
    client = signed_in(auditor())
    text = client.get(url_of(item, "timeline/")).content.decode()
    links = dict(re.findall(r'<b><a href="([^"]+)" title="([^"]+)"', text))
    assert set(links.values()) == {"In the transcript", "Entry", "Record"}
    for link, label in links.items():
        answer = client.get(html.unescape(link).split("#")[0])
        assert answer.status_code == 200
        if label == "In the transcript":
            assert f'id="{link.partition("#")[2]}"' in answer.content.decode()


def test_who_does_not_review_gets_no_links_to_records(item):
    text = signed_in(member()).get(url_of(item, "timeline/")).content.decode()
    assert 'title="Entry"' in text
    assert 'title="Record"' not in text


# --- On record, and to whom -------------------------------------------------------------------------------------------


def test_showing_messages_is_on_record_like_opening_the_transcript(store, item):
    client = signed_in(member())
    for query in ("?kind=record&kind=action", "?kind=hand-off", "?kind=state"):
        assert client.get(url_of(item, "timeline/") + query).status_code == 200
    assert not opened(store)
    for query in ("?kind=message", "", "?kind=message&kind=state"):
        assert client.get(url_of(item, "timeline/") + query).status_code == 200
    assert len(opened(store)) == 1
    client.get(url_of(item))
    assert len(opened(store)) == 1


def test_messages_that_cannot_be_recorded_are_not_shown(item):
    client = signed_in(member())
    with faults.fail_before("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        answer = client.get(url_of(item, "timeline/"))
        assert answer.status_code == 503
        assert "Hello" not in answer.content.decode()
        assert client.get(url_of(item, "timeline/?kind=action")).status_code == 200


def test_a_prefetch_is_refused_and_not_recorded(store, item):
    assert signed_in(member()).get(url_of(item, "timeline/"), HTTP_SEC_PURPOSE="prefetch").status_code == 503
    assert not opened(store)


@pytest.mark.parametrize(
    "content",
    [
        f"I am on {PHONE}",
        "I am on +44 7700\n900 999",
        [{"type": "text", "text": "+44770"}, {"type": "text", "text": "0900999"}],
        {"phone": PHONE},
        [{"type": "tool_use", "name": PHONE, "input": {"phone": PHONE}}],
        [{"type": "image_url", "image_url": {"url": f"https://x.example/{PHONE}.jpg"}}],
        "x " * 75 + PHONE,
    ],
    ids=str,
)
def test_a_number_in_a_message_never_reaches_an_auditor(store, content):
    item = put_conversation(store, messages=[message(1, "") | {"content": content}, {"role": PHONE, "content": "x"}])
    text = html.unescape(signed_in(auditor()).get(url_of(item, "timeline/")).content.decode())
    assert "900999" not in re.sub(r"\s", "", text)
    assert "message 1" in text
    assert "in messages are masked" in text


def test_an_excerpt_is_one_short_line(store):
    item = put_conversation(store, messages=[message(1, "first\n\n  second\t" + "long " * 100)])
    for staff in (as_staff(member()), as_staff(auditor())):
        (line,) = whole(item, staff, (LineKind.MESSAGE,))
        assert line.text.startswith("first second long")
        assert len(line.text) <= 160


def test_without_a_trail_messages_are_masked_for_everybody(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "CONVERSATIONS", "AUDIT")
    item = put_conversation(bare_store, messages=[message(1, f"I am on {PHONE}")])
    client = signed_in(member())
    bare_store.client.update_table(TableName=bare_store.name("AUDIT"), DeletionProtectionEnabled=False)
    bare_store.client.delete_table(TableName=bare_store.name("AUDIT"))
    text = html.unescape(client.get(url_of(item, "timeline/")).content.decode())
    assert PHONE not in text
    assert "I am on ***-***-0999" in text
    for line in (NO_TRAIL, NO_RECORDS, "This environment has no middleware state table"):
        assert line in text


def test_hostile_text_is_text(store):
    item = put_conversation(store, messages=[message(1, "<script>alert(1)</script>")])
    store.put("AUDIT", entry(item, 1, "<b>x</b>", result="failed: <i>y</i>", idempotency_key="<u>z</u>"))
    store.put("IDEMPOTENCY", record(item, 1, "<s>q</s>", status="<em>s</em>", mode="<q>m</q>"))
    text = signed_in(admin()).get(url_of(item, "timeline/")).content.decode()
    for tag in ("<script>alert", "<b>x", "<i>y", "<u>z", "<s>q", "<em>s", "<q>m"):
        assert tag not in text


def test_what_belongs_to_another_conversation_of_that_id_stays_out(store, item):
    store.put("AUDIT", entry(item, 1, company_id=OTHER_COMPANY, idempotency_key="theirs"))
    other = reference_of("+447700900555", item["conversation_id"])
    store.put("IDEMPOTENCY", record(item, 1, "theirs", mode="console", reference=other))
    store.put("IDEMPOTENCY", record(item, 1, "ours", mode="console", reference=reference(item)))
    kinds = (LineKind.RECORD, LineKind.ACTION)
    assert len(whole(item, as_staff(member()), kinds)) == 3


def test_no_text_of_a_writer_holds_a_number(store):
    item = put_conversation(store)
    store.put("AUDIT", entry(item, 1, PHONE, result=f"failed: {PHONE}", actor=PHONE, idempotency_key=f"act:{PHONE}"))
    odd = {"status": PHONE, "mode": PHONE, "intent": PHONE, "source_message_id": PHONE, PHONE: PHONE}
    store.put("IDEMPOTENCY", record(item, 1, PHONE, **odd))
    state = {"last_routed_team": PHONE, "last_processed_at": ago(1), "updated_at": ago(1), "version": PHONE}
    store.put("CONVERSATION_STATE", {"conversation_id": item["conversation_id"], **state})
    text = signed_in(member()).get(url_of(item, "timeline/")).content.decode()
    assert "7700900999" not in text


# --- What it costs, and what is not there -----------------------------------------------------------------------------


def test_a_page_costs_one_round_of_reads_and_one_of_names(store, item):
    store.put_all("AUDIT", [entry(item, n, idempotency_key=f"act:{n}") for n in range(20, 90)])
    client = signed_in(member())
    assert has_record_index()

    def calls(query: str) -> list[tuple[str, ...]]:
        with store.calls() as seen:
            client.get(url_of(item, "timeline/") + query)
        assert [call.operation for call in seen[:2]] == ["BatchGetItem", "GetItem"]
        return sorted((call.operation, *call.tables) for call in seen[2:])

    beside = [("BatchGetItem", "IDEMPOTENCY", "STAFF")]
    assert calls("") == [
        *beside,
        ("GetItem", "CONVERSATION_STATE"),
        ("PutItem", "AUDIT"),
        *[("Query", "AUDIT")] * 2,
        *[("Query", "IDEMPOTENCY")] * 2,
    ]
    assert calls("?kind=message") == [("PutItem", "AUDIT")]
    assert calls("?kind=record") == [("Query", "IDEMPOTENCY")] * 2
    assert calls("?kind=state") == [("GetItem", "CONVERSATION_STATE")]
    assert calls("?kind=action") == [*beside, *[("Query", "AUDIT")] * 2]


@pytest.fixture
def without_index(bare_store):
    """The idempotency table as the middleware makes it."""
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "CONVERSATIONS", "AUDIT", "CONVERSATION_STATE")
    bare_store.client.create_table(
        TableName=table_name("IDEMPOTENCY"),
        AttributeDefinitions=[{"AttributeName": "event_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "event_id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return bare_store


@pytest.mark.slow
def test_without_the_index_each_record_that_the_trail_names_is_told_once(without_index):
    item = stored_in(without_index)
    # Two entries of each key, so far apart that they stand on different pages.
    for n in range(1, 61):
        key = {"idempotency_key": f"evt:rp:{item['conversation_id']}:r{n}"}
        without_index.put_all("AUDIT", [entry(item, 10 + n, **key), entry(item, 200 + n, **key)])
    without_index.put_all("IDEMPOTENCY", [record(item, 10 + n, f"r{n}") for n in range(1, 61)])
    for kinds in (ALL, (LineKind.RECORD,)):
        lines = whole(item, as_staff(member()), kinds)
        told = [line.anchor for line in lines if line.kind is LineKind.RECORD]
        assert len(told) == len(set(told)) == 61
        assert {line.kind for line in lines} == set(kinds)
    text = html.unescape(signed_in(member()).get(url_of(item, "timeline/?kind=record")).content.decode())
    assert NO_INDEX in text


def test_a_record_that_the_index_cannot_hold_is_told_beside_its_entry(store, item):
    key = f"evt:rp:{item['conversation_id']}:odd"
    store.put("IDEMPOTENCY", {"event_id": key, "received_at": ago(2), "conversation_id": item["conversation_id"]})
    store.put("AUDIT", entry(item, 2, idempotency_key=key))
    lines = whole(item, as_staff(member()))
    assert [line.kind for line in lines].count(LineKind.RECORD) == 2


@pytest.mark.parametrize(
    ("table", "operation", "line"),
    [
        ("IDEMPOTENCY", "Query", RECORDS_UNREAD),
        ("IDEMPOTENCY", "BatchGetItem", RECORDS_UNREAD),
        ("CONVERSATION_STATE", "GetItem", "The middleware's state could not be read. Try again in a moment."),
    ],
)
def test_what_cannot_be_read_beside_the_rest_is_one_line(item, table, operation, line):
    client = signed_in(member())
    with faults.fail_before(operation, table_key=table, times=faults.ALWAYS):
        answer = client.get(url_of(item, "timeline/"))
    assert answer.status_code == 200
    assert line in text_of(answer)
    assert "Hello" in answer.content.decode()


def test_an_empty_timeline_says_so(store):
    item = put_conversation(store, messages=[])
    text = signed_in(member()).get(url_of(item, "timeline/?kind=record")).content.decode()
    assert "Nothing here" in text


def test_thousands_of_messages_are_paged(store):
    entries = [{"role": "user", "text": f"t{n}", "ts": 1_760_000_000 + n // 3} for n in range(8_000)]
    keys = dict.fromkeys(("created_at", "task_complete", "conversation_status", "channel_method"), ...)
    item = put_conversation(store, messages=json.dumps(entries, separators=(",", ":")), **keys)
    staff = as_staff(member())
    _, first = opening.timeline(reference(item), staff, (LineKind.MESSAGE,))
    _, second = opening.timeline(reference(item), staff, (LineKind.MESSAGE,), first.next)
    texts = [line.text for page in (first, second) for line in page.lines]
    assert texts == [f"t{n}" for n in range(7_999, 7_899, -1)]


def test_the_trail_page_has_the_state_and_the_switches_beside_it(store, item):
    store.update(
        "IDEMPOTENCY", {"event_id": f"evt:rp:{item['conversation_id']}:m1"}, safe_mode=True, automation_enabled=True
    )
    client = signed_in(admin())
    page = client.get(url_of(item)).content.decode()
    link = html.unescape(re.search(r'href="(/audit/trails/[^"]+)"', page).group(1))
    for text in (page, client.get(link).content.decode()):
        assert "Safe mode on" in text
        assert "Automation enabled" in text
        assert "6 min ago" in text
        assert "Last processed" in text
    assert "Last processed" not in client.get(link, **HTMX).content.decode()
    assert COMPANY not in link
