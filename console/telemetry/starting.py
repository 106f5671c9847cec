"""Starting telemetry in a process: a web server's worker, or the work beside the web servers."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec

from console import instrumentation
from console.telemetry import exposition, reports, traces

# The packages of each, beyond those of production.
_NEEDED = (
    (traces, "OTEL_EXPORTER_OTLP_ENDPOINT", ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")),
    (reports, "SENTRY_DSN", ("sentry_sdk",)),
)


def settings_without_packages() -> list[str]:
    """Return the names of settings that are set and need packages that are not installed."""
    return [name for part, name, packages in _NEEDED if part.is_configured() and not all(map(_is_installed, packages))]


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def start_web() -> None:
    """Start telemetry in a worker of a web server, before its application is created."""
    traces.start(web=True)
    reports.start()


@contextmanager
def working(name: str, *, once: bool = False) -> Iterator[None]:
    """Run a command's work with telemetry; `name` is the origin in its lines, spans and reports.

    Work that runs only `once` serves no metrics: it ends before anybody could scrape it.
    """
    traces.start(web=False)
    reports.start()
    with instrumentation.process_of(name), nullcontext() if once else exposition.serving():
        yield
