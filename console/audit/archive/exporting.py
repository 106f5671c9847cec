"""Writing an archive: a pending entry in the trail, the files, the manifest, and then its head in the trail."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, BinaryIO, cast

from django.conf import settings

from console import clock
from console.audit.archive import manifest as manifests
from console.audit.archive.chain import Chain
from console.audit.archive.keys import ArchiveKey, signing_key
from console.audit.archive.manifest import FileRecord, Hashed, Header, Manifest
from console.audit.archive.places import ArchivePlace
from console.audit.archive.walk import walk
from console.audit.rows import note_recipients
from console.audit.runs import audited_run
from console.errors import Invalid
from console.redaction import RULESET_VERSION, redact_value, without_names
from console.store.models import plain_item
from console.trail.actions import Action, as_payload
from console.trail.models import AuditEntry
from console.trees import well_formed

# Size of a file's lines before compression.
FILE_BYTES = 64 << 20
PAYLOAD = AuditEntry.action_payload_redacted.attr_name
# Called after each round with the number of items read in it and of lines written so far.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Days:
    """Whole UTC days, both included, that have ended: an archive of a running day would miss its later entries."""

    first: date
    last: date

    @classmethod
    def checked(cls, first: date, last: date | None) -> "Days":
        """Return the days after checking them; `last` defaults to yesterday. Raises `Invalid`."""
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
        """The first instant of these days."""
        return datetime.combine(self.first, time.min, UTC)

    @property
    def until(self) -> datetime:
        """The first instant after these days."""
        return datetime.combine(self.last + timedelta(days=1), time.min, UTC)


def export(
    place: ArchivePlace, days: Days, segments: int, units: float, progress: Progress, size: int = FILE_BYTES
) -> Manifest:
    """Write the archive of these days. Raises `PlaceError`, `Invalid` (the key), and the store's errors.

    If the trail cannot be written, nothing else is. The manifest is written last, so an interrupted export has none. If
    the entry's result cannot be written, the archive is complete, but `verify` rejects it for its pending entry.
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
        manifest = write(place, header, key, _counted(walk(days.since, days.until, segments, units), progress), size)
        run.payload |= {"files": len(manifest.files), "lines": manifest.lines, "head": manifest.head}
    return manifest


def _counted(reads: Iterable[tuple[int, list[AuditEntry]]], progress: Progress) -> Iterator[AuditEntry]:
    lines = 0
    for items, entries in reads:
        note_recipients(entries)
        yield from entries
        lines += len(entries)
        progress(items, lines)


def write(place: ArchivePlace, header: Header, key: ArchiveKey, entries: Iterable[AuditEntry], size: int) -> Manifest:
    """Write the entries to files of about `size` bytes of uncompressed lines at most, and then the manifest."""
    chain = Chain(key, header.canonical())
    lines = (line_of(entry, chain, key) for entry in entries)
    files: list[FileRecord] = []
    first = next(lines, None)
    while first is not None:
        name = f"audit-{len(files) + 1:06}.jsonl.gz"
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
    """Fill one file. Returns its record and the first line that did not fit (None at the end)."""
    hashed = Hashed(file)
    written, number, end = 0, 0, ""
    following: bytes | None = first
    # Without name and time, so that equal lines give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=hashed, mtime=0) as packed:
        while following is not None and (number == 0 or written + len(following) <= size):
            packed.write(following)
            # This line was sealed last, so `chain.value` is its digest.
            written, number, end = written + len(following), number + 1, chain.value
            following = next(lines, None)
    return FileRecord(name, number, hashed.size, hashed.digest.hexdigest(), end), following


def line_of(entry: AuditEntry, chain: Chain, key: ArchiveKey) -> bytes:
    """Return the entry as the chain's next line: every stored attribute, redacted again by today's rules."""
    stored = plain_item(entry.raw)
    pseudonym = key.pseudonym(str(stored.get("conversation_id") or ""))
    shown = cast("dict[str, Any]", redact_value(well_formed(stored)))
    if entry.recipient:
        others = {name: shown[name] for name in ("result", *entry.unknown()) if name in shown}
        shown |= without_names(others, entry.recipient)
        if PAYLOAD in shown:
            shown[PAYLOAD] = json.dumps(as_payload(entry), ensure_ascii=False, sort_keys=True, default=str)
    return chain.seal(pseudonym, _numbers(shown))


def _numbers(value: Any) -> Any:
    """Turn decimals into floats where that loses no digits, else into strings."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() and Decimal(repr(float(value))) == value else str(value)
    return value
