"""DynamoDB Local for the demo and the tests: find or download it, start it on a free port, stop it at the end.

The jars are in the directory that DYNAMODB_LOCAL_JARS names, or in `.cache/dynamodb-local/`, where Maven puts them at
the first start or when you run `python -m demo.dynamodb_local`.
"""

import os
import shutil
import socket
import subprocess  # java and Maven, with arguments of our own  # nosec B404
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import botocore.config
import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "dynamodb-local"
VERSION = "3.1.0"
MAIN_CLASS = "software.amazon.dynamodb.services.local.main.ServerRunner"
START_SECONDS = 60.0
# For short runs on few processors: otherwise the JVM spends most of the first minute compiling.
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>console.tests</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


class Unavailable(Exception):
    """DynamoDB Local cannot be run here; the message says what is missing."""


def jars() -> Path | None:
    """Return the directory that contains DynamoDB Local and its native library, or None."""
    named = os.environ.get("DYNAMODB_LOCAL_JARS")
    for directory in ([Path(named)] if named else []) + [CACHE]:
        if any(directory.glob("DynamoDBLocal-*.jar")) and any(directory.glob("*sqlite4java-*.so")):
            return directory
    return None


def fetch() -> Path:
    """Return the directory of the jars; download them with Maven if needed. Raises `Unavailable`."""
    found = jars()
    if found is not None:
        return found
    copy_jars("software.amazon.dynamodb", "DynamoDBLocal", VERSION, CACHE)
    found = jars()
    if found is None:
        raise Unavailable(f"Maven fetched DynamoDB Local {VERSION} without its native library")
    return found


def copy_jars(group: str, artifact: str, version: str, directory: Path) -> None:
    """Copy an artifact and its runtime dependencies into a directory, with Maven. Raises `Unavailable`."""
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"no jars of {artifact} in {directory} and no Maven to fetch them")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder) / "pom.xml"
        pom.write_text(POM.format(group=group, artifact=artifact, version=version))
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}", "-DincludeScope=runtime"]
        command = [maven, "-B", "-q", "-f", str(pom), *goal]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603
    if ran.returncode != 0:
        raise Unavailable(f"Maven could not fetch {artifact} {version}: {(ran.stdout + ran.stderr)[-2000:]}")


class JavaServer(ABC):
    """A server in a Java process on a free loopback port. Context manager."""

    # Its name in errors, and the service name for botocore.
    title = ""
    service = ""

    def __init__(self, options: Sequence[str] = QUICK) -> None:
        """Take the options of the JVM."""
        self.endpoint = ""
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _arguments(self, port: int) -> list[str]:
        """Return the arguments for java, after the options. Raises `Unavailable`."""

    @abstractmethod
    def _ask(self, client: Any) -> object:
        """Send any request, to check that the server is up. Raises botocore's errors."""

    def start(self) -> str:
        """Start the server, wait until it answers, and return its endpoint URL. Raises `Unavailable`."""
        java = shutil.which("java")
        if java is None:
            raise Unavailable("no java on the PATH")
        port = free_port()
        self._process = subprocess.Popen(  # nosec B603
            [java, *self._options, *self._arguments(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.endpoint = f"http://127.0.0.1:{port}"
        self._wait_until_it_answers()
        return self.endpoint

    def stop(self) -> None:
        """Stop the process if it is running."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process, self.endpoint = None, ""

    def _wait_until_it_answers(self) -> None:
        client = plain_client(self.endpoint, self.service)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self._ask(client)
                return
            except (BotoCoreError, ClientError) as error:
                code = self._process.poll() if self._process else None
                if code is not None or time.monotonic() > end:
                    self.stop()
                    raise Unavailable(f"{self.title} did not start (exit code {code}): {error}") from error
                time.sleep(0.1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class DynamoDBLocal(JavaServer):
    """DynamoDB Local with a maximum `heap`. It stores its data in `folder`, or in memory without one."""

    title, service = "DynamoDB Local", "dynamodb"

    def __init__(self, heap: str = "512m", folder: Path | None = None, options: Sequence[str] = QUICK) -> None:
        super().__init__(options)
        self._heap = heap
        self._stored = ["-inMemory"] if folder is None else ["-dbPath", str(folder)]

    def _arguments(self, port: int) -> list[str]:
        directory = fetch()
        found = [f"-Xmx{self._heap}", f"-Djava.library.path={directory}", "-cp", f"{directory}/*", MAIN_CLASS]
        return [*found, *self._stored, "-sharedDb", "-disableTelemetry", "-port", str(port)]

    def _ask(self, client: Any) -> object:
        return client.list_tables()


def plain_client(endpoint: str, service: str = "dynamodb") -> Any:
    """Return a botocore client with its own credentials and without the console's settings."""
    return botocore.session.Session().create_client(
        service,
        region_name="eu-west-2",
        endpoint_url=endpoint,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # any will do  # noqa: S106  # nosec B106
        config=botocore.config.Config(
            connect_timeout=2, read_timeout=20, max_pool_connections=32, retries={"total_max_attempts": 1}
        ),
    )


def free_port() -> int:
    """Return a free port on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{fetch()}\n")
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
