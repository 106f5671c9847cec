"""Where archives are stored: a directory that only its owner can read, or a prefix of an S3 bucket, encrypted by KMS.

Nothing is ever overwritten, and a file gets its name only once it is complete.
"""

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from console.errors import ConsoleError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")


class PlaceError(ConsoleError):
    """Raised if a directory or bucket cannot be read or written; the message tells the operator why."""


class ArchivePlace(Protocol):
    """The interface of a place for an archive. Every method raises `PlaceError`."""

    def prepare(self) -> None:
        """Create the place; one that exists must be empty."""

    def names(self) -> list[str]:
        """List the names of everything in it, sorted."""

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a new file, which gets its name when the block succeeds; otherwise nothing is left."""

    def reading(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file for reading bytes."""


def place_of(target: str, kms_key: str = "") -> ArchivePlace:
    """Return the place that an operator named: `s3://bucket/prefix`, else a directory. Raises `PlaceError`."""
    if not target.startswith("s3://"):
        if scheme := _SCHEME.match(target):
            # A directory with that name would receive what was meant to go elsewhere.
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
        """Create the directory and its parents; an existing one must be empty and becomes 0700."""
        with _system_errors():
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(self._path.iterdir()):
                raise PlaceError("The directory is not empty. An archive needs its own.")
            self._path.chmod(0o700)

    def names(self) -> list[str]:
        """List the names of everything in it, sorted."""
        with _system_errors():
            return sorted(each.name for each in self._path.iterdir())

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Write under a temporary name until the file is complete and on disk."""
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

    @contextmanager
    def reading(self, name: str) -> Iterator[IO[bytes]]:
        """Open a regular file only: reading anything else might never end."""
        with _system_errors():
            descriptor = os.open(self._path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise PlaceError(f"{name} is not a regular file.")
                yield file

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
    """Objects under a prefix, each encrypted by KMS: with `kms_key` if given, else with the account's default key."""

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
        """Check that the prefix is empty; the operator creates the bucket."""
        if self.names():
            raise PlaceError("There are already objects under that prefix. An archive needs its own.")

    def names(self) -> list[str]:
        """List the names of all objects under the prefix, sorted."""
        start = f"{self._prefix}/"
        with _s3_errors():
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start)
            return sorted(each["Key"].removeprefix(start) for page in pages for each in page.get("Contents", ()))

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Write a local temporary file, then upload it in one request."""
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with _s3_errors():
                self._client.put_object(
                    Bucket=self._bucket, Key=f"{self._prefix}/{name}", Body=file, IfNoneMatch="*", **self._encryption
                )

    @contextmanager
    def reading(self, name: str) -> Iterator[IO[bytes]]:
        """Stream the object."""
        with _s3_errors():
            found = self._client.get_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}")
            with closing(found["Body"]) as body:
                yield body


@contextmanager
def _s3_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise PlaceError(f"S3 refused: {error.response.get('Error', {}).get('Code', 'no code')}.") from error
    except BotoCoreError as error:
        raise PlaceError(f"S3 did not answer: {type(error).__name__}.") from error
