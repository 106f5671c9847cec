"""Where archives lie: a directory that only its owner reads, or a prefix of an S3 bucket, encrypted by KMS.

Nothing that is there is ever written over, and a file has its name only once it is whole.
"""

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from console.errors import ConsoleError

T = TypeVar("T")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")


class PlaceError(ConsoleError):
    """A directory or bucket cannot be read or written; the message says why, for the operator."""


class Readable(Protocol):
    """A file opened for reading."""

    def read(self, size: int = ..., /) -> bytes:
        """At most so many bytes; none at the end."""

    def close(self) -> None:
        """Let go of it."""


class ArchivePlace(Protocol):
    """What an archive needs of where it lies. Everything raises `PlaceError`."""

    def prepare(self) -> None:
        """Make it, if it is not there; what is there has to be empty."""

    def names(self) -> list[str]:
        """What is in it, in order."""

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A new file, which has its name once the block ends well; otherwise nothing is there."""

    def reading(self, name: str) -> Readable:
        """A file's bytes."""


def place_of(target: str, kms_key: str = "") -> ArchivePlace:
    """The place that an operator named: `s3://bucket/prefix`, else a directory. Raises `PlaceError`."""
    if not target.startswith("s3://"):
        if scheme := _SCHEME.match(target):
            # A directory of such a name would keep what was meant to go elsewhere.
            raise PlaceError(f"Write an archive to a directory or to s3://bucket/prefix, not to {scheme.group()}.")
        if kms_key:
            raise PlaceError("A KMS key works with s3:// only.")
        return Directory(Path(target))
    bucket, _, prefix = target.removeprefix("s3://").partition("/")
    if not bucket or not prefix.strip("/"):
        raise PlaceError("Name a bucket and a prefix: s3://bucket/prefix.")
    return Bucket(bucket, prefix.strip("/"), kms_key)


class Directory:
    """A directory of mode 0700 with files of mode 0600."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def prepare(self) -> None:
        """Make it with its parents; one that is there already becomes 0700."""
        with _system_errors():
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(self._path.iterdir()):
                raise PlaceError("The directory is not empty. An archive needs its own.")
            self._path.chmod(0o700)

    def names(self) -> list[str]:
        """Of everything in it."""
        with _system_errors():
            return sorted(each.name for each in self._path.iterdir())

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Under another name until it is whole and on the disk."""
        part = self._path / f"{name}.part"
        with _system_errors():
            try:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                if (self._path / name).exists():
                    raise PlaceError(f"{name} already exists.")
                part.rename(self._path / name)
            finally:
                part.unlink(missing_ok=True)
            self._sync()

    def reading(self, name: str) -> Readable:
        """Only of a regular file: reading anything else might never end."""
        with _system_errors():
            descriptor = os.open(self._path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise PlaceError(f"{name} is not a regular file.")
            return os.fdopen(descriptor, "rb")

    def _sync(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _system_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PlaceError(f"The archive's directory: {error.strerror or type(error).__name__}.") from error


class Bucket:
    """Objects under a prefix, each encrypted by KMS: by the key that is named, else by the account's own."""

    def __init__(self, bucket: str, prefix: str, kms_key: str = "") -> None:
        self._bucket, self._prefix = bucket, prefix
        self._encryption = {"ServerSideEncryption": "aws:kms", "BucketKeyEnabled": True}
        if kms_key:
            self._encryption["SSEKMSKeyId"] = kms_key
        self._client: Any = botocore.session.get_session().create_client(
            "s3",
            region_name=settings.AWS_REGION,
            config=Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 5}),
        )

    def prepare(self) -> None:
        """There is nothing to make: the bucket is the operator's."""
        if self.names():
            raise PlaceError("There are already objects under that prefix. An archive needs its own.")

    def names(self) -> list[str]:
        """Below the prefix."""
        start = f"{self._prefix}/"
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start)
        found = _told_by_s3(lambda: [each["Key"] for page in pages for each in page.get("Contents", ())])
        return sorted(key.removeprefix(start) for key in found)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """In a nameless file of this machine until it is whole, then put at once."""
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            _told_by_s3(
                lambda: self._client.put_object(
                    Bucket=self._bucket, Key=self._key(name), Body=file, IfNoneMatch="*", **self._encryption
                )
            )

    def reading(self, name: str) -> Readable:
        """Read as it comes."""
        body: Readable = _told_by_s3(lambda: self._client.get_object(Bucket=self._bucket, Key=self._key(name)))["Body"]
        return _Streamed(body)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"


class _Streamed:
    """An object's body, whose errors in the middle are told as the others are."""

    def __init__(self, body: Readable) -> None:
        self._body = body

    def read(self, size: int = -1, /) -> bytes:
        """All of it without a size."""
        return _told_by_s3(lambda: self._body.read() if size < 0 else self._body.read(size))

    def close(self) -> None:
        """Let go of the connection."""
        self._body.close()


def _told_by_s3(work: Callable[[], T]) -> T:
    try:
        return work()
    except ClientError as error:
        raise PlaceError(f"S3 refused: {error.response.get('Error', {}).get('Code', 'no code')}.") from error
    except BotoCoreError as error:
        raise PlaceError(f"S3 did not answer: {type(error).__name__}.") from error
