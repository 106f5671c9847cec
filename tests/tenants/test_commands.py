"""`manage.py tenants import`: nothing is lost on the way from an export, nothing that is there is changed."""

import builtins
import json
from pathlib import Path

import pytest

from tenants.management.commands import tenants as command
from tenants.transfer.values import canonical
from tests.tenants.items import mapping, tenant, user
from tests.tenants.kit import BOT, guard, of, put_tenants, trail
from tests.tenants.stored import EVERYTHING, PHONE, foreign, given, rich, run, snapshot, without_guards, write


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "tenants.json"


def answering(monkeypatch, text: str | None) -> list[str]:
    asked: list[str] = []

    def answer(prompt: str = "") -> str:
        asked.append(prompt)
        if text is None:
            raise EOFError
        return text

    monkeypatch.setattr(builtins, "input", answer)
    return asked


# --- round trip -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [[], ["--tenant", "outlocks", "--tenant", "acme"]], ids=["walked", "named"])
def test_export_then_import_elsewhere_gives_the_same_items(store, file, named):
    store.put_all("TENANTS", [*rich("outlocks"), *rich("acme", "+447700900832"), *foreign()])
    before = store.all("TENANTS")
    assert run("export", file, *named)[2]
    store.empty()
    out, err, well = run("import", file, "--yes")
    assert well, err
    memories = ("MEMORY#", "INVITE#")
    assert without_guards(store) == [each for each in before if not each["sk"].startswith(memories)]
    assert {each["pk"] for each in store.all("TENANTS") if each["sk"] == "OWNER"} == {
        "CHANNEL#email#help@acme.example",
        "CHANNEL#email#help@outlocks.example",
        f"CHANNEL#whatsapp#{PHONE}",
        "CHANNEL#whatsapp#+447700900832",
    }
    assert "outlocks: new" in out
    assert "outlocks: 6 items written in one transaction." in out
    assert "not imported  MEMORY#admin#s1" in out
    assert PHONE not in out
    assert trail(store) == ["tenant.imported"]
    assert of(store, "outlocks")["USERS"]["version"] == 1
    assert store.all("CONSOLE") == []
    assert not [each for each in store.all("AUDIT") if PHONE in each["action_payload_redacted"]]


def test_imported_twice_it_writes_once(store, file):
    store.put_all("TENANTS", rich())
    run("export", file)
    store.empty()
    run("import", file, "--yes")
    before = snapshot(store)
    out, _, well = run("import", file, "--yes")
    assert well
    assert snapshot(store) == before
    assert "0 add, 6 the same, 0 differs, 0 refused, 0 not imported." in out
    assert "There is nothing to write." in out


def test_an_export_of_where_it_came_from_imports_as_nothing(store, file):
    store.put_all("TENANTS", [*rich(), *foreign()])
    run("export", file)
    before = snapshot(store)
    assert run("import", file, "--yes")[2]
    assert snapshot(store) == before


# --- import -----------------------------------------------------------------------------------------------------------


def test_what_is_there_is_left_and_what_is_missing_is_added(store, file):
    store.put_all("TENANTS", [tenant(name="As it is"), user(email="boss@x.example"), user("kept"), *foreign()])
    store.put("TENANTS", {"pk": "TENANT#outlocks", "sk": "USERS", "version": 7})
    before = of(store, "outlocks")
    company = {"pk": "TENANT#outlocks", "sk": "COMPANY#ci-1"}
    write(file, given("outlocks", tenant(), user(), user("zoe"), mapping(), company, mapping("slack", "T1")))
    out, err, well = run("import", file, "--yes")
    assert well, err
    after = of(store, "outlocks")
    assert {sk: item for sk, item in after.items() if sk in before} == before | {
        "USERS": {"pk": "TENANT#outlocks", "sk": "USERS", "version": 8}
    }
    assert set(after) - set(before) == {"USER#zoe", BOT.key, "CHANNEL#slack#T1", "COMPANY#ci-1"}
    assert guard(store) == "outlocks"
    lines = out.splitlines()
    assert lines[0] == "outlocks: exists"
    assert "  differs       META (left as it is; not the same: name)" in lines
    assert "  add           USER#zoe" in lines
    assert "4 add, 0 the same, 2 differs, 0 refused, 0 not imported." in lines
    [entry] = store.all("AUDIT")
    assert (entry["action_type"], entry["actor"]) == ("tenant.imported", "command-line")
    told = json.loads(entry["action_payload_redacted"])
    assert (told["users"], told["companies"], told["part"], told["created"]) == (["zoe"], ["ci-1"], "1 of 1", False)


def test_a_dry_run_writes_nothing_and_asks_nothing(store, file, monkeypatch):
    asked = answering(monkeypatch, "y")
    put_tenants(store, "acme")
    write(file, given("outlocks"), given("acme", tenant("acme"), user(tenant_id="acme")))
    before = snapshot(store)
    out, err, well = run("import", file, "--dry-run", "--yes")
    assert well, err
    assert snapshot(store) == before
    assert "3 add, 2 the same" in out
    assert asked == []


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("YES ", True), ("", False), ("n", False), (None, False)])
def test_without_yes_it_asks(store, file, monkeypatch, answer, written):
    asked = answering(monkeypatch, answer)
    _, _, well = run("import", write(file, given()))
    assert asked == ["Write this? [y/N] "]
    assert well == written == bool(store.all("TENANTS"))


REFUSED = {
    "an email": ([user("other", email="ADMIN@outlocks.example")], "USER#admin (another user has its email)"),
    "an id": ([user("Admin", email="b@x.example")], "USER#admin (another user has this id, but for capitals)"),
    "a channel": (
        [tenant("acme"), mapping(tenant_id="acme")],
        "CHANNEL#teams#azure-bot-app-id (the channel is of the tenant acme)",
    ),
    "a channel that webhooks cannot find": (
        [mapping(tenant_id="acme", gsi1pk=..., gsi1sk=...)],
        "CHANNEL#teams#azure-bot-app-id (the channel is of the tenant acme)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_with_refusals_is_not_written_at_all(store, file, monkeypatch, case):
    there, words = REFUSED[case]
    store.put_all("TENANTS", there)
    before = snapshot(store)
    asked = answering(monkeypatch, "y")
    write(file, given(), given("bluebird", tenant("bluebird"), user(tenant_id="bluebird")))
    out, err, well = run("import", file)
    assert not well
    assert f"  refused       {words}" in out.splitlines()
    assert "Nothing is written" in err
    assert (snapshot(store), asked) == (before, [])
    assert not run("import", file, "--dry-run")[2]


def test_items_of_a_tenant_that_is_nowhere_are_refused(store, file):
    write(file, given("outlocks", user()))
    out, _, well = run("import", file, "--yes")
    assert not well
    assert "refused       META (the tenant is not there, and the file has no META of it)" in out
    store.put("TENANTS", tenant())
    assert run("import", file, "--yes")[2]
    assert set(of(store, "outlocks")) == {"META", "USER#admin", "USERS"}


@pytest.mark.parametrize("names", ["acme", "outlocks"])
def test_a_guard_whose_mapping_is_gone_is_taken_over(store, file, names):
    store.put("TENANTS", {"pk": BOT.key, "sk": "OWNER", "tenant_id": names})
    assert run("import", write(file, given()), "--yes")[2]
    assert guard(store) == "outlocks"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"format": "conversation-console-tenants", "version": 9}'])
def test_what_is_no_export_is_refused(store, file, content):
    file.write_bytes(content)
    out, err, well = run("import", file, "--yes")
    assert (well, out, store.all("TENANTS")) == (False, "", [])
    assert err.startswith("CommandError: The file is")


def test_a_file_that_is_not_there_is_told(store, file):
    _, err, well = run("import", file)
    assert not well
    assert "No such file or directory" in err


def test_hostile_keys_do_not_reach_the_terminal(store, file):
    item = {"pk": "TENANT#outlocks", "sk": "X\x1b[2J\n" + PHONE}
    out, _, well = run("import", write(file, given("outlocks", tenant(), user(), item)), "--dry-run")
    assert well
    assert "\x1b" not in out
    assert PHONE not in out
    assert r"not imported  X\x1b[2J\n" in out


def test_every_type_arrives_as_it_left(store, file):
    store.put_all("TENANTS", rich())
    keys = [{"pk": each["pk"], "sk": each["sk"]} for each in rich()]
    before = [canonical(store.raw("TENANTS", **key)) for key in keys]
    run("export", file)
    store.empty()
    run("import", file, "--yes")
    assert [canonical(store.raw("TENANTS", **key)) for key in keys] == before
    assert len(before[0]) == len(EVERYTHING) + 7


def test_the_command_names_its_commands():
    parser = command.Command().create_parser("manage.py", "tenants")
    assert all(name in parser.format_help() for name in ("guard-channels", "export", "import"))
