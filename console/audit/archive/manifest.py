"""The manifest of an archive: what it covers, its files, and the head of its chain."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, fields, replace
from typing import IO, Any

from console.audit.archive.chain import Chain

NAME = "manifest.json"
FORMAT = "console audit archive 1"
MAX_BYTES = 16 << 20
FILE_NAME = re.compile(r"audit-\d{6}\.jsonl\.gz", re.ASCII)
_CHAIN, _SHA256 = re.compile(r"[a-p]{64}"), re.compile(r"[0-9a-f]{64}")


class NoManifest(ValueError):
    """Raised for bytes that are not a manifest; the message tells the operator why."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the chain begins with. `since` is included, `until` is not; instants are ISO 8601 in UTC.

    `entry` is the sort key of the archive's entry in the trail of the system, `key` the name of the signing key,
    `ruleset` the version of the redaction rules applied to the entries.
    """

    environment: str
    entry: str
    made_at: str
    since: str
    until: str
    ruleset: str
    key: str
    format: str = FORMAT

    def canonical(self) -> bytes:
        """Return the bytes that the chain covers."""
        return _compact(asdict(self))


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file: its number of lines and (compressed) bytes, its SHA-256, and the chain's value at its end."""

    name: str
    lines: int
    bytes: int
    sha256: str
    chain: str


class Hashed:
    """A file that counts and hashes its bytes as they are written or read, for its `FileRecord`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Write and hash all of `data`."""
        self._file.write(data)
        self._count(data)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Read and hash up to `size` bytes."""
        data = self._file.read(size)
        self._count(data)
        return data

    def flush(self) -> None:
        """Do nothing: `gzip` calls this, and nothing is buffered here."""

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An archive's description of itself. `head` is the keyed digest of all of it."""

    header: Header
    files: tuple[FileRecord, ...] = ()
    head: str = ""

    @property
    def lines(self) -> int:
        """The number of entries in all files."""
        return sum(each.lines for each in self.files)

    def closed_by(self, chain: Chain) -> "Manifest":
        """Return the manifest with its head; `chain` must be at the last line."""
        return replace(self, head=chain.head(_compact(asdict(replace(self, head="")))))

    def written(self) -> bytes:
        """Return the bytes to store."""
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"


def read_manifest(stored: bytes) -> Manifest:
    """Parse a manifest, which must be exactly what `written` returns. Raises `NoManifest`."""
    try:
        data = json.loads(stored)
        files = tuple(_made(FileRecord, each) for each in data["files"])
        manifest = Manifest(_made(Header, data["header"]), files, data["head"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise NoManifest("this is not the manifest of an archive") from error
    if manifest.header.format != FORMAT:
        raise NoManifest("it has another format")
    if not _CHAIN.fullmatch(manifest.head) or not all(map(_is_possible, files)):
        raise NoManifest("it lists a file or a head that no archive can have")
    if manifest.written() != stored:
        raise NoManifest("it is not in the format that an export writes")
    return manifest


def _is_possible(file: FileRecord) -> bool:
    well_named = FILE_NAME.fullmatch(file.name) and _CHAIN.fullmatch(file.chain) and _SHA256.fullmatch(file.sha256)
    return bool(well_named) and file.lines > 0


def _made(kind: type[Any], values: Any) -> Any:
    """Build a record from exactly its fields. Raises `TypeError` for other names or types."""
    made = kind(**values)
    for each in fields(kind):
        if type(getattr(made, each.name)) is not each.type:
            raise TypeError(each.name)
    return made


def _compact(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
