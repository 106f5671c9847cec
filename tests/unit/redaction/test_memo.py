"""The memory of redacted texts."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from console.redaction.documents import RedactedMemo, redact_document


def memo_with_calls(**bounds):
    calls = []

    def redact(text):
        calls.append(text)
        return "redacted"

    return RedactedMemo(redact, **{"capacity": 2, "shortest": 1, "longest": 100} | bounds), calls


def test_a_text_is_redacted_once():
    memo, calls = memo_with_calls()
    assert [memo("secret"), memo("secret")] == ["redacted", "redacted"]
    assert calls == ["secret"]


def test_the_memory_is_bounded_and_forgets_what_was_used_least():
    memo, calls = memo_with_calls()
    for text in ("a", "b", "a", "c", "a", "b"):
        memo(text)
    assert len(memo._redacted) == 2
    assert calls == ["a", "b", "c", "b"]


def test_the_memory_is_bounded_in_characters_too():
    memo, calls = memo_with_calls(capacity=10, characters=2 * len("redacted"))
    for text in ("a", "b", "c", "c", "a"):
        memo(text)
    assert len(memo._redacted) == 2
    assert calls == ["a", "b", "c", "a"]
    memo.clear()
    for text in ("d", "e", "d"):
        memo(text)
    assert len(memo._redacted) == 2
    assert calls[4:] == ["d", "e"]


def test_very_short_and_very_long_texts_are_not_remembered():
    memo, calls = memo_with_calls(shortest=3, longest=5)
    for text in ("ab", "ab", "abcdef", "abcdef"):
        memo(text)
    assert len(memo._redacted) == 0
    assert len(calls) == 4


def test_no_raw_text_is_stored():
    memo, _ = memo_with_calls()
    memo("secret")
    assert list(memo._redacted.values()) == ["redacted"]
    assert b"secret" not in b"".join(memo._redacted)


def test_threads_share_the_memory():
    memo, _ = memo_with_calls(capacity=8)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(memo, [str(number % 20) for number in range(2000)])) == {"redacted"}
    assert len(memo._redacted) == 8


def test_what_the_redaction_raises_is_passed_on_and_not_remembered():
    def fail(text):
        raise RuntimeError

    memo = RedactedMemo(fail, capacity=2, shortest=1, longest=100)
    try:
        memo("secret")
    except RuntimeError:
        assert len(memo._redacted) == 0
    else:
        raise AssertionError("the error was lost")


@given(st.lists(st.text(max_size=200), max_size=12))
def test_only_redacted_texts_and_keyed_digests_are_stored(texts):
    memo, other = (RedactedMemo(redact_document, capacity=4, shortest=1, longest=150) for _ in range(2))
    for text in texts:
        assert memo(text) == other(text) == redact_document(text)
    assert set(memo._redacted.values()) <= {redact_document(text) for text in texts}
    assert all(len(digest) == 16 for digest in memo._redacted)
    assert not set(memo._redacted) & set(other._redacted)
    assert not set(memo._redacted) & {
        hashlib.blake2b(text.encode(errors="ignore"), digest_size=16).digest() for text in texts
    }
