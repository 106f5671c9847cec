"""ElasticMQ, an SQS in a Java process of its own, for the tests: found or fetched, started on a free port.

Its jars are in `.cache/elasticmq/`: put there with Maven at the first start, or by `python -m tests.elasticmq`.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demo.server_process import ROOT, ServerProcess, Unavailable

CACHE = ROOT / ".cache" / "elasticmq"
VERSION = "1.6.12"
MAIN_CLASS = "org.elasticmq.server.Main"
# For runs of a minute, which a JVM otherwise spends compiling, and for longer ones, in which compiling pays.
QUICK, LASTING = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"), ("-XX:+UseSerialGC",)

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>console.tests</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId>
      <artifactId>elasticmq-server_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def fetch() -> None:
    """Make sure that the jars are there: with Maven, if needed. Raises `Unavailable`."""
    if any(CACHE.glob(f"elasticmq-server_*-{VERSION}.jar")):
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"no jars of ElasticMQ in {CACHE} and no Maven to fetch them")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder) / "pom.xml"
        pom.write_text(POM)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={CACHE}", "-DincludeScope=runtime"]
        command = [maven, "-B", "-q", "-f", str(pom), *goal]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Unavailable(f"Maven could not fetch ElasticMQ {VERSION}: {(ran.stdout + ran.stderr)[-2000:]}")


class ElasticMQ(ServerProcess):
    """ElasticMQ, with its queues in memory."""

    title, service = "ElasticMQ", "sqs"

    def __init__(self, options: Sequence[str] = QUICK) -> None:
        """Take the options of the JVM."""
        super().__init__()
        self._options = options

    def _command(self, port: int) -> list[str]:
        java = shutil.which("java")
        if java is None:
            raise Unavailable("no java on the PATH")
        fetch()
        settings = {
            "node-address.protocol": "http",
            "node-address.host": "127.0.0.1",
            "node-address.port": port,
            "rest-sqs.bind-hostname": "127.0.0.1",
            "rest-sqs.bind-port": port,
            "rest-stats.enabled": "false",
        }
        named = [f"-D{name}={value}" for name, value in settings.items()]
        return [java, *self._options, "-Xmx384m", *named, "-cp", f"{CACHE}/*", MAIN_CLASS]

    def _ask(self, client: Any) -> object:
        return client.list_queues()


if __name__ == "__main__":
    try:
        fetch()
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
    sys.stdout.write(f"{CACHE}\n")
