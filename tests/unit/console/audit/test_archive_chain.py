"""An archive verifies as it was written, and no edit of it does: whatever is changed, and whoever does it."""

import gzip
import hashlib
import io
import json
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.audit.archive import keys, manifest, verifying
from console.audit.archive.chain import Chain
from console.audit.archive.exporting import write
from console.audit.archive.keys import ArchiveKey
from console.audit.archive.manifest import Header, NoManifest, read_manifest
from console.audit.archive.verifying import ArchiveFinding, verify
from console.errors import Invalid
from console.redaction import redact_value
from console.trail.models import AuditEntry
from tests.dynamodb import to_dynamodb

SECRET = "an archive key that is long enough for the rules"


@pytest.fixture(autouse=True)
def _known(settings, monkeypatch):
    settings.AUDIT_ARCHIVE_KEY = SECRET
    # What the trail says is looked at elsewhere, with a table.
    monkeypatch.setattr(verifying, "_compare_with_trail", lambda *_: None)


class Memory:
    """A place in memory."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = dict(files or {})

    def prepare(self) -> None:
        pass

    def names(self) -> list[str]:
        return sorted(self.files)

    @contextmanager
    def writing(self, name):
        file = io.BytesIO()
        yield file
        self.files[name] = file.getvalue()

    @contextmanager
    def reading(self, name):
        yield io.BytesIO(self.files[name])


def header(key: ArchiveKey) -> Header:
    return Header("test", "2026-11-20T00:00:00.000Z#0", "2026-11-20", "2026-11-01", "2026-11-20", "2", key.name)


def entries(count: int) -> list[AuditEntry]:
    return [
        AuditEntry.from_raw_data(
            to_dynamodb(
                {
                    "conversation_id": f"ci-aaa-001#pi#req{n % 3}#447700900123",
                    "ts_action_id": f"2026-11-10T12:00:{n:02}.000Z#{n:032x}",
                    "action_type": "route",
                    "action_payload_redacted": json.dumps({"team": "returns", "note": "ring +447700900123"}),
                    "version": 1.5,
                }
            )
        )
        for n in range(count)
    ]


def archive(count: int = 12, size: int = 1100, key: ArchiveKey | None = None) -> dict[str, bytes]:
    """The files of an archive of so many entries; with the default size there are several."""
    place = Memory()
    key = key or keys.signing_key()
    write(place, header(key), key, entries(count), size)
    return place.files


def words(files: dict[str, bytes], head: str = "") -> list[str]:
    return [str(each) for each in verify(Memory(files), head).findings]


FILES = "audit-000001.jsonl.gz", "audit-000002.jsonl.gz", "audit-000003.jsonl.gz"


@pytest.mark.parametrize(("count", "size"), [(0, 1), (1, 1), (12, 1), (12, 1100), (12, 1 << 20)])
def test_what_was_written_verifies(count, size):
    files = archive(count, size)
    report = verify(Memory(files))
    assert (report.findings, report.lines) == ([], count)
    assert len(files) == {0: 1, 1: 2}.get(count, {1: 13, 1100: 5}.get(size, 2))


def test_an_archive_holds_no_more_than_masked_entries_and_tells_masked_trails_apart():
    files = archive(6, 1 << 20)
    lines = [json.loads(line) for line in gzip.decompress(files[FILES[0]]).splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert "447700900123" not in str(lines)
    assert lines[0]["entry"]["conversation_id"] == "ci-aaa-001#pi#req0#***-***-0123"
    assert json.loads(lines[0]["entry"]["action_payload_redacted"]) == {"team": "returns", "note": "ring ***-***-0123"}
    assert lines[0]["entry"]["version"] == 1.5
    assert lines[0]["trail"] == lines[3]["trail"] != lines[1]["trail"]


def test_numbers_within_lists_are_archived_as_numbers():
    [entry], key, place = entries(1), keys.signing_key(), Memory()
    entry.raw |= to_dynamodb({"parts": [1.5, {"of": 2.25}]})
    write(place, header(key), key, [entry], 1100)
    [line] = lines_of(place.files, FILES[0])
    assert json.loads(line)["entry"]["parts"] == [1.5, {"of": 2.25}]


def test_equal_entries_make_equal_files_whenever_they_are_archived():
    """Members are sorted, and the packed file notes neither its name nor the time."""
    files = archive()
    stored = json.loads(files[manifest.NAME])
    for each in (stored, stored["header"], stored["files"][0], json.loads(lines_of(files, FILES[0])[0])["entry"]):
        assert list(each) == sorted(each)
    assert files[manifest.NAME].startswith(b'{\n "files": [\n')
    flags, noted_at = files[FILES[0]][3], files[FILES[0]][4:8]
    assert (flags, noted_at) == (0, bytes(4))


def test_a_file_is_at_most_as_large_as_was_asked_for():
    for name, content in archive(12, 1100).items():
        assert name == manifest.NAME or len(gzip.decompress(content)) <= 1100


def lines_of(files: dict[str, bytes], name: str) -> list[bytes]:
    return gzip.decompress(files[name]).splitlines(keepends=True)


def with_lines(files: dict[str, bytes], name: str, lines: list[bytes]) -> dict[str, bytes]:
    return files | {name: gzip.compress(b"".join(lines), mtime=0)}


def test_findings_name_file_and_line():
    files = archive()
    first, second = lines_of(files, FILES[0]), lines_of(files, FILES[1])
    assert len(first) == len(second) == 3
    edited = [first[0], first[1].replace(b"returns", b"refunds"), first[2]]
    assert words(with_lines(files, FILES[0], edited)) == [
        f"{FILES[0]}, line 2: entry 2 was changed, or the key is different"
    ]
    assert words(with_lines(files, FILES[1], [second[0], second[2]])) == [
        f"{FILES[1]}, line 2: entry 5 is missing before this line"
    ]
    assert words(with_lines(files, FILES[1], second[:2])) == [
        f"{FILES[1]}, line 2: it has 2 lines instead of 3: cut off, or added to"
    ]
    assert words(with_lines(files, FILES[0], [*first[:2], first[1], first[2]]))[0] == (
        f"{FILES[0]}, line 3: entry 2 is where entry 3 should be: it was moved or repeated"
    )
    assert words(with_lines(files, FILES[0], [first[0], b"{}\n", *first[1:]])) == [
        f"{FILES[0]}, line 2: this line is not from an archive",
        f"{FILES[0]}, line 3: entry 2 is where entry 3 should be: it was moved or repeated",
    ]
    assert words({name: content for name, content in files.items() if name != FILES[1]}) == [f"{FILES[1]}: missing"]
    assert words(files | {"extra": b""}) == ["extra: not part of this archive"]
    assert words(files | {FILES[1]: files[FILES[1]][:-9]})[0].startswith(f"{FILES[1]}, line ")
    assert words(files | {FILES[1]: gzip.compress(b"".join(second), 1)}) == [
        f"{FILES[1]}: its lines are whole, but the file is not the one that was written"
    ]


def test_a_finding_about_the_whole_archive_names_no_file():
    assert str(ArchiveFinding("", 0, "The trail has no entry.")) == "The trail has no entry."


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("name", "../../etc/audit-000001.jsonl.gz"),
        ("name", "audit-1.jsonl.gz"),
        ("lines", 0),
        ("sha256", "x" * 64),
        ("chain", "z" * 64),
        ("head", "z" * 64),
    ],
)
def test_a_manifest_with_parts_that_no_archive_can_have_is_refused(part, value):
    files = archive()
    stored = json.loads(files[manifest.NAME])
    (stored if part == "head" else stored["files"][0])[part] = value
    assert words(files | written(stored)) == ["manifest.json: it lists a file or a head that no archive can have"]


def test_a_manifest_of_another_format_is_refused():
    files = archive()
    stored = json.loads(files[manifest.NAME])
    stored["header"]["format"] += "0"
    assert words(files | written(stored)) == ["manifest.json: it has another format"]


def test_a_manifest_that_is_written_in_another_way_is_refused():
    files = archive()
    other = {manifest.NAME: files[manifest.NAME] + b"\n"}
    assert words(files | other) == ["manifest.json: it is not in the format that an export writes"]


def test_a_manifest_that_lists_files_in_another_order_is_found():
    files = archive()
    stored = json.loads(files[manifest.NAME])
    stored["files"].reverse()
    assert "manifest.json: its files are not in the order in which they were written" in words(files | written(stored))


def written(stored: dict) -> dict[str, bytes]:
    """The manifest as an export writes it."""
    return {manifest.NAME: json.dumps(stored, indent=1, sort_keys=True).encode() + b"\n"}


@pytest.mark.parametrize("line", [b"{}\n", b'{"line":x,"chain":"' + b"a" * 64 + b'"}\n'])
def test_of_a_file_of_other_lines_the_first_twenty_are_found(line):
    files = archive(30, 1 << 20)
    found = verify(Memory(with_lines(files, FILES[0], [line] * 30))).findings
    of_lines = [each for each in found if each.file == FILES[0]]
    assert [each.line for each in of_lines] == list(range(1, 21))
    assert {each.words for each in of_lines} == {"this line is not from an archive"}


def test_without_its_manifest_nothing_verifies():
    files = archive()
    del files[manifest.NAME]
    assert words(files) == ["manifest.json: missing: this is not an archive, or its export was interrupted"]


def test_an_export_that_breaks_off_leaves_no_manifest():
    def breaking():
        yield from entries(7)
        raise ConnectionError

    place, key = Memory(), keys.signing_key()
    with pytest.raises(ConnectionError):
        write(place, header(key), key, breaking(), 1100)
    assert place.names()
    assert manifest.NAME not in place.names()
    assert verify(place).findings


# --- Whatever is done to it -----------------------------------------------------------------------------------------


def edited_bytes(draw, content: bytes) -> bytes:
    """The content with something of it changed, dropped, doubled or added."""
    at = draw(st.integers(0, len(content) - 1))
    match draw(st.sampled_from(["flip", "drop", "add", "cut", "double"])):
        case "flip":
            return content[:at] + bytes([content[at] ^ draw(st.integers(1, 255))]) + content[at + 1 :]
        case "drop":
            return content[:at] + content[at + 1 :]
        case "add":
            return content[:at] + draw(st.binary(min_size=1, max_size=4)) + content[at:]
        case "cut":
            return content[:at]
    return content + content[at:]


@pytest.mark.slow
@given(st.data())
def test_any_change_of_any_byte_of_any_file_is_found(data):
    files = archive()
    name = data.draw(st.sampled_from(sorted(files)))
    changed = edited_bytes(data.draw, files[name])
    if changed != files[name]:
        assert words(files | {name: changed})


@pytest.mark.slow
@given(st.data())
def test_any_other_list_of_lines_is_found_also_with_fitting_digests_in_the_manifest(data):
    """The manifest's unkeyed parts made anew to fit: what anybody can do who has the files and not the key."""
    files = archive()
    whole = [line for name in sorted(files) if name != manifest.NAME for line in lines_of(files, name)]
    kept = data.draw(st.lists(st.sampled_from(whole), max_size=len(whole) + 2))
    if data.draw(st.booleans()):
        kept = whole[: len(kept)] if len(kept) < len(whole) else kept
    if data.draw(st.booleans()) and kept:
        at = data.draw(st.integers(0, len(kept) - 1))
        kept[at] = edited_bytes(data.draw, kept[at].rstrip(b"\n")) + b"\n"
    if kept == whole:
        return
    stored = json.loads(files[manifest.NAME])
    packed = gzip.compress(b"".join(kept), mtime=0)
    last = json.loads(kept[-1])["chain"] if kept and b'"chain":"' in kept[-1][-80:] and is_json(kept[-1]) else "a" * 64
    record = {"name": FILES[0], "lines": max(1, len(kept)), "bytes": len(packed), "chain": last}
    stored["files"] = [record | {"sha256": hashlib.sha256(packed).hexdigest()}]
    forged = {FILES[0]: packed, manifest.NAME: json.dumps(stored, indent=1, sort_keys=True).encode() + b"\n"}
    assert words(forged)


def is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line).get("chain"), str)
    except (ValueError, AttributeError):
        return False


@settings(max_examples=23)
@given(st.permutations(range(4)).filter(lambda order: list(order) != [0, 1, 2, 3]))
def test_files_in_another_order_are_found(order):
    files = archive()
    names = sorted(name for name in files if name != manifest.NAME)
    moved = {name: files[names[number]] for name, number in zip(names, order, strict=True)}
    assert words(moved | {manifest.NAME: files[manifest.NAME]})


@settings(max_examples=25)
@given(st.text(min_size=keys.SHORTEST).filter(lambda secret: secret != SECRET))
def test_an_archive_made_anew_with_another_key_is_found(secret):
    other = keys._derived(secret.encode("utf-8", "replace").decode(), "test")
    assert words(archive(key=other))
    # Also where it says that it was made with the right one.
    place = Memory()
    write(place, replace(header(other), key=keys.signing_key().name), other, entries(5), 1100)
    found = words(place.files)
    assert any("line 1: entry 1 was changed, or the key is different" in each for each in found)
    assert "manifest.json: its head does not fit: it was changed, or made with another key" in found


def test_an_archive_made_anew_with_the_very_key_is_found_by_its_head():
    noted = read_manifest(archive()[manifest.NAME]).head
    shorter = archive(11)
    assert words(shorter) == []
    assert words(shorter, noted) == [
        "manifest.json: its head is not the one given with --head: this is another archive, or it was made again"
    ]


@settings(max_examples=30)
@given(st.integers(0, 11), st.integers(1, 2000))
def test_two_archives_have_different_heads(count, size):
    head = read_manifest(archive(count, size)[manifest.NAME]).head
    assert head != read_manifest(archive(count + 1, size)[manifest.NAME]).head
    assert redact_value({"head": head}) == {"head": head}


# --- Keys and manifests ---------------------------------------------------------------------------------------------


def test_an_archive_of_before_the_key_was_changed_verifies_while_the_old_key_is_known(settings):
    files = archive()
    settings.AUDIT_ARCHIVE_KEY, settings.AUDIT_ARCHIVE_KEY_FALLBACKS = (
        "the next key, which is long enough",
        [SECRET],
    )
    assert words(files) == []
    settings.AUDIT_ARCHIVE_KEY = ""
    assert words(files) == []
    settings.AUDIT_ARCHIVE_KEY_FALLBACKS = []
    assert words(files) == [
        "manifest.json: made with a key that is not known here: AUDIT_ARCHIVE_KEY, or else SECRET_KEY"
    ]


def test_a_key_of_its_own_is_not_one_that_the_web_servers_have(settings):
    settings.AUDIT_ARCHIVE_KEY = ""
    files = archive()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "x" * 60, [settings.SECRET_KEY]
    assert words(files) == []
    settings.AUDIT_ARCHIVE_KEY = SECRET
    assert "not known here" in words(files)[0]


def test_environments_have_different_keys(settings):
    files = archive()
    settings.CONSOLE_ENV = "staging"
    assert "not known here" in words(files)[0]


def test_a_short_key_is_refused(settings):
    settings.AUDIT_ARCHIVE_KEY = "x" * keys.SHORTEST
    assert keys.signing_key().name
    settings.AUDIT_ARCHIVE_KEY = "x" * (keys.SHORTEST - 1)
    with pytest.raises(Invalid):
        keys.signing_key()


def test_other_parts_of_the_same_text_have_another_digest():
    key = keys.signing_key()
    assert key.mac(b"a", b"bc") != key.mac(b"ab", b"c")


NAME, BEGINNING = "foijhmphddlmalal", "cjjkioaglfnaoiknhcchbcpcibcfihnmnfjbpdfckpabopckccapkbdkgpaigcgp"
LINE = (
    b'{"line":1,"trail":"aaaaaaaaaaaaaaaa","entry":{"a":[null,"\\u00fc"],"n":'
    b'1},"chain":"jpioogajpoegbcopikhkncmjbnlhflhiognkolfggjlcbbknpcgdhcmnmchpjnea"}\n'
)
HEAD = "lljohpmkcibgegnegigafdnndkgmnmnceoemdllbaopmhjlgfnbgelegieiccegp"


def test_an_archive_of_an_earlier_version_verifies():
    """Its key, header and lines are digested as they were then: these digests must never change."""
    key = keys.signing_key()
    chain = Chain(key, header(key).canonical())
    assert (key.name, chain.value) == (NAME, BEGINNING)
    assert chain.seal("a" * 16, {"n": 1, "a": [None, "ü"]}) == LINE
    assert chain.head(b"rest") == HEAD


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_no_other_json_is_a_manifest(value):
    for stored in (json.dumps(value).encode(), json.dumps({"header": value, "files": [value], "head": value}).encode()):
        with pytest.raises(NoManifest):
            read_manifest(stored)


def test_lines_are_told_apart_by_the_key_alone():
    one, other = (Chain(keys._derived(secret, "test"), b"") for secret in (SECRET, SECRET + "!"))
    assert one.seal("a" * 16, {"n": 1})[:-70] == other.seal("a" * 16, {"n": 1})[:-70]
    assert one.value != other.value
