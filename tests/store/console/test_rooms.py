"""How many files of the console a request enters, and how that is counted."""

import pytest

from tests.bench.rooms import count, entered, requests_of

# A newcomer follows a request through so many files at most.
MOST_FILES = {
    "help": 16,
    "take-over": 32,
    "company list": 30,
    "tenant settings": 28,
    "audit review": 42,
    "conversation": 61,
}


@pytest.mark.parametrize("name", MOST_FILES)
def test_a_request_enters_few_files(store, name):
    # What a request does now and then, such as reading anew what was cached, is no part of it.
    tries = (count(*requests_of(store)[name]) for _ in range(3))
    found = next((each for each in tries if len(each) <= MOST_FILES[name]), None)
    assert found is not None, sorted(count(*requests_of(store)[name]))
    assert "console/middleware.py" in found


def test_threads_of_a_request_are_counted_and_libraries_and_tests_are_not(store):
    from console.store import calls
    from console.store.presence import table_ready

    with entered() as found:
        calls.parallel(lambda: table_ready("STAFF"), lambda: sum([1]))
    assert found["console/store/presence.py"] >= {"table_ready"}
    assert found["console/store/calls.py"] >= {"parallel", "submit"}
    assert all(path.startswith(("console/", "tenants/", "conversations/")) for path in found)
