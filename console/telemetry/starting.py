"""What a process does to be seen: a web server's worker, or the work beside the web servers."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec

from console.telemetry import exposition, instrumentation, reports, traces

# What each needs beyond production's own packages.
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
    """In each worker of a web server, before its application is made."""
    traces.start(web=True)
    reports.start()


@contextmanager
def working(name: str, *, once: bool = False) -> Iterator[None]:
    """In a command that works until it is stopped: `name` says what its lines, spans and reports are of.

    One that does it `once` has ended before anybody could scrape it.
    """
    traces.start(web=False)
    reports.start()
    with instrumentation.process_of(name), nullcontext() if once else exposition.serving():
        yield
