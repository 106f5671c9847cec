"""What a person who edits a dialogue is told, where the line reads well and cannot be so."""

from datetime import UTC, datetime

import pytest

from demo import conversations, dialogues, threads
from demo.dialogues import DialogueError

NOW = datetime(2025, 11, 20, 12, 0, tzinfo=UTC)
HEAD = "=== pi-cuc-cv req-1\nphone: +447700900001\nchannel: sms\nstatus: awaiting_reply\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD.replace("pi-cuc-cv", "pi-none") + "updated: 1h\n", "waiting.txt:1: no project “pi-none”"),
        (HEAD.replace("sms", "fax") + "updated: 1h\n", "waiting.txt:1: project “pi-cuc-cv” has no channel “fax”"),
        (HEAD.replace("phone", "email") + "updated: 1h\n", "waiting.txt:1: the dialogue has no “phone:” line"),
        (HEAD + "customer: hi\n", "waiting.txt:1: the dialogue has no “updated:” line"),
        (HEAD + "human: soon\n", "waiting.txt:5: “soon” is not a time span"),
        (HEAD + "human: 2h\ntaken: 1h nobody\n", "waiting.txt:6: nobody named “nobody” in staff.toml"),
        (HEAD + "human: 2h\ntaken: 3h tom\n", "waiting.txt:6: “taken” is longer ago than what comes before it"),
        (HEAD + "noted: Call back.\n", "waiting.txt:5: “noted” needs something with a time before it"),
        (HEAD + "updated: 1h\nset: much\n", "waiting.txt:1: not JSON"),
        (HEAD + "updated: 1h\nraw: much\n", "waiting.txt:6: not JSON"),
        (HEAD + "updated: 1h\ndata: {\n", "waiting.txt:1: not JSON"),
    ],
)
def test_it_is_told_with_file_and_line(text, told, tmp_path, monkeypatch):
    (tmp_path / "waiting.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr(dialogues, "FOLDER", tmp_path)
    with pytest.raises(DialogueError) as refused:
        list(conversations.items(NOW))
    assert str(refused.value).startswith(told)


def test_a_stamp_that_no_writer_has_is_told_with_file_and_line(tmp_path, monkeypatch):
    text = '=== thr-1 ci-cuc-001#ann\nlast: 1h\n\ncustomer: hi\nwith: {"stamp": "roman"}\n'
    (tmp_path / "threads.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr(dialogues, "FOLDER", tmp_path)
    with pytest.raises(DialogueError, match=r"^threads\.txt:4: no stamp “roman”; there are seconds, "):
        list(threads.items(NOW))
