"""`manage.py tenants export`: all of it, on record, into a file that only its owner can read."""

import json
import stat
from pathlib import Path

import pytest

from tests import faults
from tests.tenants.items import tenant, user
from tests.tenants.kit import kill_at_each_call, of, put_tenants, trail
from tests.tenants.stored import foreign, rich, run


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "tenants.json"


def names_in(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


def test_an_export_has_all_of_all_tenants_in_order(store, file):
    store.put_all("TENANTS", [*foreign("outlocks"), *rich("outlocks"), *rich("acme", "+447700900832")])
    store.put_all("TENANTS", [{"pk": "TENANT#acme", "sk": "USERS", "version": 3}, {"pk": "USER#acme", "sk": "x"}])
    store.put("TENANTS", {"pk": "CHANNEL#teams#x", "sk": "OWNER", "tenant_id": "acme"})
    out, err, well = run("export", file)
    assert well, err
    found = json.loads(file.read_text())
    assert (found["format"], found["version"], found["environment"]) == ("conversation-console-tenants", 1, "test")
    assert [each["tenant_id"] for each in found["tenants"]] == ["acme", "outlocks"]
    keys = [item["sk"]["S"] for item in found["tenants"][1]["items"]]
    assert keys == sorted(of(store, "outlocks"))
    assert "USERS" not in [item["sk"]["S"] for item in found["tenants"][0]["items"]]
    assert out == ""
    assert "2 items are of no tenant" in err
    assert "2 tenants with 14 items. They hold personal data" in err
    assert trail(store, "acme") == trail(store, "outlocks") == ["tenant.exported"]


def test_the_file_is_its_owners_alone(store, file):
    put_tenants(store)
    run("export", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert names_in(file.parent) == ["tenants.json"]


def test_a_file_that_is_there_is_replaced_only_when_asked(store, file):
    put_tenants(store)
    file.write_text("mine")
    out, err, well = run("export", file)
    assert (out, well, file.read_text()) == ("", False, "mine")
    assert "is there already. --overwrite replaces it." in err
    assert store.all("AUDIT") == []
    file.chmod(0o644)
    assert run("export", file, "--overwrite")[2]
    assert json.loads(file.read_text())["version"] == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_made_meanwhile_is_not_replaced(store, file):
    put_tenants(store)
    with faults.before("Scan", lambda: file.write_text("mine")):
        _, err, well = run("export", file)
    assert not well
    assert "was made by somebody else meanwhile" in err
    assert file.read_text() == "mine"
    assert names_in(file.parent) == ["tenants.json"]


def test_a_place_that_is_not_there_is_told(store, tmp_path):
    _, err, well = run("export", tmp_path / "no" / "where.json")
    assert not well
    assert "No such file or directory" in err


def test_standard_output_has_the_document_alone(store):
    put_tenants(store)
    out, err, well = run("export", "-")
    assert well
    assert len(json.loads(out)["tenants"]) == 2
    assert "personal data" in err


def test_named_tenants_are_read_by_their_key_strongly_consistent(store, file):
    put_tenants(store, "outlocks", "acme", "bluebird")
    with store.calls() as calls:
        _, err, well = run("export", file, "--tenant", "bluebird", "--tenant", "acme", "--tenant", "acme")
    assert well, err
    reads = [each for each in calls if each.tables == ("TENANTS",)]
    assert [(each.operation, each.request["ConsistentRead"]) for each in reads] == [("Query", True)] * 2
    assert [each["tenant_id"] for each in json.loads(file.read_text())["tenants"]] == ["bluebird", "acme"]
    assert trail(store) == []


@pytest.mark.parametrize("tenant_id", ["nobody", "", "x" * 3000])
def test_a_tenant_that_is_not_there_is_told_and_nothing_is_given_out(store, file, tenant_id):
    put_tenants(store)
    out, err, well = run("export", file, "--tenant", "acme", "--tenant", tenant_id)
    assert (well, out, file.exists()) == (False, "", False)
    assert "There is no tenant" in err
    assert store.all("AUDIT") == []


@pytest.mark.parametrize("to", ["-", "file"])
def test_without_a_trail_nothing_is_given_out(store, file, to):
    put_tenants(store)
    with faults.refuse("PutItem", code="InternalServerError", status=500, times=99):
        out, _, well = run("export", file if to == "file" else "-")
    assert (well, out, names_in(file.parent)) == (False, "", [])


def test_what_an_import_will_refuse_is_told_and_exported(store, file):
    store.put_all("TENANTS", [tenant(), user("zoe")])
    _, err, well = run("export", file)
    assert well
    assert "An import will refuse this: tenant outlocks, no user is an admin" in err
    assert len(json.loads(file.read_text())["tenants"]) == 1


def test_an_export_killed_at_any_call_gives_nothing_out_and_is_whole_when_run_again(store, file):
    def check(finished: bool) -> None:
        assert file.exists() == finished
        assert not finished or trail(store, "acme") == trail(store, "outlocks") == ["tenant.exported"]
        assert run("export", file, "--overwrite")[2]
        assert [each["tenant_id"] for each in json.loads(file.read_text())["tenants"]] == ["acme", "outlocks"]
        file.unlink()

    assert kill_at_each_call(store, lambda: put_tenants(store), lambda: run("export", file), check) == 3
