"""`manage.py audit`: what it takes from the table, where it puts it, what it leaves in the trail, what is compared."""

import gzip
import io
import json
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import botocore.session
import pytest
from django.core.management import CommandError, call_command
from moto import mock_aws

from console import clock
from console.audit.archive import exporting
from console.audit.archive import walk as walking
from console.audit.archive.exporting import Days, write
from console.audit.archive.keys import signing_key
from console.audit.archive.manifest import read_manifest
from console.audit.archive.places import Bucket, Directory, PlaceError, place_of
from console.audit.archive.walk import size_of_table, walk
from console.clock import to_epoch, to_iso
from console.errors import Invalid, Throttled
from console.store.calls import budget
from console.trail.actions import Action
from tests import faults

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PHONE = "447700900123"


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


def put(store, count: int = 5, since: datetime = datetime(2026, 11, 18, tzinfo=UTC)) -> None:
    store.put_all(
        "AUDIT",
        [
            {
                "conversation_id": f"ci-aaa-001#pi#req{n % 2}#{PHONE}",
                "ts_action_id": f"{to_iso(since + timedelta(hours=n))}#a{n}",
                "action_type": "route",
                "action_payload_redacted": json.dumps({"note": f"+{PHONE}"}),
                "expires_at": to_epoch(NOW + timedelta(days=30)),
            }
            for n in range(count)
        ],
    )


def manage(*args: str) -> str:
    out = io.StringIO()
    call_command("audit", *args, stdout=out, stderr=out)
    return out.getvalue()


def export(to: Path | str, *more: str) -> str:
    return manage("export", "--since", "2026-11-01", "--to", str(to), *more)


def refused(*args: str) -> str:
    out = io.StringIO()
    with pytest.raises(CommandError) as error:
        call_command("audit", *args, stdout=out, stderr=out)
    return f"{out.getvalue()}{error.value}"


def archived(store) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == Action.AUDIT_ARCHIVED]


def head_of(said: str) -> str:
    return next(line.removeprefix("head ") for line in said.splitlines() if line.startswith("head "))


def entries_in(folder: Path) -> list[dict]:
    files = sorted(folder.glob("*.gz"))
    return [json.loads(line)["entry"] for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]


def test_what_was_exported_verifies_and_its_head_is_in_the_trail(store, tmp_path):
    put(store)
    said = export(tmp_path / "a")
    (noted,) = archived(store)
    told = json.loads(noted["action_payload_redacted"])
    assert told == {
        "since": "2026-11-01T00:00:00.000Z",
        "until": "2026-11-20T00:00:00.000Z",
        "files": 1,
        "lines": 5,
        "head": head_of(said),
    }
    assert (noted["conversation_id"], noted["actor"], noted["result"]) == ("SYSTEM", "command-line", "success")
    verified = manage("verify", str(tmp_path / "a"), "--head", head_of(said))
    assert "Unchanged: 5 entries of test" in verified
    assert "Its head is the one in the trail." in verified


def test_only_its_owner_reads_it_and_nothing_personal_is_in_it(store, tmp_path):
    put(store)
    os.umask(0)
    export(tmp_path / "deep" / "a")
    folder = tmp_path / "deep" / "a"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    assert sorted(each.name for each in folder.iterdir()) == ["audit-000001.jsonl.gz", "manifest.json"]
    assert PHONE not in str(entries_in(folder)) + (folder / "manifest.json").read_text()


def test_days_bound_both_spellings_of_time_and_what_expired_is_not_kept(store, tmp_path):
    day = datetime(2026, 11, 10, tzinfo=UTC)
    keys = {
        "before": to_iso(day - timedelta(milliseconds=1)),
        "first": to_iso(day),
        "epoch": str(to_epoch(day + timedelta(hours=5)) * 1000),
        "last": to_iso(day + timedelta(days=2, milliseconds=-1)),
        "after": to_iso(day + timedelta(days=2)),
        "epoch after": str(to_epoch(day + timedelta(days=2))),
        "untimed": "soon",
    }
    store.put_all("AUDIT", [{"conversation_id": name, "ts_action_id": f"{key}#1"} for name, key in keys.items()])
    gone = {"conversation_id": "gone", "ts_action_id": f"{to_iso(day)}#1", "expires_at": to_epoch(NOW) - 1}
    store.put("AUDIT", gone)
    manage("export", "--since", "2026-11-10", "--until", "2026-11-11", "--to", str(tmp_path))
    assert {each["conversation_id"] for each in entries_in(tmp_path)} == {"first", "epoch", "last", "untimed"}


@pytest.mark.parametrize(
    ("first", "last"), [("2026-11-01", "2026-11-20"), ("2026-11-01", "2026-12-01"), ("2026-11-19", "2026-11-18")]
)
def test_only_days_that_have_ended_are_archived(first, last):
    with pytest.raises(Invalid):
        Days.checked(datetime.fromisoformat(first).date(), datetime.fromisoformat(last).date())


def test_one_day_that_has_ended_is_archived():
    day = datetime(2026, 11, 19, tzinfo=UTC).date()
    assert Days.checked(day, day) == Days.checked(day, None) == Days(day, day)


@pytest.mark.parametrize("scheme", ["ftp", "file", "S3", "https", "gs"])
def test_what_names_another_kind_of_place_is_no_directory(store, tmp_path, monkeypatch, scheme):
    monkeypatch.chdir(tmp_path)
    said = refused("export", "--since", "2026-11-01", "--to", f"{scheme}://x/y")
    assert f"a directory or to s3://bucket/prefix, not to {scheme}://" in said
    assert f"not to {scheme}://" in refused("verify", f"{scheme}://x/y")
    assert (list(tmp_path.iterdir()), archived(store)) == ([], [])


@pytest.mark.parametrize("name", ["--since", "--until"])
def test_what_is_no_day_is_told(store, tmp_path, name):
    days = {"--since": "2026-11-01", "--until": "2026-11-02"} | {name: "31.1.2026"}
    said = refused("export", "--to", str(tmp_path), *(each for pair in days.items() for each in pair))
    assert f"argument {name}: '31.1.2026' is not a day. Write it as 2026-01-31" in said


def test_a_first_day_that_has_not_ended_is_told(store, tmp_path):
    for day in ("2026-11-20", "2031-01-01"):
        said = refused("export", "--since", day, "--to", str(tmp_path / "a"))
        assert f"The first day, {day}, has not ended in UTC: yesterday, 2026-11-19, is the latest." in said


def test_nothing_is_written_into_a_directory_that_holds_anything(store, tmp_path):
    (tmp_path / "x").touch()
    assert "not empty" in refused("export", "--since", "2026-11-01", "--to", str(tmp_path))
    assert archived(store) == []


def test_where_the_trail_cannot_be_written_nothing_is_exported(store, tmp_path):
    put(store)
    with faults.fail_before("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        refused("export", "--since", "2026-11-01", "--to", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_export_leaves_nothing_that_verifies(store, tmp_path, monkeypatch):
    monkeypatch.setattr(walking, "PAGE_ITEMS", 2)
    put(store, 9)
    with faults.fail_before("Scan", nth=3, times=faults.ALWAYS):
        refused("export", "--since", "2026-11-01", "--to", str(tmp_path), "--segments", "1")
    (noted,) = archived(store)
    assert noted["result"] == "failed: StoreUnavailable"
    assert not (tmp_path / "manifest.json").exists()
    assert not list(tmp_path.glob("*.part"))
    assert "its export was interrupted" in refused("verify", str(tmp_path))


def test_an_archive_whose_head_never_reached_the_trail_is_refused(store, tmp_path):
    put(store)
    with faults.fail_before("UpdateItem", table_key="AUDIT", times=faults.ALWAYS):
        refused("export", "--since", "2026-11-01", "--to", str(tmp_path))
    assert "the export of this archive did not finish" in refused("verify", str(tmp_path))


def test_an_archive_whose_export_failed_according_to_the_trail_is_refused(store, tmp_path):
    put(store)
    export(tmp_path)
    (noted,) = archived(store)
    key = {"conversation_id": "SYSTEM", "ts_action_id": noted["ts_action_id"]}
    store.update("AUDIT", key, result="failed: StoreUnavailable")
    assert "the export of this archive did not finish" in refused("verify", str(tmp_path))


def test_an_archive_made_anew_with_the_key_is_found_by_the_trail(store, tmp_path):
    put(store)
    first = head_of(export(tmp_path / "a"))
    (noted,) = archived(store)
    export(tmp_path / "b", "--until", "2026-11-18")
    forged = tmp_path / "b" / "manifest.json"
    key = {"conversation_id": "SYSTEM", "ts_action_id": json.loads(forged.read_text())["header"]["entry"]}
    store.update("AUDIT", key, action_payload_redacted=noted["action_payload_redacted"])
    assert "The trail holds another head" in refused("verify", str(tmp_path / "b"))
    assert "not the one given" in refused("verify", str(tmp_path / "b"), "--head", first)


def test_an_archive_made_anew_with_the_key_is_found_by_the_trail_whatever_environment_it_names(store, tmp_path):
    put(store)
    export(tmp_path / "a")
    made = read_manifest((tmp_path / "a" / "manifest.json").read_bytes())
    place = Directory(tmp_path / "b")
    place.prepare()
    write(place, replace(made.header, environment="elsewhere"), signing_key(), [], 1000)
    said = refused("verify", str(tmp_path / "b")).splitlines()
    assert "The trail holds another head: this is not the archive that was made then." in said


@pytest.mark.parametrize("payload", ["{}", '{"head": 7}', "?"])
def test_an_archive_whose_entry_in_the_trail_has_no_head_is_refused(store, tmp_path, payload):
    put(store)
    export(tmp_path)
    (noted,) = archived(store)
    key = {"conversation_id": "SYSTEM", "ts_action_id": noted["ts_action_id"]}
    store.update("AUDIT", key, action_payload_redacted=payload)
    said = refused("verify", str(tmp_path)).splitlines()
    assert "According to the trail, the export of this archive did not finish." in said


def test_an_archive_that_the_trail_does_not_know_is_refused_until_the_entry_has_expired(store, tmp_path, monkeypatch):
    put(store)
    export(tmp_path)
    (noted,) = archived(store)
    store.delete("AUDIT", conversation_id="SYSTEM", ts_action_id=noted["ts_action_id"])
    assert "The trail has no entry for this archive." in refused("verify", str(tmp_path)).splitlines()
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(days=61))
    assert "keeps entries for 60 days only" in manage("verify", str(tmp_path))


def test_without_the_table_the_files_are_verified_all_the_same(store, tmp_path):
    put(store)
    export(tmp_path)
    with faults.fail_before("GetItem", times=faults.ALWAYS):
        said = manage("verify", str(tmp_path))
    assert "Not compared with the trail" in said
    assert "Unchanged" in said


def test_an_edit_is_named_with_file_and_line_and_makes_the_command_fail(store, tmp_path):
    put(store)
    export(tmp_path)
    file = tmp_path / "audit-000001.jsonl.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b'"route"', b'"Route"', 1)))
    said = refused("verify", str(tmp_path))
    assert "audit-000001.jsonl.gz, line 1: entry 1 was changed" in said
    assert "The archive was changed: 1 finding." in said


def test_a_link_to_elsewhere_is_no_file_of_an_archive(store, tmp_path):
    put(store)
    export(tmp_path / "a")
    file = tmp_path / "a" / "audit-000001.jsonl.gz"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert "The archive's directory" in refused("verify", str(tmp_path / "a"))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_not_read(tmp_path, make):
    make(tmp_path / "a")
    with pytest.raises(PlaceError, match=r"not a regular file|directory"), Directory(tmp_path).reading("a"):
        pass


def test_an_export_tells_how_far_it_is(store, tmp_path, monkeypatch):
    monkeypatch.setattr(walking, "PAGE_ITEMS", 2)
    put(store, 5)
    told = []
    days = Days(datetime(2026, 11, 1, tzinfo=UTC).date(), datetime(2026, 11, 19, tzinfo=UTC).date())
    exporting.export(Directory(tmp_path), days, 1, 1000, lambda read, lines: told.append((read, lines)))
    # The export's own entry is read, and not one of these days.
    assert [lines for _, lines in told][-1] == 5
    assert sum(read for read, _ in told) == 6
    # Elsewhere the table says so some hours later.
    assert not store.embedded or size_of_table() == 6


@pytest.mark.parametrize("segments", ["1", "3"])
def test_all_pages_of_all_segments_are_read_once(store, tmp_path, monkeypatch, segments):
    monkeypatch.setattr(walking, "PAGE_ITEMS", 2)
    put(store, 23)
    export(tmp_path, "--segments", segments)
    assert sorted(each["ts_action_id"].split("#")[1] for each in entries_in(tmp_path)) == sorted(
        f"a{n}" for n in range(23)
    )


def test_a_throttled_page_is_asked_for_again(store, monkeypatch):
    put(store)
    pauses = []
    monkeypatch.setattr(walking.time, "sleep", pauses.append)
    with faults.refuse("Scan", code="ProvisionedThroughputExceededException", times=2, whole_calls=True):
        reads = list(walk(NOW - timedelta(days=9), NOW, 1, 1000))
    assert [(items, len(entries)) for items, entries in reads] == [(5, 5)]
    assert [each for each in pauses if each] == [1, 2]


def test_a_page_that_stays_throttled_ends_the_walk(store, monkeypatch):
    pauses = []
    monkeypatch.setattr(walking.time, "sleep", pauses.append)
    throttled = faults.refuse("Scan", code="ProvisionedThroughputExceededException", times=faults.ALWAYS)
    with throttled, pytest.raises(Throttled):
        list(walk(NOW - timedelta(days=9), NOW, 1, 1000))
    assert [each for each in pauses if each] == [1, 2, 4, 8, 16]


def test_the_pace_is_kept_to(store, monkeypatch):
    monkeypatch.setattr(walking, "PAGE_ITEMS", 4)
    put(store, 12)
    pauses = []
    monkeypatch.setattr(walking.time, "sleep", pauses.append)
    with budget(None) as opened:
        list(walk(NOW - timedelta(days=9), NOW, 1, 0.01))
    spent = [each.units for each in opened.calls]
    # Before each page, the seconds that the units of the one before it stand for.
    assert len(spent) > 2
    assert sum(spent) > 0
    assert [round(each) for each in pauses] == [0, *(round(units / 0.01) for units in spent[:-1])]


@pytest.mark.parametrize("options", [["--segments", "0"], ["--segments", "99"], ["--units", "0"], ["--units", "-1"]])
def test_a_pace_that_cannot_be_is_refused(tmp_path, options):
    assert "--segments must be 1 to 16" in refused("export", "--since", "2026-11-01", "--to", str(tmp_path), *options)


def test_a_directory_takes_nothing_twice(tmp_path):
    place = Directory(tmp_path)
    with place.writing("a") as file:
        file.write(b"1")
    with pytest.raises(PlaceError), place.writing("a") as file:
        file.write(b"2")
    assert (tmp_path / "a").read_bytes() == b"1"
    with pytest.raises(ZeroDivisionError), place.writing("b"):
        raise ZeroDivisionError
    assert place.names() == ["a"]


# --- S3 -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def s3():
    """A bucket in this process, beside the tables: those of the session are not taken away."""
    mock = mock_aws()
    mock.start(reset=False)
    client = botocore.session.get_session().create_client("s3", region_name="eu-west-2")
    client.create_bucket(Bucket="trails", CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})
    yield client
    for each in client.list_objects_v2(Bucket="trails").get("Contents", ()):
        client.delete_object(Bucket="trails", Key=each["Key"])
    client.delete_bucket(Bucket="trails")
    mock.stop(remove_data=False)


@pytest.mark.slow
@pytest.mark.parametrize("kms", [[], ["--kms-key", "alias/trail"]])
def test_a_bucket_holds_the_same_encrypted_by_kms(store, s3, kms):
    put(store)
    said = export("s3://trails/2026/november/", *kms)
    names = [each["Key"] for each in s3.list_objects_v2(Bucket="trails")["Contents"]]
    assert names == ["2026/november/audit-000001.jsonl.gz", "2026/november/manifest.json"]
    for name in names:
        head = s3.head_object(Bucket="trails", Key=name)
        assert head["ServerSideEncryption"] == "aws:kms"
        assert head.get("SSEKMSKeyId", "").endswith("alias/trail") == bool(kms)
    assert "Unchanged: 5 entries" in manage("verify", "s3://trails/2026/november", "--head", head_of(said))
    s3.delete_object(Bucket="trails", Key=names[0])
    assert "audit-000001.jsonl.gz: missing" in refused("verify", "s3://trails/2026/november")


@pytest.mark.slow
def test_nothing_is_written_under_a_prefix_that_holds_anything(store, s3):
    s3.put_object(Bucket="trails", Key="a/b/c", Body=b"x")
    assert "objects under that prefix" in refused("export", "--since", "2026-11-01", "--to", "s3://trails/a/b")
    assert "not an archive" in refused("verify", "s3://trails/a")
    with pytest.raises(PlaceError), Bucket("trails", "a/b").writing("c") as file:
        file.write(b"y")
    assert s3.get_object(Bucket="trails", Key="a/b/c")["Body"].read() == b"x"


def test_errors_of_s3_are_told_in_one_line(store, s3):
    assert "S3 refused: NoSuchBucket" in refused("verify", "s3://nowhere/a")
    for target in ("s3://trails", "s3:///a", "s3://trails/"):
        with pytest.raises(PlaceError):
            place_of(target)
    with pytest.raises(PlaceError):
        place_of("/tmp", "alias/key")


def test_an_s3_that_does_not_answer_is_told_in_one_line(s3, settings):
    asked = []

    def lose(request, **_: object) -> None:
        asked.append(request.url)
        raise faults.Lost

    settings.AWS_REGION = "eu-central-1"
    bucket = Bucket("trails", "a")
    bucket._client.meta.events.register_first("before-send.s3.*", lose)
    with pytest.raises(PlaceError, match=r"^S3 did not answer: Lost\.$"):
        bucket.names()
    assert ["eu-central-1" in each for each in asked] == [True]
