"""The format of dialogues: what it takes, and that each mistake is told with its file and line."""

from datetime import timedelta

import pytest

from demo.conversations import HEADERS
from demo.dialogues import FOLDER, DialogueError, parse, span

KINDS = ("customer", "assistant", "human")


def read(text):
    return list(parse(text, "talks.txt", 2, HEADERS, KINDS))


def test_headers_turns_further_lines_and_attributes():
    [first, second] = read(
        "# About these two.\n\n"
        "=== pi-cuc-cv req-1\nname: María José Núñez\nupdated: 3d4h\n\n"
        "customer: Hello,\n\n  see https://cv.example: it is there.\n    indented\n"
        'assistant: Thanks\u2028you\nwith: {"price": 2.5}\n\n\n'
        "=== pi-cuc-cv req-2\ncustomer:\n"
    )
    assert (first.words, second.words) == (("pi-cuc-cv", "req-1"), ("pi-cuc-cv", "req-2"))
    assert first.needed("name") == "María José Núñez"
    assert first.span("updated") == timedelta(days=3, hours=4)
    assert [(turn.kind, turn.text) for turn in first.turns] == [
        ("customer", "Hello,\n\nsee https://cv.example: it is there.\n  indented"),
        ("assistant", "Thanks\u2028you"),
    ]
    assert str(first.turns[1].more["price"]) == "2.5"
    assert [turn.text for turn in second.turns] == [""]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("customer: hi", "talks.txt:1: a file begins with"),
        ("=== pi-cuc-cv", "talks.txt:1: “===” is followed by 2 words, not 1"),
        ("=== a b\nnmae: Ann", "talks.txt:2: “nmae” is not known here; known are assistant, "),
        (
            "=== a b\ncustomer: hi\n\nname: Ann",
            "talks.txt:4: “name” is not known here; known are assistant, customer, h",
        ),
        ("=== a b\nname: Ann\nname: Bob", "talks.txt:3: the dialogue has two “name:” lines"),
        ("=== a b\ncustomer: hi\nand bye", "talks.txt:3: “and bye” is not “name: text”"),
        ("=== a b\n  hi", "talks.txt:2: an indented line goes on with a message"),
        ("=== a b\ncustomer: hi\nwith: {", "talks.txt:3: not JSON"),
        ("=== a b\ncustomer: hi\nwith: [1]", "talks.txt:3: “with:” takes a JSON object"),
    ],
)
def test_each_mistake_is_told_with_its_place(text, told):
    with pytest.raises(DialogueError) as refused:
        read(text)
    assert str(refused.value).startswith(told)


def test_what_is_missing_or_no_time_is_told_with_its_place():
    [dialogue] = read("=== a b\nupdated: soon\ncustomer: hi\nhuman: 2h")
    with pytest.raises(DialogueError, match=r"talks\.txt:1: the dialogue has no “name:” line"):
        dialogue.needed("name")
    with pytest.raises(DialogueError, match=r"talks\.txt:1: “soon” is not a time span"):
        dialogue.span("updated")
    with pytest.raises(DialogueError, match=r"talks\.txt:4: “human” needs 2 words"):
        dialogue.turns[1].words(2)


def test_what_a_writer_set_otherwise_left_out_or_keeps_as_a_set():
    [dialogue] = read('=== a b\nset: {"ttl": "1", "channels": {"SS": ["x", "y"]}, "n": {"NS": [1, 2]}}\nunset: gone\n')
    assert dialogue.as_written({"pk": "p", "ttl": 1, "gone": 2}) == {
        "pk": "p",
        "ttl": "1",
        "channels": {"x", "y"},
        "n": {1, 2},
    }


def test_time_spans():
    assert span("90m", "") == timedelta(minutes=90)
    assert span("-1h30m", "") == timedelta(hours=-1.5)
    for wrong in ("", "5", "h", "5 m", "٣h"):
        with pytest.raises(DialogueError):
            span(wrong, "")


def test_every_file_is_described_and_none_is_left_over():
    from demo.conversations import FILES

    assert {path.stem for path in FOLDER.glob("*.txt")} == {
        *FILES, "chats", "threads", "tenant-conversations", "queue", "later", "larkfield", "trades",
    }  # fmt: skip
    for path in FOLDER.glob("*.txt"):
        assert path.read_text(encoding="utf-8").startswith("# "), path
