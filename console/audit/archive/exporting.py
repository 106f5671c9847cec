"""Making an archive: pending in the trail, then files, then the manifest, then its head in the trail."""

import gzip
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from typing import Any, BinaryIO

from django.conf import settings

from console import clock
from console.audit.archive import manifest as manifests
from console.audit.archive.chain import Chain
from console.audit.archive.keys import ArchiveKey, signing_key
from console.audit.archive.lines import line_of
from console.audit.archive.manifest import FileRecord, Header, Manifest
from console.audit.archive.places import ArchivePlace
from console.audit.archive.walk import Pace, walk
from console.audit.runs import audited_run
from console.errors import Invalid
from console.redaction import RULESET_VERSION
from console.trail.actions import Action
from console.trail.models import AuditEntry

# Of lines before they are compressed.
FILE_BYTES = 64 << 20
# Told as it goes on: how many items were read by one round, and how many lines there are.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days in UTC that have ended, both included: what is still to come for a day would be in no archive."""

    first: date
    last: date

    @classmethod
    def checked(cls, first: date, last: date | None) -> "Days":
        """Until yesterday where no last day is named. Raises `Invalid`."""
        yesterday = clock.now().astimezone(UTC).date() - timedelta(days=1)
        last = last or yesterday
        for name, day in (("first", first), ("last", last)):
            if day > yesterday:
                raise Invalid(f"The {name} day, {day}, has not ended in UTC: yesterday, {yesterday}, is the latest.")
        if first > last:
            raise Invalid("The last day is before the first.")
        return cls(first, last)

    @property
    def since(self) -> datetime:
        """The first instant."""
        return datetime.combine(self.first, time.min, UTC)

    @property
    def until(self) -> datetime:
        """The first instant after them."""
        return datetime.combine(self.last + timedelta(days=1), time.min, UTC)


def export(
    place: ArchivePlace, days: Days, segments: int, pace: Pace, progress: Progress, size: int = FILE_BYTES
) -> Manifest:
    """Write the archive of these days. Raises `PlaceError`, `Invalid` (the key), and the store's errors.

    Where the trail cannot be written nothing is. The manifest comes last: what is interrupted has none. Of two errors
    of the trail the second leaves a whole archive, which `verify` refuses for its open entry.
    """
    key = signing_key()
    place.prepare()
    span = {"since": clock.to_iso(days.since), "until": clock.to_iso(days.until)}
    with audited_run(Action.AUDIT_ARCHIVED, **span) as run:
        header = Header(
            environment=settings.CONSOLE_ENV,
            entry=run.entry,
            made_at=clock.to_iso(clock.now()),
            ruleset=RULESET_VERSION,
            key=key.name,
            **span,
        )
        manifest = write(place, header, key, _counted(walk(days.since, days.until, segments, pace), progress), size)
        run.payload |= {"files": len(manifest.files), "lines": manifest.lines, "head": manifest.head}
    return manifest


def _counted(reads: Iterable[Any], progress: Progress) -> Iterator[AuditEntry]:
    lines = 0
    for read in reads:
        yield from read.entries
        lines += len(read.entries)
        progress(read.items, lines)


def write(place: ArchivePlace, header: Header, key: ArchiveKey, entries: Iterable[AuditEntry], size: int) -> Manifest:
    """The files of these entries, each of about `size` bytes of lines at most, and then the manifest."""
    chain = Chain(key, header.canonical())
    lines = (line_of(entry, chain, key) for entry in entries)
    files = []
    first = next(lines, None)
    for number in count(1):
        if first is None:
            break
        name = f"audit-{number:06}.jsonl.gz"
        with place.writing(name) as file:
            record, first = _write_file(name, file, first, lines, chain, size)
        files.append(record)
    manifest = Manifest(header, tuple(files)).closed_by(chain)
    with place.writing(manifests.NAME) as file:
        file.write(manifest.written())
    return manifest


def _write_file(
    name: str, file: BinaryIO, first: bytes, lines: Iterator[bytes], chain: Chain, size: int
) -> tuple[FileRecord, bytes | None]:
    """Fill one file; its record, and the line that did not fit any more (None at the end)."""
    hashed = _HashedWriter(file)
    written, number, end = 0, 0, ""
    following: bytes | None = first
    # Neither a name nor a time in it: the same lines make the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=hashed, mtime=0) as packed:
        while following is not None and (number == 0 or written + len(following) <= size):
            packed.write(following)
            # The chain stands behind the line that was made last: this one.
            written, number, end = written + len(following), number + 1, chain.value
            following = next(lines, None)
    return FileRecord(name, number, hashed.size, hashed.digest.hexdigest(), end), following


class _HashedWriter:
    """A file that is digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Write all of it."""
        self._file.write(data)
        self.digest.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back here."""
