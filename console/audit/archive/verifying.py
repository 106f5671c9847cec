"""Verifying an archive: every line, every file, the manifest, and the head from the trail or the operator."""

import gzip
import hmac
import zlib
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings

from console import clock
from console.audit.archive import manifest as manifests
from console.audit.archive.chain import MAX_LINE_BYTES, Chain
from console.audit.archive.keys import known_keys
from console.audit.archive.manifest import FileRecord, Hashed, Manifest, NoManifest, read_manifest
from console.audit.archive.places import ArchivePlace
from console.errors import ConsoleError, NotFound
from console.trail.actions import Result, payload_of
from console.trail.models import AuditEntry
from console.trail.recording import SYSTEM_TRAIL

# After this many, a file is simply not the one that was written.
FINDINGS_PER_FILE = 20


@dataclass(frozen=True, slots=True)
class ArchiveFinding:
    """What is wrong, in which file ("" for the whole archive) and on which line (0 for the whole file)."""

    file: str
    line: int
    words: str

    def __str__(self) -> str:
        # The file's name is untrusted input.
        file = self.file if self.file.isprintable() else repr(self.file)
        place = f"{file}, line {self.line}" if self.line else file
        return f"{place}: {self.words}" if place else self.words


@dataclass(slots=True)
class ArchiveReport:
    """The result of a verification: `findings` list what was altered, `notes` how the head compares with the trail."""

    findings: list[ArchiveFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    manifest: Manifest | None = None
    lines: int = 0

    def find(self, file: str, line: int, words: str) -> None:
        """Add a finding."""
        self.findings.append(ArchiveFinding(file, line, words))


def verify(place: ArchivePlace, head: str = "") -> ArchiveReport:
    """Check everything. `head` is the one the operator noted, if any. Raises `PlaceError` and `Invalid`."""
    report = ArchiveReport()
    names = place.names()
    manifest = _manifest(place, names, report)
    if manifest is None:
        return report
    report.manifest = manifest
    key = next((each for each in known_keys() if each.name == manifest.header.key), None)
    if key is None:
        report.find(manifests.NAME, 0, "made with a key that is not known here: AUDIT_ARCHIVE_KEY, or else SECRET_KEY")
        return report
    _check_names(manifest, names, report)
    chain = Chain(key, manifest.header.canonical())
    for record in manifest.files:
        if record.name in names:
            with place.reading(record.name) as file:
                _check_file(Hashed(file), record, chain, report)
        else:
            chain.stand_at(record.chain, chain.lines + record.lines)
    if head and not hmac.compare_digest(head.encode(), manifest.head.encode()):
        report.find(
            manifests.NAME,
            0,
            "its head is not the one given with --head: this is another archive, or it was made again",
        )
    if hmac.compare_digest(manifest.closed_by(chain).head, manifest.head):
        _compare_with_trail(manifest, report)
    else:
        report.find(manifests.NAME, 0, "its head does not fit: it was changed, or made with another key")
    return report


def _manifest(place: ArchivePlace, names: list[str], report: ArchiveReport) -> Manifest | None:
    if manifests.NAME not in names:
        report.find(manifests.NAME, 0, "missing: this is not an archive, or its export was interrupted")
        return None
    with place.reading(manifests.NAME) as file:
        stored = file.read(manifests.MAX_BYTES)
    try:
        return read_manifest(stored)
    except NoManifest as reason:
        report.find(manifests.NAME, 0, str(reason))
        return None


def _check_names(manifest: Manifest, names: list[str], report: ArchiveReport) -> None:
    listed = [each.name for each in manifest.files]
    if listed != [f"audit-{number:06}.jsonl.gz" for number in range(1, len(listed) + 1)]:
        report.find(manifests.NAME, 0, "its files are not in the order in which they were written")
    for name in listed:
        if name not in names:
            report.find(name, 0, "missing")
    for name in names:
        if name not in (*listed, manifests.NAME):
            report.find(name, 0, "not part of this archive")


def _check_file(file: Hashed, record: FileRecord, chain: Chain, report: ArchiveReport) -> None:
    """Check one file against its record and the chain, which is at the end of the previous file."""
    known, number, first = len(report.findings), 0, chain.lines
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as lines:
            while len(report.findings) < known + FINDINGS_PER_FILE and (line := lines.readline(MAX_LINE_BYTES + 1)):
                number += 1
                if broken := chain.check(line):
                    report.find(record.name, number, broken)
    except (OSError, EOFError, zlib.error):
        report.find(record.name, number, "the rest cannot be unpacked: it is cut off or damaged")
    while file.read(1 << 20):
        pass
    if len(report.findings) == known:
        if number != record.lines:
            words = f"it has {number} lines instead of {record.lines}: cut off, or added to"
            report.find(record.name, number, words)
        elif not hmac.compare_digest(chain.value, record.chain):
            report.find(record.name, number, "its last line does not match the manifest")
        elif (file.digest.hexdigest(), file.size) != (record.sha256, record.bytes):
            report.find(record.name, 0, "its lines are whole, but the file is not the one that was written")
    report.lines += number
    # The next file is checked against the recorded value, not against what was read here.
    chain.stand_at(record.chain, first + record.lines)


def _compare_with_trail(manifest: Manifest, report: ArchiveReport) -> None:
    """Compare with the head in the trail of the system, which the files and the key alone do not let anyone change."""
    header = manifest.header
    try:
        entry = AuditEntry.get(SYSTEM_TRAIL, header.entry, consistent_read=True)
    except NotFound:
        _without_entry(manifest, report)
        return
    except ConsoleError:
        report.notes.append("Not compared with the trail, which could not be read.")
        return
    logged_head = payload_of(entry).get("head")
    if entry.plain("result") != Result.SUCCESS or not isinstance(logged_head, str):
        report.find("", 0, "According to the trail, the export of this archive did not finish.")
    elif not hmac.compare_digest(logged_head.encode(), manifest.head.encode()):
        report.find("", 0, "The trail holds another head: this is not the archive that was made then.")
    else:
        report.notes.append("Its head is the one in the trail.")


def _without_entry(manifest: Manifest, report: ArchiveReport) -> None:
    made = clock.parse_instant(manifest.header.made_at)
    kept = timedelta(days=settings.AUDIT_RETENTION_DAYS)
    if made is None or made + kept > clock.now():
        report.find("", 0, "The trail has no entry for this archive.")
        return
    report.notes.append(
        f"Not compared with the trail, which keeps entries for {settings.AUDIT_RETENTION_DAYS} days only: compare the "
        "head with the one you noted (--head)."
    )
