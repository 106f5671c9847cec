"""Imports under bad luck: in many transactions, interrupted anywhere, with others at work meanwhile."""

import json

import pytest

from tenants import channels, users
from tenants.keys import partition_of
from tenants.transfer import importing
from tenants.users import UserValues
from tests import faults
from tests.tenants import kit
from tests.tenants.items import mapping, tenant, user
from tests.tenants.kit import BOT, OLGA, guard, kill_at_each_call, of, put_tenants, trail
from tests.tenants.stored import document, given, run, without_guards, write

COMPANY = {"pk": "TENANT#outlocks", "sk": "COMPANY#ci-1", "linked_at": "2026-01-01T00:00:00Z"}
ITEMS = (tenant(), user(), user("zoe"), user("amy"), COMPANY, mapping(), mapping("slack", "T1"))


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "tenants.json", given("outlocks", *ITEMS))


@pytest.fixture
def small(monkeypatch):
    """Transactions that hold two items beside the console's own writes, or one channel."""
    monkeypatch.setattr(importing, "MOST_WRITES", 6)


def transactions(store, *args) -> list[list[dict]]:
    with store.calls() as calls:
        _, err, well = run(*args)
    assert well, err
    return [each.request["TransactItems"] for each in calls if each.operation == "TransactWriteItems"]


def is_served(store) -> bool:
    """Whether the tenant has the status of the file."""
    return of(store, "outlocks").get("META", {}).get("status") == "active"


def test_a_tenant_that_fits_is_one_transaction(store, file):
    [writes] = transactions(store, "import", file, "--yes")
    # Items, two guards of channels, the guard of users and the entry.
    assert len(writes) == len(ITEMS) + 4
    assert store.all("CONSOLE") == []


def test_one_transaction_holds_a_hundred_writes(store, tmp_path):
    many = [user(f"u{n}") for n in range(95)]
    path = write(tmp_path / "f", given("outlocks", tenant(), user(), *many))
    assert [len(each) for each in transactions(store, "import", path, "--yes")] == [99]
    store.empty()
    path = write(tmp_path / "f", given("outlocks", tenant(), user(), *many, mapping(), mapping("slack", "T1")))
    assert [len(each) for each in transactions(store, "import", path, "--yes")] == [100, 7]


def test_large_items_are_parted_by_their_size(store, tmp_path):
    notes = {"display_name": "x" * 390_000}
    path = write(tmp_path / "f", given("outlocks", tenant(), user(), *(user(f"u{n}", **notes) for n in range(12))))
    assert len(transactions(store, "import", path, "--yes")) == 2
    assert len(of(store, "outlocks")) == 15


def test_a_tenant_in_parts_is_served_when_it_is_whole(store, file, small):
    seen: list[tuple[bool, set[str]]] = []

    def look() -> None:
        seen.append((is_served(store), set(of(store, "outlocks"))))

    with faults.before("TransactWriteItems", look, times=99):
        out, err, well = run("import", file, "--yes")
    assert well, err
    assert "outlocks: 7 items written in 4 transactions." in out
    assert [served for served, _ in seen] == [False] * 4
    assert seen[1][1] == {"META", "USER#admin", "USER#amy", "USERS"}
    assert is_served(store)
    assert without_guards(store) == sorted(ITEMS, key=lambda each: each["sk"])
    assert of(store, "outlocks")["USERS"]["version"] == 2
    assert store.all("CONSOLE") == []
    assert trail(store) == ["tenant.imported"] * 4


def test_items_for_a_tenant_that_is_there_go_in_parts_too(store, file, small):
    store.put_all("TENANTS", [tenant(status="suspended"), {"pk": "TENANT#outlocks", "sk": "USERS", "version": 0}])
    run("import", file, "--yes")
    assert of(store, "outlocks")["META"]["status"] == "suspended"
    assert len(of(store, "outlocks")) == len(ITEMS) + 1
    assert of(store, "outlocks")["USERS"]["version"] == 2


@pytest.mark.parametrize("most", [100, 6])
def test_killed_at_any_call_and_run_again_it_is_whole(store, file, monkeypatch, most):
    monkeypatch.setattr(importing, "MOST_WRITES", most)
    monkeypatch.setattr(kit, "MOST_CALLS", 60)

    def check(finished: bool) -> None:
        stored = of(store, "outlocks")
        whole = len(stored) == len(ITEMS) + 1
        assert whole or not is_served(store)
        assert whole or not finished
        if most == 100:
            assert whole or not stored
        _, err, well = run("import", file, "--yes")
        assert well, err
        assert is_served(store)
        assert without_guards(store) == sorted(ITEMS, key=lambda each: each["sk"])
        assert guard(store) == "outlocks"
        assert store.all("CONSOLE") == []
        assert trail(store) == ["tenant.imported"] * (1 if most == 100 else len(trail(store)))

    calls = kill_at_each_call(store, lambda: None, lambda: run("import", file, "--yes"), check)
    assert calls >= 8


def interrupted(store, file, part: int) -> None:
    """An import of which only the first parts are written."""
    with faults.refuse("TransactWriteItems", code="InternalServerError", status=500, nth=part, times=99):
        _, err, well = run("import", file, "--yes")
    assert not well
    assert "is not known: run it again" in err


def test_an_interrupted_import_says_so_and_goes_on(store, file, small):
    interrupted(store, file, part=3)
    assert of(store, "outlocks")["META"]["status"] == "onboarding"
    out, err, well = run("import", file, "--yes")
    assert well, err
    assert "outlocks: an import of this file was interrupted: it is gone on with" in out
    assert "the same      META (but for its status, which is set when all of it is there)" in out
    assert is_served(store)


def test_another_file_does_not_go_on_with_it(store, file, small, tmp_path):
    """What it has is added; but whether the tenant is complete then, nobody knows."""
    interrupted(store, file, part=3)
    other = write(tmp_path / "other", given("outlocks", tenant(), user(), user("new")))
    out, err, well = run("import", other, "--yes")
    assert well, err
    assert "outlocks: exists" in out
    assert "differs       META (left as it is; not the same: status)" in out
    assert not is_served(store)
    assert "USER#new" in of(store, "outlocks")


def test_a_status_set_meanwhile_is_not_set_back(store, file, small):
    interrupted(store, file, part=3)
    store.update("TENANTS", {"pk": "TENANT#outlocks", "sk": "META"}, status="suspended")
    out, err, well = run("import", file, "--yes")
    assert well, err
    assert "outlocks: exists" in out
    assert of(store, "outlocks")["META"]["status"] == "suspended"


def claim() -> None:
    channels.claim("acme", BOT, OLGA)


def add_user() -> None:
    users.add("outlocks", UserValues("new", "zoe@outlocks.example", "New", "member"), OLGA)


@pytest.mark.parametrize("when", ["before the plan is looked at again", "before it is written"])
@pytest.mark.parametrize("change", [claim, add_user])
def test_what_changed_since_the_plan_is_a_refusal(store, file, when, change, monkeypatch):
    put_tenants(store, "acme")
    store.put("TENANTS", tenant())
    seen: list[dict] = []

    def strike(*_) -> str:
        change()
        seen.append({key: store.all(key) for key in ("TENANTS", "AUDIT")})
        return "y"

    if when == "before it is written":
        with faults.before("TransactWriteItems", strike):
            _, err, well = run("import", file, "--yes")
    else:
        monkeypatch.setattr("builtins.input", strike)
        _, err, well = run("import", file)
    assert not well
    assert "outlocks: what is stored changed since the plan was made. Nothing is lost" in err
    assert [{key: store.all(key) for key in ("TENANTS", "AUDIT")}] == seen
    out, _, well = run("import", file, "--yes")
    assert not well
    assert ("the channel is of the tenant acme" in out) == (change is claim)
    assert ("another user has its email" in out) == (change is add_user)


def test_a_tenant_made_meanwhile_is_not_written_over(store, file):
    made = tenant(name="Made by somebody else")
    with faults.before("TransactWriteItems", lambda: store.put("TENANTS", made)):
        _, err, well = run("import", file, "--yes")
    assert not well
    assert "changed since the plan" in err
    assert store.all("TENANTS") == [made]


def test_tenants_before_the_one_that_changed_stay_written(store, tmp_path):
    path = write(tmp_path / "f", given("acme", tenant("acme"), user(tenant_id="acme")), given())
    with faults.before("TransactWriteItems", lambda: store.put("TENANTS", user()), nth=2):
        out, err, well = run("import", path, "--yes")
    assert not well
    assert "acme: 2 items written in one transaction." in out
    assert set(of(store, "outlocks")) == {"USER#admin"}
    out, err, well = run("import", path, "--yes")
    assert well, err
    assert "acme: exists" in out
    assert set(of(store, "outlocks")) == {"META", "USER#admin", BOT.key}


def test_another_write_at_the_same_moment_is_waited_out(store, file):
    body = {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "message": "Transaction cancelled",
        "CancellationReasons": [{"Code": "TransactionConflict", "Message": "x"}],
    }
    with faults.answer("TransactWriteItems", body=body, status=400, times=2):
        _, err, well = run("import", file, "--yes")
    assert well, err
    assert is_served(store)


def test_an_answer_that_was_lost_is_told_and_run_again_it_is_whole(store, file):
    with faults.fail_after("TransactWriteItems"):
        _, err, well = run("import", file, "--yes")
    assert not well
    assert "Whether part 1 of 1 was written is not known: run it again." in err
    assert run("import", file, "--yes")[2]
    assert is_served(store)


def test_without_a_trail_nothing_is_written(bare_store, tmp_path):
    bare_store.create_tables("TENANTS", "CONSOLE")
    path = write(tmp_path / "f", given())
    _, err, well = run("import", path, "--yes")
    assert not well
    assert "not there in this environment" in err
    assert bare_store.all("TENANTS") == []


def test_a_document_of_many_tenants_needs_no_order(store, tmp_path):
    tenants = [given(name, tenant(name), user(tenant_id=name)) for name in ("b", "a", "c")]
    path = tmp_path / "f"
    path.write_text(json.dumps(document(*tenants)))
    assert run("import", path, "--yes")[2]
    assert {each["pk"] for each in store.all("TENANTS")} == {partition_of(each) for each in "abc"}
