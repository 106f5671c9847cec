"""The memory of redacted texts."""

from concurrent.futures import ThreadPoolExecutor

from console.redaction.memo import RedactedMemo


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
    assert len(memo) == 2
    assert calls == ["a", "b", "c", "b"]


def test_very_short_and_very_long_texts_are_not_remembered():
    memo, calls = memo_with_calls(shortest=3, longest=5)
    for text in ("ab", "ab", "abcdef", "abcdef"):
        memo(text)
    assert len(memo) == 0
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
    assert len(memo) == 8


def test_what_the_redaction_raises_is_passed_on_and_not_remembered():
    def fail(text):
        raise RuntimeError

    memo = RedactedMemo(fail, capacity=2, shortest=1, longest=100)
    try:
        memo("secret")
    except RuntimeError:
        assert len(memo) == 0
    else:
        raise AssertionError("the error was lost")
