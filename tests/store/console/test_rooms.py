"""How much of the console every page enters, and how that is counted."""

from tests.bench.rooms import count, entered
from tests.people import member, signed_in


def test_what_every_page_costs_is_sixteen_files(store):
    browser = signed_in(member())
    # What a request does now and then, such as noting that the session is in use, is no part of it.
    tries = [count(lambda: lambda: browser.get("/help/"), lambda: lambda: browser.get("/help/")) for _ in range(3)]
    found = min(tries, key=len)
    assert found["console/help.py"] >= {"help_page"}
    assert len(found) <= 16, sorted(found)


def test_threads_of_a_request_are_counted_and_libraries_and_tests_are_not(store):
    from console.store import calls
    from console.store.presence import table_ready

    with entered() as found:
        calls.parallel(lambda: table_ready("STAFF"), lambda: sum([1]))
    assert found["console/store/presence.py"] >= {"table_ready"}
    assert found["console/store/calls.py"] >= {"parallel", "submit"}
    assert all(path.startswith(("console/", "tenants/", "conversations/")) for path in found)
