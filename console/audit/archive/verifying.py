"""Verifying an archive: every line, every file, the manifest, and the head that the trail or the operator holds."""

import gzip
import hashlib
import hmac
import zlib
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings

from console import clock
from console.audit.archive import manifest as manifests
from console.audit.archive.chain import MAX_LINE_BYTES, Chain
from console.audit.archive.keys import known_keys
from console.audit.archive.manifest import FileRecord, Manifest, NoManifest, read_manifest
from console.audit.archive.places import ArchivePlace, PlaceError, Readable
from console.audit.rows import as_payload
from console.errors import ConsoleError, NotFound
from console.trail.actions import SYSTEM_TRAIL, Result
from console.trail.models import AuditEntry

# Beyond these, a file is simply not the one that was written.
FINDINGS_PER_FILE = 20


@dataclass(frozen=True, slots=True)
class ArchiveFinding:
    """What is wrong, in which file ("" for the whole archive) and line of it (0 for the whole file)."""

    file: str
    line: int
    words: str

    def __str__(self) -> str:
        # Names of files are whatever somebody called them.
        file = self.file if self.file.isprintable() else repr(self.file)
        place = f"{file}, line {self.line}" if self.line else file
        return f"{place}: {self.words}" if place else self.words


@dataclass(slots=True)
class Report:
    """Whether an archive is as it was made: `findings` say what is not, `notes` what could not be looked at."""

    findings: list[ArchiveFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    manifest: Manifest | None = None
    lines: int = 0

    def find(self, file: str, line: int, words: str) -> None:
        """Add one finding."""
        self.findings.append(ArchiveFinding(file, line, words))


def verify(place: ArchivePlace, head: str = "") -> Report:
    """Look at everything. `head` is what the operator kept, if anything. Raises `PlaceError` and `Invalid`."""
    report = Report()
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
            _FileCheck(record, chain, report).run(place)
        chain.stand_at(record.chain, chain.lines if record.name in names else chain.lines + record.lines)
    if head and not hmac.compare_digest(head.encode(), manifest.head.encode()):
        report.find(manifests.NAME, 0, "its head is not the one that was given: another archive, or made anew")
    if hmac.compare_digest(manifest.closed_by(chain).head, manifest.head):
        _compare_with_trail(manifest, report)
    else:
        report.find(manifests.NAME, 0, "its head does not fit: it was changed, or made with another key")
    return report


def _manifest(place: ArchivePlace, names: list[str], report: Report) -> Manifest | None:
    if manifests.NAME not in names:
        report.find(manifests.NAME, 0, "missing: this is no archive, or its export was interrupted")
        return None
    file = place.reading(manifests.NAME)
    try:
        stored = file.read(manifests.MAX_BYTES)
    finally:
        file.close()
    try:
        return read_manifest(stored)
    except NoManifest as reason:
        report.find(manifests.NAME, 0, str(reason))
        return None


def _check_names(manifest: Manifest, names: list[str], report: Report) -> None:
    listed = [each.name for each in manifest.files]
    if listed != [f"audit-{number:06}.jsonl.gz" for number in range(1, len(listed) + 1)]:
        report.find(manifests.NAME, 0, "its files are not in the order in which they were written")
    for name in listed:
        if name not in names:
            report.find(name, 0, "missing")
    for name in names:
        if name not in (*listed, manifests.NAME):
            report.find(name, 0, "not part of this archive")


class _FileCheck:
    """One file against its record and the chain, which stands where the file before it ends."""

    def __init__(self, record: FileRecord, chain: Chain, report: Report) -> None:
        self._record, self._chain, self._report = record, chain, report
        self._line = 0
        self._found = 0
        self._first = chain.lines

    def run(self, place: ArchivePlace) -> None:
        """Read it to its end, line by line."""
        hashed = _HashedReader(place.reading(self._record.name))
        try:
            with gzip.GzipFile(fileobj=hashed, mode="rb") as lines:  # type: ignore[call-overload]
                while self._found < FINDINGS_PER_FILE and (line := lines.readline(MAX_LINE_BYTES + 1)):
                    self._check(line)
        except (OSError, EOFError, zlib.error):
            self._find("what follows cannot be unpacked: cut off, or damaged", self._line)
        finally:
            hashed.drain()
        self._check_end(hashed.digest.hexdigest(), hashed.size)

    def _check(self, line: bytes) -> None:
        self._line += 1
        if broken := self._chain.check(line):
            self._find(broken.words, self._line)

    def _check_end(self, sha256: str, size: int) -> None:
        record, chain = self._record, self._chain
        if not self._found and self._line != record.lines:
            self._find(f"it has {self._line} lines instead of {record.lines}: cut off, or added to", self._line)
        elif not self._found and not hmac.compare_digest(chain.value, record.chain):
            self._find("its last line is not the one that the manifest tells of", self._line)
        elif not self._found and (sha256 != record.sha256 or size != record.bytes):
            self._find("its lines are whole, but the file is not the one that was written", 0)
        self._report.lines += self._line
        # The next file is judged by what should stand here.
        chain.stand_at(record.chain, self._first + record.lines)

    def _find(self, words: str, line: int) -> None:
        self._found += 1
        self._report.find(self._record.name, line, words)


class _HashedReader:
    """A file that is digested as it is read."""

    def __init__(self, file: Readable) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def read(self, size: int = -1) -> bytes:
        """What comes next."""
        data = self._file.read(size)
        self.digest.update(data)
        self.size += len(data)
        return data

    def drain(self) -> None:
        """Read what is left, and close."""
        try:
            while self.read(1 << 20):
                pass
        finally:
            self._file.close()


def _compare_with_trail(manifest: Manifest, report: Report) -> None:
    """The head that the trail of the system holds is out of reach of whoever has the files and even the key."""
    header = manifest.header
    if header.environment != settings.CONSOLE_ENV:
        report.notes.append(f"Not compared with the trail: that is the one of {header.environment}.")
        return
    try:
        entry = AuditEntry.get(SYSTEM_TRAIL, header.entry, consistent_read=True)
    except NotFound:
        _without_entry(manifest, report)
        return
    except PlaceError:
        raise
    except ConsoleError:
        report.notes.append("Not compared with the trail, which could not be read.")
        return
    payload = as_payload(entry.plain("action_payload_redacted"))
    logged_head = payload.get("head") if isinstance(payload, dict) else None
    if entry.plain("result") != Result.SUCCESS or not isinstance(logged_head, str):
        report.find("", 0, "By the trail, the export of this archive never ended well.")
    elif not hmac.compare_digest(logged_head.encode(), manifest.head.encode()):
        report.find("", 0, "The trail holds another head: this is not the archive that was made then.")
    else:
        report.notes.append("Its head is the one in the trail.")


def _without_entry(manifest: Manifest, report: Report) -> None:
    made = clock.parse_instant(manifest.header.made_at)
    kept = timedelta(days=settings.AUDIT_RETENTION_DAYS)
    if made is None or made + kept > clock.now():
        report.find("", 0, "The trail does not know of this archive.")
        return
    report.notes.append(
        f"Not compared with the trail, which keeps entries for {settings.AUDIT_RETENTION_DAYS} days only: compare the "
        "head with the one that was noted (--head)."
    )
