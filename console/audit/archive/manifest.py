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
    """What was read is not a manifest; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the chain begins with. `since` is included, `until` is not; instants are ISO 8601 in UTC.

    `entry` is the key of the archive's entry in the trail of the system, `key` the name of the key, `ruleset` the
    version of the rules by which entries were redacted again.
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
        """The bytes that the chain covers."""
        return _compact(asdict(self))


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file: how many lines and (compressed) bytes it has, their SHA-256, and where the chain stands at its end."""

    name: str
    lines: int
    bytes: int
    sha256: str
    chain: str


class Hashed:
    """A file that is digested as it is written or read, as a `FileRecord` says."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Write all of it."""
        self._file.write(data)
        self._count(data)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Read what comes next."""
        data = self._file.read(size)
        self._count(data)
        return data

    def flush(self) -> None:
        """Do nothing, for `gzip`: nothing is held back here."""

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that an archive says of itself. `head` covers all of it with the key."""

    header: Header
    files: tuple[FileRecord, ...] = ()
    head: str = ""

    @property
    def lines(self) -> int:
        """Entries in all files."""
        return sum(each.lines for each in self.files)

    def closed_by(self, chain: Chain) -> "Manifest":
        """The manifest with its head. The chain stands behind the last line."""
        return replace(self, head=chain.head(_compact(asdict(replace(self, head="")))))

    def written(self) -> bytes:
        """As stored."""
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"


def read_manifest(stored: bytes) -> Manifest:
    """Read a manifest, which must be written exactly as `written` does. Raises `NoManifest`."""
    try:
        data = json.loads(stored)
        files = tuple(_made(FileRecord, each) for each in data["files"])
        manifest = Manifest(_made(Header, data["header"]), files, data["head"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise NoManifest("this is not the manifest of an archive") from error
    if manifest.header.format != FORMAT:
        raise NoManifest("it has another format")
    if not _CHAIN.fullmatch(manifest.head) or not all(map(_is_possible, files)):
        raise NoManifest("it lists something that no archive has")
    if manifest.written() != stored:
        raise NoManifest("it is not in the form that an export writes")
    return manifest


def _is_possible(file: FileRecord) -> bool:
    well_named = FILE_NAME.fullmatch(file.name) and _CHAIN.fullmatch(file.chain) and _SHA256.fullmatch(file.sha256)
    return bool(well_named) and file.lines > 0


def _made(kind: type[Any], values: Any) -> Any:
    """Make a record of exactly these fields, with values of their types."""
    made = kind(**values)
    for each in fields(kind):
        if type(getattr(made, each.name)) is not each.type:
            raise TypeError(each.name)
    return made


def _compact(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
