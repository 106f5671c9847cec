"""The demo's content: the same each time, as the schemas say, and with everything a page has to cope with."""

import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from console import clock
from console.audit.events.keys import FORMATS, decode
from console.permissions import ROLE_PERMISSIONS, Permission, Role, Scope, Staff
from console.staff.directory import within
from console.trail.actions import HAND_OFF_PREFIX, Action
from console.trail.recording import TENANT_TRAIL
from conversations.attention.levels import DEFAULTS, StoredLevels, merge_levels
from conversations.indexer.entries import HumanRequest, sort_key
from conversations.insight.facts import UNDATED
from conversations.insight.tenant_facts import TenantConversationSource, conversations_in
from conversations.records import Speaker
from conversations.stores.tenant_conversations.reading import StoredTenantConversation, TenantConversation, window
from conversations.team.saved_replies.forms import SavedReplyForm
from demo import items as demo
from demo import staff
from demo.conversations import COMPANIES, PROJECTS
from tests.dynamodb import to_dynamodb

# What the store takes of them is one test; moto will do.
pytestmark = pytest.mark.pages

NOW = datetime(2025, 11, 20, 12, 0, tzinfo=UTC)
# An item may have 400 KB together with its copies in the local indexes, and there are four that project everything.
LIMIT = 400 * 1024 // 5

REQUIRED = {
    "primary_channel": str, "conversation_id": str, "company_id": str, "project_id": str, "channel_method": str,
    "conversation_status": str, "request_id": str, "messages": list, "created_at": str, "updated_at": str,
    "task_complete": int, "comms_consent": bool, "function_call": bool, "hand_off_to_human": bool,
}  # fmt: skip
OPTIONAL = {
    "recipient_tel", "recipient_email", "initial_request_timestamp", "processor_version", "router_version", "thread_id",
    "email_id", "processing_time_ms", "recipient_first_name", "recipient_last_name", "project_data", "company_name",
    "project_name", "company_rep", "allowed_channels", "project_status", "auto_queue_initial_message",
    "auto_queue_initial_message_from_number", "auto_queue_initial_message_from_email", "auto_queue_reply_message",
    "auto_queue_reply_message_from_number", "auto_queue_reply_message_from_email", "ai_config", "channel_config",
    "function_call_type", "hand_off_to_human_reason", "ttl", "gsi_recipient_tel", "gsi_recipient_email",
    "gsi_company_whatsapp_number", "gsi_company_sms_number", "gsi_company_email",
}  # fmt: skip
BUSY = "ci-lar-005"
OURS = {
    "hand_off_requested_at", "hand_off_agent", "hand_off_taken_at", "hand_off_note", "hand_off_note_at",
    "hand_off_note_by", "hand_off_wanted", "hand_off_action_id", "gsi_hand_off_queue", "hand_off_left_at",
    "hand_off_to_ai_at",
}  # fmt: skip
STATUSES = {"processing", "initial_message_sent", "reply_sent", "awaiting_reply", "failed", "completed"}
GSIS = {
    "company-id-project-id-index": ("company_id", "project_id"),
    "company-whatsapp-number-recipient-tel-index": ("gsi_company_whatsapp_number", "gsi_recipient_tel"),
    "company-sms-number-recipient-tel-index": ("gsi_company_sms_number", "gsi_recipient_tel"),
    "company-email-recipient-email-index": ("gsi_company_email", "gsi_recipient_email"),
}
KEYS = {
    "CONSOLE": ("pk", "sk"),
    "CONVERSATIONS": ("primary_channel", "conversation_id"),
    "IDEMPOTENCY": ("event_id",),
    "CONVERSATION_STATE": ("conversation_id",),
    "AUDIT": ("conversation_id", "ts_action_id"),
    "TENANT_CONVERSATIONS": ("pk", "sk"),
    "SESSIONS": ("UserId", "SessionId"),
    "CHATS": ("SessionId", "TimestampCreated"),
    "CHAT_MESSAGES": ("SessionId", "TimestampCreated"),
    "IMAGE_RESPONSES": ("ImageId",),
    "THREADS": ("PK", "SK"),
    "TENANTS": ("pk", "sk"),
}


@pytest.fixture(scope="module")
def tables():
    found = defaultdict(list)
    for table, item in demo.items(NOW):
        found[table].append(item)
    return found


@pytest.fixture(scope="module")
def conversations(tables):
    return tables["CONVERSATIONS"]


@pytest.fixture(scope="module")
def regular(conversations):
    return [item for item in conversations if not is_drifted(item)]


@pytest.fixture(scope="module")
def told(regular):
    """Conversations of dialogues that each tell of one."""
    return [item for item in regular if item["company_id"] != BUSY]


def is_drifted(item):
    return "#req-drift-" in str(item["conversation_id"])


def size_of(value):
    """Bytes of a value as DynamoDB counts an item."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, int | Decimal):
        return len(str(value)) // 2 + 2
    if isinstance(value, dict):
        return 3 + sum(len(name.encode()) + size_of(each) + 1 for name, each in value.items())
    return 3 + sum(size_of(each) + 1 for each in value)


def text_of(item):
    messages = item.get("messages")
    return json.dumps(messages, default=str, ensure_ascii=False) if messages else ""


def waiting_for_human(regular):
    return [item for item in regular if item["hand_off_to_human"] and "hand_off_agent" not in item]


def moment_of(entry):
    """When an entry of the trail was written: its sort key begins with an instant, or with an epoch."""
    text = entry["ts_action_id"].partition("#")[0]
    return datetime.fromtimestamp(int(text) / 1000, UTC) if text.isdigit() else clock.parse_instant(text)


def of_middleware(tables, action, result=""):
    """The middleware's entries of one kind by conversation, in order."""
    found = defaultdict(list)
    for entry in sorted(tables["AUDIT"], key=moment_of):
        if "actor" not in entry and entry["action_type"] == action and entry["result"].startswith(result):
            found[entry["conversation_id"]].append(entry)
    return found


def access_at(person, at):
    """Role and scope of a demo person at that time, as the trail of their account tells; None before there was one."""
    if at < NOW - staff.EMPLOYED:
        return None
    role, scope = Role(person["role"]), Scope.of(person["scope"])
    for told in sorted(staff.PAST, key=lambda each: each["hours"]):
        is_theirs = told.get("about", told["who"]) == person["username"]
        if is_theirs and told["action"] == Action.STAFF_CHANGED and at < NOW - timedelta(hours=told["hours"]):
            before = told["payload"]["from"]
            role = Role(before.get("role", role))
            scope = Scope.of(before["scope"]) if "scope" in before else scope
    return role, scope


def is_gone(item):
    return clock.is_expired(item.get("ttl"), NOW)


# --- the same each time


def test_the_same_moment_gives_the_same_items():
    assert list(demo.items(NOW)) == list(demo.items(NOW))


def test_another_moment_gives_as_many_items_with_other_times():
    later = list(demo.items(NOW + timedelta(days=40, hours=5)))
    first = list(demo.items(NOW))
    assert (
        Counter(table for table, _ in later)["CONVERSATIONS"] == Counter(table for table, _ in first)["CONVERSATIONS"]
    )
    newest = max(item["updated_at"] for table, item in later if table == "CONVERSATIONS" and not is_drifted(item))
    assert clock.parse_instant(newest) > NOW + timedelta(days=40)


def test_the_zone_of_the_moment_does_not_matter():
    assert list(demo.items(NOW.astimezone(ZoneInfo("Asia/Kolkata")))) == list(demo.items(NOW))


def test_a_naive_moment_is_refused():
    with pytest.raises(ValueError, match="aware"):
        next(demo.items(datetime(2025, 1, 1)))


# --- what there is


def test_tables_and_their_sizes(tables, told):
    assert set(tables) == set(KEYS)
    assert 235 <= len(told) <= 265
    assert len(tables["CONVERSATIONS"]) < 600
    assert sum(len(items) for items in tables.values()) < 2900


def test_no_two_items_share_a_key(tables):
    for table, names in KEYS.items():
        keys = Counter(tuple(item[name] for name in names) for item in tables[table])
        assert [key for key, count in keys.items() if count > 1] == [], table


def test_companies_of_several_projects_are_registered_and_one_is_not(tables, regular, told):
    registered = {company["id"]: company for company in COMPANIES if company.get("registered", True)}
    known = [item for item in tables["CONSOLE"] if item["pk"] == "COMPANIES"]
    assert {(item["sk"], item["name"], item["source"]) for item in known} == {
        (company_id, company["name"], "demo") for company_id, company in registered.items()
    }
    assert len(registered) == 4
    assert all(3 <= len(company["project"]) <= 4 for company_id, company in registered.items() if company_id != BUSY)
    used = Counter((item["company_id"], item["project_id"]) for item in regular)
    assert {project for _, project in used} == set(PROJECTS)
    assert min(count for (company_id, _), count in used.items() if company_id in registered.keys() - {BUSY}) >= 10
    waiting = [item["company_id"] for item in waiting_for_human(told)]
    assert {company_id for company_id in waiting if company_id not in registered} == {"ci-har-004"}


def test_service_levels_and_groups_are_read_as_they_are_meant(tables):
    by_key = {(item["pk"], item["sk"]): item for item in tables["CONSOLE"]}
    stored = StoredLevels.from_raw_data(to_dynamodb(by_key["LEVELS#ci-nwe-002", "COMPANY"]))
    levels = merge_levels(stored, DEFAULTS)
    assert levels.first_answer == timedelta(minutes=30)
    assert levels.hours is not None
    assert "no heating" in levels.urgent_words
    groups = [item for item in tables["CONSOLE"] if item["pk"].startswith("GROUPS#")]
    assert groups
    assert all(set(item["members"]) <= set(staff.ROLES) for item in groups)


def test_saved_replies_are_ones_that_the_form_takes(tables):
    found = [item for item in tables["CONSOLE"] if item["pk"].startswith("SAVED_REPLIES#")]
    owners = {"all", "company#ci-cuc-001", "company#ci-nwe-002", "staff#amira"}
    assert {item["pk"].removeprefix("SAVED_REPLIES#") for item in found} == owners
    for item in found:
        form = SavedReplyForm({"name": item["name"], "text": item["text"]})
        assert form.is_valid(), form.errors
        assert form.cleaned_data == {"name": item["name"], "text": item["text"]}
        assert item["updated_by"] in staff.ROLES


def test_every_channel_status_and_language_occurs(regular):
    assert {item["channel_method"] for item in regular} == {"whatsapp", "sms", "email"}
    statuses = Counter(item["conversation_status"] for item in regular)
    # The one that the AI is answering as the demo begins.
    assert statuses.pop("processing_reply") == 1
    assert set(statuses) == STATUSES
    assert min(statuses.values()) >= 10
    everything = " ".join(text_of(item) for item in regular)
    scripts = (
        "[\u0600-\u06ff]",
        "[\u0590-\u05ff]",
        "[\u0900-\u097f]",
        "[\u4e00-\u9fff]",
        "[\u3040-\u30ff]",
        "[łążś]",
        "[ğış]",
        "[ãõç]",
        "[ñ¿¡]",
    )
    for script in (*scripts, "[\U0001f300-\U0001faff]"):
        assert len(re.findall(script, everything)) > 20, script


def test_transcripts_are_empty_short_long_and_very_long(regular):
    lengths = [len(item["messages"]) for item in regular]
    assert lengths.count(0) >= 10
    assert 3 <= len([length for length in lengths if 150 <= length <= 300]) <= 6
    assert [length for length in lengths if length > 300] == [pytest.approx(391, abs=10)]


def test_messages_carry_what_redaction_has_to_find(regular):
    texts = [text_of(item) for item in regular]
    for pattern in (
        r"07700 900",
        r"[\w.]+@\w+\.example",
        r"[ABKN]\d{3}-\d{5}",
        r"JD01460\d{10}|1Z999AA1\d{10}|RM\d{9}GB",
        r"\\n\\n",
        r"https://",
    ):
        assert sum(bool(re.search(pattern, text)) for text in texts) >= 8, pattern


def test_failed_ones_hold_no_word_of_the_assistant(regular):
    failed = [item for item in regular if item["conversation_status"] == "failed"]
    assert all(entry["role"] != "assistant" for item in failed for entry in item["messages"])
    assert all(item["task_complete"] == 0 for item in failed)


def test_consent_function_calls_and_both_states_of_the_task_occur(regular):
    assert 10 <= sum(not item["comms_consent"] for item in regular) <= 80
    calls = [item for item in regular if item["function_call"]]
    assert len(calls) > 60
    assert all(item["function_call_type"] for item in calls)
    assert all(item["function_call_type"] is None for item in regular if not item["function_call"])
    assert {item["task_complete"] for item in regular} == {0, 1}


def test_some_recipients_have_several_conversations(regular):
    by_recipient = defaultdict(list)
    for item in regular:
        by_recipient[item["primary_channel"]].append(item)
    several = [items for items in by_recipient.values() if len(items) > 1]
    assert len(several) >= 25
    assert max(len(items) for items in several) in (4, 5, 6)
    assert any(len({item["channel_method"] for item in items}) > 1 for items in several)
    assert sum(len({item["conversation_status"] for item in items}) >= 3 for items in several) >= 3


def test_ends_lie_near_past_and_far(regular):
    left = [item["ttl"] - NOW.timestamp() for item in regular if "ttl" in item]
    assert sum(seconds <= 0 for seconds in left) >= 8
    assert sum(0 < seconds < 36 * 3600 for seconds in left) >= 10
    assert sum(seconds > 30 * 86_400 for seconds in left) > 180
    assert sum("ttl" not in item for item in regular) >= 5
    assert any(is_gone(item) and item["hand_off_to_human"] for item in regular)


# --- as the schema says


def test_every_item_has_the_required_attributes_with_their_types(regular):
    for item in regular:
        for name, kind in REQUIRED.items():
            assert type(item[name]) is kind, (name, item["conversation_id"])
        assert set(item) <= set(REQUIRED) | OPTIONAL | OURS


def test_the_partition_is_the_recipient_of_the_channel(regular):
    for item in regular:
        name = "recipient_email" if item["channel_method"] == "email" else "recipient_tel"
        assert item["primary_channel"] == item[name]


def test_most_ids_have_four_segments_and_some_another_shape(regular):
    def is_usual(item):
        recipient = item["primary_channel"].lstrip("+")
        return item["conversation_id"] == "#".join(
            (item["company_id"], item["project_id"], item["request_id"], recipient)
        )

    others = [item["conversation_id"] for item in regular if not is_usual(item)]
    assert 4 <= len(others) <= 40
    assert len({each.count("#") for each in others}) >= 3


def test_reply_keys_are_sparse_copies(regular):
    keys = {"whatsapp": "company_whatsapp_number", "sms": "company_sms_number", "email": "company_email"}
    for item in regular:
        for name in ("recipient_tel", "recipient_email"):
            assert item.get(f"gsi_{name}", "absent") == item.get(name, "absent")
        for channel, name in keys.items():
            wanted = item["channel_config"].get(channel, {}).get(name) if item["channel_method"] == channel else None
            assert item.get(f"gsi_{name}") == wanted
    assert any(item["channel_method"] == "sms" and "gsi_company_sms_number" not in item for item in regular)
    assert all(value != "" for item in regular for name, value in item.items() if name.startswith("gsi_"))


def test_entries_are_as_the_schema_says_and_in_order(regular):
    for item in regular:
        ids = [entry["entry_id"] for entry in item["messages"]]
        assert len(set(ids)) == len(ids)
        times = [clock.parse_instant(entry["message_timestamp"]) for entry in item["messages"]]
        assert times == sorted(times)
        assert all(at <= NOW for at in times)
        for entry in item["messages"]:
            extra = {"ai_prompt_tokens", "ai_completion_tokens", "ai_total_tokens", "processing_time_ms"}
            assert set(entry) == {"entry_id", "message_timestamp", "role", "content"} | (
                extra if entry["role"] == "assistant" else set()
            )
            assert entry["role"] in ("user", "assistant")
            assert entry["content"].strip()
            if entry["role"] == "assistant":
                assert entry["ai_total_tokens"] == entry["ai_prompt_tokens"] + entry["ai_completion_tokens"]


def test_times_of_an_item_are_in_order_and_not_ahead(regular):
    for item in regular:
        asked, created, updated = (
            clock.parse_instant(item[name]) for name in ("initial_request_timestamp", "created_at", "updated_at")
        )
        assert asked <= created <= updated <= NOW, item["conversation_id"]


def test_credentials_are_references_in_the_configuration(regular):
    for item in regular:
        assert "arn:aws:secretsmanager:" in json.dumps(item["ai_config"])
        assert f"{item['channel_method']}_credentials_id" in item["channel_config"][item["channel_method"]]


# --- hand-offs


def test_some_25_wait_for_a_human_from_minutes_to_days(told):
    items = [item for item in waiting_for_human(told) if not is_gone(item)]
    assert 24 <= len(items) <= 30
    waits = sorted(NOW - clock.parse_instant(item.get("hand_off_requested_at", item["updated_at"])) for item in items)
    assert waits[0] < timedelta(minutes=4)
    assert timedelta(days=5) < waits[-1] <= timedelta(days=6)
    assert 3 <= sum(item["hand_off_to_human_reason"] is None for item in items) <= 6
    assert sum(not OURS & set(item) for item in items) >= 18
    released = [item for item in items if "hand_off_action_id" in item]
    assert len(released) == 5
    assert all(item["gsi_hand_off_queue"] == f"waiting#{item['company_id']}" for item in released)


def test_customers_write_while_they_wait(regular):
    items = [item for item in waiting_for_human(regular) if not is_gone(item)]
    assert sum(item["messages"][-1]["role"] == "user" for item in items) >= 15


def test_eight_are_held_by_colleagues(told):
    held = [item for item in told if "hand_off_agent" in item]
    assert len(held) == 8
    assert {item["hand_off_agent"] for item in held} == {"amira", "tom"}
    for item in held:
        assert item["gsi_hand_off_queue"] == f"held#{item['company_id']}"
        assert item["hand_off_wanted"] is True
        assert item["hand_off_requested_at"] < item["hand_off_taken_at"]
        assert item["updated_at"] >= item["hand_off_taken_at"][:19]
    assert sum(NOW - clock.parse_instant(item["hand_off_taken_at"]) > timedelta(days=2) for item in held) == 2
    overridden = [item for item in held if not item["hand_off_to_human"]]
    assert len(overridden) == 1
    assert overridden[0]["hand_off_to_human_reason"] is None


def test_the_assistant_spoke_during_one_hold(regular):
    def spoke(item):
        taken = clock.parse_instant(item["hand_off_taken_at"])
        return any(
            entry["role"] == "assistant" and clock.parse_instant(entry["message_timestamp"]) > taken
            for entry in item["messages"]
        )

    assert sum(spoke(item) for item in regular if "hand_off_agent" in item and item["hand_off_to_human"]) == 1


def test_handed_back_ones_keep_what_was_wanted_and_the_stamp_only(regular):
    back = [item for item in regular if item.get("hand_off_wanted") is False]
    assert len(back) == 7
    for item in back:
        assert item["hand_off_to_human"] is False
        assert item["hand_off_to_human_reason"] is None
        note = {"hand_off_note", "hand_off_note_at", "hand_off_note_by"}
        assert (
            OURS & set(item)
            == {"hand_off_wanted", "hand_off_action_id", "hand_off_left_at", "hand_off_to_ai_at"} | note
        )


def test_what_the_platform_asked_for_is_as_the_indexer_writes_it(tables, regular):
    stored = {item["conversation_id"]: item for item in regular}
    asked = [each for each in tables["AUDIT"] if each.get("actor") == "platform"]
    assert asked
    for entry in asked:
        item = stored[entry["conversation_id"]]
        at = entry["edge_at"]
        assert item.get("hand_off_requested_at", at) == at
        assert entry["ts_action_id"] == sort_key(HumanRequest(item["conversation_id"], item["company_id"], "", at))
        assert json.loads(entry["action_payload_redacted"])["reason"]
        assert not {"action_id", "idempotency_key", "previous_action_id"} & set(entry)


def test_every_stamp_has_its_trail_and_the_chain_is_unbroken(tables, regular):
    entries = defaultdict(list)
    for entry in sorted(tables["AUDIT"], key=lambda each: each["ts_action_id"]):
        if entry["action_type"].startswith("hand_off.") and entry["actor"] != "platform":
            entries[entry["conversation_id"]].append(entry)
    records = {record["event_id"]: record for record in tables["IDEMPOTENCY"]}
    stamped = {item["conversation_id"]: item for item in regular if "hand_off_action_id" in item}
    assert set(entries) == set(stamped)
    for conversation_id, trail in entries.items():
        applied = [entry for entry in trail if entry["result"] == "success"]
        assert applied[-1]["action_id"] == stamped[conversation_id]["hand_off_action_id"]
        assert [entry.get("previous_action_id") for entry in applied] == [
            None,
            *(entry["action_id"] for entry in applied[:-1]),
        ]
        for entry in trail:
            assert entry["idempotency_key"] == f"act:hand_off:{conversation_id}:{entry['action_id']}"
            assert entry["ts_action_id"].endswith(f"#{entry['action_id']}")
            assert entry["company_id"] == entry["gsi_company_id"] == stamped[conversation_id]["company_id"]
            assert entry["gsi_actor"] == entry["actor"]
            record = records[entry["idempotency_key"]]
            assert (record["mode"], record["ts_action_id"]) == ("console", entry["ts_action_id"])
    assert [entry["result"] for trail in entries.values() for entry in trail if entry["result"] != "success"] == [
        "conflict: tom was first"
    ]


def test_notes_for_the_next_person_are_not_in_the_trail(tables, regular):
    payloads = " ".join(entry["action_payload_redacted"] for entry in tables["AUDIT"])
    notes = [item["hand_off_note"] for item in regular if "hand_off_note" in item]
    assert len(notes) >= 8
    assert not any(note in payloads for note in notes)


# --- drift


def test_each_kind_of_drift_occurs_once(conversations):
    drifted = [item for item in conversations if is_drifted(item)]
    kinds = Counter(item["conversation_id"].split("#")[2] for item in drifted)
    assert len(kinds) == len(drifted) == 14


def test_drifted_items_do_drift(conversations):
    by_kind = {
        item["conversation_id"].split("#")[2].removeprefix("req-drift-"): item
        for item in conversations
        if is_drifted(item)
    }
    assert by_kind["null-flag"]["hand_off_to_human"] is None
    assert "messages" not in by_kind["missing-attributes"]
    assert "updated_at" not in by_kind["no-update-time"]
    assert "company_id" not in by_kind["no-company"]
    assert isinstance(json.loads(by_kind["messages-as-json"]["messages"]), list)
    assert {"timestamp", "text", "sender"} == set(by_kind["other-message-names"]["messages"][0])
    assert by_kind["other-times"]["created_at"].endswith("+00:00Z")
    assert by_kind["unknown-status"]["conversation_status"] not in STATUSES
    assert isinstance(by_kind["sets-for-lists"]["allowed_channels"], set)
    assert set(by_kind["unknown-attributes"]) - set(REQUIRED) - OPTIONAL
    assert isinstance(by_kind["wrong-types"]["comms_consent"], str)
    kinds = {part["type"] for entry in by_kind["structured-content"]["messages"] for part in entry["content"]}
    assert {"text", "image", "tool_use", "tool_result"} <= kinds


def test_index_keys_drift_by_absence_only(conversations):
    texts = {
        "created_at",
        "conversation_status",
        "channel_method",
        "updated_at",
        "hand_off_requested_at",
        *(name for pair in GSIS.values() for name in pair),
    }
    for item in conversations:
        assert all(isinstance(item[name], str) and item[name] for name in texts & set(item)), item["conversation_id"]
        assert "task_complete" not in item or type(item["task_complete"]) is int


# --- the middleware's records


def test_most_conversations_have_records_of_the_middleware(tables, told):
    with_state = {item["conversation_id"] for item in tables["CONVERSATION_STATE"]}
    assert 0.5 < len(with_state) / len(told) < 0.75
    assert with_state <= {item["conversation_id"] for item in told}


def test_idempotency_records_have_the_required_attributes(tables):
    required = {
        "event_id", "created_at", "last_processed_at", "received_at", "expires_at", "status", "mode", "conversation_id",
        "safe_mode", "automation_enabled", "payload_bytes",
    }  # fmt: skip
    digests = {"payload_sha256", "payload_hash"}
    of_console = {"ts_action_id", "attempts", "reference", "during_status", "during_reason", "concerns_others"}
    kinds = Counter()
    for record in tables["IDEMPOTENCY"]:
        assert required <= set(record)
        assert set(record) <= required | digests | of_console | {"source_message_id", "intent"}
        decoded = decode(record["event_id"])
        assert (decoded.complete, decoded.certain, decoded.conversation) == (True, True, record["conversation_id"])
        kinds[decoded.format] += 1
        [digest] = digests & set(record)
        assert re.fullmatch(r"[0-9a-f]{64}", record[digest])
        assert record["expires_at"] == pytest.approx(
            clock.parse_instant(record["received_at"]).timestamp() + 30 * 86_400, abs=5
        )
    assert {"route_only", "automation_candidate", "console"} == {record["mode"] for record in tables["IDEMPOTENCY"]}
    assert set(kinds) == set(FORMATS), "each kind of key"
    assert all(any(name in record for record in tables["IDEMPOTENCY"]) for name in digests)
    assert any("source_message_id" not in record for record in tables["IDEMPOTENCY"])


def test_audit_entries_of_the_middleware(tables):
    entries = [entry for entry in tables["AUDIT"] if "actor" not in entry]
    kinds = Counter(entry["action_type"] for entry in entries)
    assert min(kinds[name] for name in ("route", "tag", "auto_reply", "escalate")) >= 20
    results = Counter(entry["result"].split(":")[0] for entry in entries)
    assert set(results) == {"success", "fail", "failure"}
    keys = {record["event_id"] for record in tables["IDEMPOTENCY"]}
    young = [entry for entry in entries if entry["expires_at"] > NOW.timestamp() + 31 * 86_400]
    assert all(entry["idempotency_key"] in keys for entry in young)
    for entry in entries:
        assert json.loads(entry["action_payload_redacted"])
        assert not re.search(r"\d{7}|[\w.]+@\w", entry["action_payload_redacted"])
    assert any(re.match(r"\d{13}#", entry["ts_action_id"]) for entry in entries)


def test_states_hold_what_the_schema_recommends(tables):
    states = tables["CONVERSATION_STATE"]
    assert all({"conversation_id", "updated_at", "expires_at"} <= set(state) for state in states)
    assert any(isinstance(state.get("risk_flags"), set) for state in states)
    assert any(set(state.get("pending_flow", ())) == {"type", "requested_at", "attempts"} for state in states)
    assert any(set(state.get("last_auto_reply", ())) == {"type", "sent_at", "source_message_id"} for state in states)


def test_states_are_what_the_latest_route_decided(tables):
    routes, compared = of_middleware(tables, "route"), 0
    for state in tables["CONVERSATION_STATE"]:
        if not (found := routes[state["conversation_id"]]):
            # An entry is kept for 60 days, a state for 90.
            assert NOW - clock.parse_instant(state["last_processed_at"]) > timedelta(days=59)
            continue
        latest, compared = found[-1], compared + 1
        decided = json.loads(latest["action_payload_redacted"])
        assert (state["last_routed_team"], state["last_intent"]) == (decided["team"], decided["intent"])
        assert float(state["last_routing_confidence"]) == decided["confidence"], state["conversation_id"]
        assert latest["idempotency_key"].endswith(f":{state['last_processed_message_id']}")
    assert compared > 120


def test_times_of_states_fit_the_records_of_their_message(tables):
    records = {record["event_id"]: record for record in tables["IDEMPOTENCY"]}
    entries = defaultdict(list)
    for entry in tables["AUDIT"]:
        if "actor" not in entry:
            entries[entry["conversation_id"]].append(moment_of(entry))
    compared = 0
    for state in tables["CONVERSATION_STATE"]:
        conversation_id = state["conversation_id"]
        processed, updated = (clock.parse_instant(state[name]) for name in ("last_processed_at", "updated_at"))
        assert processed <= updated
        assert all(at <= updated for at in entries[conversation_id])
        if record := records.get(f"evt:rp:{conversation_id}:{state['last_processed_message_id']}"):
            compared += 1
            assert record["last_processed_at"] == state["last_processed_at"]
            others = [each for key, each in records.items() if key.startswith(f"evt:rp:{conversation_id}:")]
            assert record["received_at"] == max(each["received_at"] for each in others)
    assert compared > 100


def test_states_and_escalations_tell_the_same_risks(tables):
    escalated, compared = of_middleware(tables, "escalate"), 0
    for state in tables["CONVERSATION_STATE"]:
        for entry in escalated[state["conversation_id"]]:
            compared += 1
            flags = json.loads(entry["action_payload_redacted"])["flags"]
            assert state.get("risk_flags", set()) == set(flags), state["conversation_id"]
    assert compared > 30


def test_automatic_replies_of_states_are_the_latest_in_the_trail(tables):
    sent, compared = of_middleware(tables, "auto_reply", "success"), 0
    for state in tables["CONVERSATION_STATE"]:
        told, found = state.get("last_auto_reply"), sent[state["conversation_id"]]
        if found:
            compared += 1
            assert told["type"] == json.loads(found[-1]["action_payload_redacted"])["template"]
            assert abs(clock.parse_instant(told["sent_at"]) - moment_of(found[-1])) < timedelta(milliseconds=2)
            assert found[-1]["idempotency_key"].endswith(f":{told['source_message_id']}")
        elif told:
            assert NOW - clock.parse_instant(told["sent_at"]) > timedelta(days=59)
    assert compared > 50


def test_escalations_name_a_message_that_was_there(tables):
    records = {record["event_id"]: record for record in tables["IDEMPOTENCY"]}
    for conversation_id, found in of_middleware(tables, "escalate").items():
        for entry in found:
            message_id = entry["idempotency_key"].rpartition(":")[2]
            if record := records.get(f"evt:rp:{conversation_id}:{message_id}"):
                assert clock.parse_instant(record["received_at"]) <= moment_of(entry), conversation_id


# --- colleagues


NEEDED = {Action.TRANSCRIPT_OPENED: Permission.TRANSCRIPT_RAW, Action.RECIPIENT_REVEALED: Permission.PII_REVEAL}


def test_whoever_acts_has_the_company_in_scope_at_that_time(tables):
    people = {each["username"]: each for each in staff.PEOPLE if each.get("kind") != "left"}
    owners = {item["conversation_id"]: item.get("company_id") for item in tables["CONVERSATIONS"]}
    acted = Counter()
    for entry in tables["AUDIT"]:
        if (name := entry.get("actor")) in (None, "platform"):
            continue
        told = (name, entry["action_type"], entry["conversation_id"], entry["ts_action_id"])
        # Opened transcripts have the hour in their key.
        at = clock.parse_instant(json.loads(entry["action_payload_redacted"]).get("at")) or moment_of(entry)
        access = access_at(people[name], at)
        assert access is not None, told
        role, scope = access
        if told[2].startswith(TENANT_TRAIL):
            assert scope.covers_tenant(entry["company_id"]), told
            continue
        assert scope.covers_company(entry["company_id"]), told
        assert owners.get(entry["conversation_id"], entry["company_id"]) == entry["company_id"], told
        assert entry["actor_role"] == role, told
        needed = Permission.HAND_OFF if told[1].startswith(HAND_OFF_PREFIX) else NEEDED.get(told[1])
        assert needed is None or needed in ROLE_PERMISSIONS[role], told
        acted[name] += 1
    assert acted["amira"] > 10
    assert acted["tom"] > 10


def test_whoever_is_named_by_an_item_has_its_company_in_scope(tables, regular):
    scopes = {each["username"]: Scope.of(each["scope"]) for each in staff.PEOPLE}
    mentioned: set[str] = set()
    for item in regular:
        if holder := item.get("hand_off_agent"):
            assert scopes[holder].covers_company(item["company_id"]), item["conversation_id"]
    for entry in tables["AUDIT"]:
        # From whom it was taken, and who was faster.
        if entry["action_type"].startswith(HAND_OFF_PREFIX):
            told = json.loads(entry["action_payload_redacted"])
            named = scopes.keys() & {told.get("held by"), *entry["result"].split(" ")}
            mentioned |= named
            assert all(scopes[name].covers_company(entry["company_id"]) for name in named), entry["conversation_id"]
    assert mentioned == {"ada", "tom"}


def test_administrators_change_only_accounts_within_their_scope():
    people = {each["username"]: each for each in staff.PEOPLE}
    changed = [told for told in staff.PAST if told.get("about", told["who"]) != told["who"]]
    assert changed
    for told in changed:
        at, who, about = NOW - timedelta(hours=told["hours"]), people[told["who"]], people[told["about"]]
        (role, scope), (_, theirs) = access_at(who, at), access_at(about, at - timedelta(seconds=1))
        assert role == Role.ADMIN, told
        assert within(theirs, Staff(who["username"], who["name"], role, scope)), told


# --- DynamoDB takes them


def test_every_item_is_below_the_limit(tables):
    sizes = [size_of(item) for items in tables.values() for item in items]
    assert max(sizes) < LIMIT
    assert max(sizes) > LIMIT / 2


@pytest.mark.slow
def test_the_tables_take_every_item(store, tables, conversations):
    for table, items in tables.items():
        store.put_all(table, items)
    assert len(store.all("CONVERSATIONS")) == len(conversations)
    found = store.client.query(
        TableName=store.name("CONVERSATIONS"),
        IndexName="company-id-project-id-index",
        KeyConditionExpression="company_id = :company AND project_id = :project",
        ExpressionAttributeValues={":company": {"S": "ci-lum-003"}, ":project": {"S": "pi-lum-pay"}},
        Select="COUNT",
    )
    assert found["Count"] == sum(item.get("project_id") == "pi-lum-pay" for item in conversations)


# --- conversations of tenants


def test_tenants_talk_with_their_assistant_about_everything_a_page_has_to_cope_with(tables):
    talks = tables["TENANT_CONVERSATIONS"]
    assert {item["pk"] for item in talks} == {"outlocks", "lumen-dental"}
    found = {
        item["sk"]: StoredTenantConversation.of(TenantConversation.from_raw_data(to_dynamodb(item))) for item in talks
    }
    lengths = [len(stored.entries) for stored in found.values()]
    assert (len(talks), max(lengths), sum(is_gone(item) for item in talks)) == (9, 120, 1)
    assert [name for name, stored in found.items() if stored.drift] == ["conv-e27b-import"]
    assert not found["conv-c6f0-hello"].entries
    shown = [each for stored in found.values() for each in window(stored, raw=True).items]
    assert any(each.extra and each.extra.more for each in shown)
    assert {each.speaker for each in shown} == {Speaker.CUSTOMER, Speaker.AI, Speaker.SYSTEM, Speaker.UNKNOWN}
    # At home in the schema but for one item of each kind of drift.
    regular = [item for item in talks if set(item) == {"pk", "sk", "messages", "updated_at", "ttl"}]
    assert len(regular) == 8
    assert all(isinstance(item["ttl"], int) and item["updated_at"].endswith("Z") for item in regular)


def test_what_tenants_write_has_a_day_that_insight_counts_it_on(tables, monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)
    days = [
        each.said
        for each in conversations_in([to_dynamodb(item) for item in tables["TENANT_CONVERSATIONS"]])
        if isinstance(each, TenantConversationSource)
    ]
    dated = sum(len(said) for each in days for day, said in each.items() if day != UNDATED)
    assert dated > 100
    assert dated > 20 * sum(len(each.get(UNDATED, ())) for each in days)


# --- threads of the assistant


def test_threads_are_of_the_demos_companies_and_show_what_pages_have_to_cope_with(tables):
    found = tables["THREADS"]
    threads = [item for item in found if item["SK"].startswith("THREAD#")]
    messages = [item for item in found if not item["SK"].startswith("THREAD#")]
    assert {item["org_id"] for item in threads} == {"ci-cuc-001", "ci-nwe-002", "ci-lum-003", "outlocks"}
    assert 15 <= len(threads) <= 25
    assert Counter(item["PK"] for item in messages).most_common(1)[0][1] >= 150
    own = [item["PK"].endswith(item["SK"].removeprefix("THREAD#")) for item in threads]
    assert True in own
    assert False in own
    assert sum(item["is_temporary"] is True for item in threads) == 3
    assert sum(clock.is_expired(item["ExpiryTime"], NOW) for item in threads) == 1
    verdicts = Counter(item.get("verso") for item in messages)
    assert verdicts["down"] >= 8
    assert verdicts["up"] >= 10
    assert any(item.get("feedback") for item in messages if item.get("verso") == "down")
    kinds = {part["type"] for item in messages if isinstance(item["content"], list) for part in item["content"]}
    assert kinds == {"text", "code", "tool_use", "tool_result", "image_url"}
    # At home in the schema, but for one thread of an older writer.
    stamps = {re.sub(r"\d+", lambda digits: str(len(digits.group())), item["SK"].split("#")[1]) for item in messages}
    assert stamps == {"19", "13", "10.3", ""}
    assert len({item["PK"] for item in messages if not re.fullmatch(r"\d{19}", item["SK"].split("#")[1])}) == 1
