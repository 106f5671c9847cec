"""Loading conversation items from JSON lines: what is refused and why, and that nothing is ever overwritten."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from console.schema.sizes import size_of
from conversations.lists.loading import Refused, item_of
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.items import conversation


def plain(**changes) -> dict:
    return conversation(**changes)


def line(item) -> bytes:
    return json.dumps(item, ensure_ascii=False).encode()


def load(path, *lines: bytes) -> tuple[str, str]:
    path.write_bytes(b"\n".join(lines) + b"\n")
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("load_conversations", str(path), stdout=out, stderr=err)
    except CommandError as error:
        err.write(f"CommandError: {error}")
    return out.getvalue(), err.getvalue()


def test_items_are_stored_as_given_with_their_sparse_keys_derived(store, tmp_path):
    item = plain(gsi_recipient_tel=..., gsi_company_whatsapp_number=..., note_of_others={"a": [1.5, None, True]})
    mail = plain(
        primary_channel="jo@example.com",
        recipient_tel=None,
        recipient_email="jo@example.com",
        gsi_recipient_tel=None,
        gsi_company_whatsapp_number="",
        channel_method="email",
        channel_config={"company_email": "replies@example.com", "whatsapp": {"company_whatsapp_number": "+44"}},
    )
    out, err = load(tmp_path / "f.jsonl", line(item), b"", line(mail))
    assert "2 loaded, 0 already there, 0 refused." in out, err
    derived = {"gsi_recipient_tel": "+447700900123", "gsi_company_whatsapp_number": "+447588713814"}
    stored = store.get(
        "CONVERSATIONS", primary_channel=item["primary_channel"], conversation_id=item["conversation_id"]
    )
    assert json.loads(json.dumps(stored, default=float)) == item | derived
    stored = store.get("CONVERSATIONS", primary_channel="jo@example.com", conversation_id=mail["conversation_id"])
    keys = {name: value for name, value in stored.items() if name.startswith("gsi_")}
    assert keys == {"gsi_recipient_email": "jo@example.com", "gsi_company_email": "replies@example.com"}


def exported(item) -> bytes:
    """A line of DynamoDB's export to S3."""
    return line({"Item": to_dynamodb(item)})


def test_an_export_of_dynamodb_is_loaded_as_the_items_it_was_made_of(store, tmp_path):
    item = plain(note_of_others={"a": [1.5, None, True]})
    out, err = load(tmp_path / "f.jsonl", exported(item), exported(plain(request_id="b", hand_off_to_human=...)))
    assert "2 loaded, 0 already there, 0 refused." in out, err
    assert "hand_off_to_human was absent in 1 of them and is now false." in out
    stored = store.get(
        "CONVERSATIONS", primary_channel=item["primary_channel"], conversation_id=item["conversation_id"]
    )
    assert json.loads(json.dumps(stored, default=float)) == item


def test_flags_that_an_export_lacks_become_false_and_that_is_said(store, tmp_path):
    lacking = plain(request_id="a", function_call=..., hand_off_to_human=...)
    out, err = load(tmp_path / "f.jsonl", line(lacking), line(plain(request_id="b", function_call=...)), line(plain()))
    assert "3 loaded, 0 already there, 0 refused." in out, err
    assert "function_call was absent in 2 of them and is now false." in out
    assert "hand_off_to_human was absent in 1 of them and is now false." in out
    assert {each["function_call"] for each in store.all("CONVERSATIONS")} == {False}
    out, _ = load(tmp_path / "f.jsonl", line(lacking))
    assert "absent" not in out


REFUSED = {
    "company_id is missing": line(plain(company_id=...)),
    "an export's item has a value that is not written as DynamoDB writes it": line({"Item": {"company_id": "x"}}),
    "messages is set instead of list": line({"Item": to_dynamodb(plain(messages=...)) | {"messages": {"SS": ["x"]}}}),
    "messages is text instead of list": line(plain(messages="[]")),
    "task_complete is boolean instead of number": line(plain(task_complete=True)),
    "comms_consent is NULL instead of boolean": line(plain(comms_consent=None)),
    "primary_channel is missing": b"{}",
    "conversation_id is empty": line(plain(conversation_id="")),
    "project_id is empty": line(plain(project_id="")),
    "conversation_id is longer than 1024 bytes": line(plain(conversation_id="ä" * 513)),
    "channel_method is not one of whatsapp, sms, email": line(plain(channel_method="fax")),
    "task_complete is neither 0 nor 1": line(plain(task_complete=2)),
    "created_at is not a timestamp": line(plain(created_at="yesterday")),
    "an item holds at most 409600 (400 KB)": line(plain(messages=["x" * 410_000])),
    "not JSON": b'{"primary_channel": ',
    "not a JSON object": b"[1]",
    "not UTF-8 text": b'{"primary_channel": "\xff"}',
    "an attribute is given twice": b'{"a": 1, "a": 2}',
    "NaN is not a number that DynamoDB keeps": b'{"a": NaN}',
    "more digits than DynamoDB keeps": line(plain(processing_time_ms=int("1" * 60))),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_no_item_of_the_schema_is_refused_with_its_reason(reason):
    with pytest.raises(Refused) as refused:
        item_of(REFUSED[reason])
    assert reason in str(refused.value)


def test_text_that_is_not_unicode_is_refused():
    with pytest.raises(Refused, match="not UTF-8"):
        item_of(b'{"primary_channel": "\\ud800"}')


def test_deep_nesting_is_refused(store, tmp_path):
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    nested = plain(project_data={"a": json.loads("[" * 40 + "]" * 40)})
    _, err = load(tmp_path / "f.jsonl", deep, line(plain()))
    assert "line 1: not JSON" in err
    assert len(store.all("CONVERSATIONS")) == 1
    if not store.embedded:
        _, err = load(tmp_path / "f.jsonl", line(nested))
        assert "line 1: the database refused the item as invalid" in err


def test_refused_lines_are_reported_by_number_and_the_others_go_on(store, tmp_path):
    sound = [plain(request_id=f"r{number}") for number in range(3)]
    lines = [line(sound[0]), line(plain(company_id=...)), line(sound[1]), b"", b"junk", line(sound[2])]
    out, err = load(tmp_path / "f.jsonl", *lines)
    assert "3 loaded, 0 already there, 2 refused." in out
    assert "line 2: company_id is missing" in err
    assert "line 5: not JSON" in err
    assert "CommandError: 2 of 5 lines were refused." in err
    assert "+447700900123" not in out + err
    assert len(store.all("CONVERSATIONS")) == 3


def test_an_item_that_is_there_is_never_overwritten(store, tmp_path):
    item = plain()
    store.put("CONVERSATIONS", item | {"conversation_status": "as it was"})
    out, err = load(tmp_path / "f.jsonl", line(item), line(plain(request_id="new")), line(plain(request_id="new")))
    assert "1 loaded, 2 already there, 0 refused." in out
    assert "CommandError" not in err
    assert {each["conversation_status"] for each in store.all("CONVERSATIONS")} == {"as it was", "initial_message_sent"}


def test_a_load_is_one_entry_in_the_trail_without_personal_data(store, tmp_path):
    load(tmp_path / "f.jsonl", line(plain()), line(plain(company_id=...)))
    (entry,) = store.all("AUDIT")
    assert (entry["conversation_id"], entry["action_type"]) == ("SYSTEM", "conversations.loaded")
    assert (entry["result"], entry["actor"]) == ("success", "command-line")
    assert "7700900123" not in str(entry)
    assert "refused" in entry["action_payload_redacted"]


def test_a_load_that_breaks_off_is_failed_in_the_trail_and_goes_on_when_repeated(store, tmp_path):
    lines = [line(plain(request_id=f"r{number}")) for number in range(3)]
    with faults.fail_before("PutItem", nth=2, table_key="CONVERSATIONS"):
        _, err = load(tmp_path / "f.jsonl", *lines)
    assert "Load the file again to continue" in err
    assert [entry["result"] for entry in store.all("AUDIT")] == ["failed: StoreUnavailable"]
    out, _ = load(tmp_path / "f.jsonl", *lines)
    assert "2 loaded, 1 already there, 0 refused." in out


def test_a_file_that_is_not_there_is_said(store, tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("load_conversations", str(tmp_path / "none"))


@pytest.mark.dynoxide_only
def test_the_size_is_counted_as_dynamodb_counts_it_local_indexes_included(store, tmp_path):
    values = [0, 7, 150, 1000, 12345, -5, 0.25, 0.015, -3.125, True, None, [], ["a", {"b": []}], {"ä": "é"}]
    base = size_of(to_dynamodb(plain(messages=[""], project_data={"values": values})))
    room = 400 * 1024 // 5 - base
    fits = plain(messages=["x" * room], project_data={"values": values})
    too_long = plain(messages=["x" * (room + 1)], project_data={"values": values})
    out, err = load(tmp_path / "f.jsonl", line(fits), line(too_long))
    assert "1 loaded, 0 already there, 1 refused." in out, err
    assert "line 2: 81921 bytes were refused; DynamoDB takes 81920 in a table with 4 local indexes" in err


def test_an_item_of_just_400_kb_passes_the_check_and_one_byte_more_does_not():
    room = 400 * 1024 - size_of(to_dynamodb(plain(messages=[""])))
    assert item_of(line(plain(messages=["x" * room])))
    with pytest.raises(Refused, match="409601 bytes"):
        item_of(line(plain(messages=["x" * (room + 1)])))
