"""`manage.py demo`: start the whole console with data on this machine, in seconds."""

import json
import signal
import socket
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.servers.basehttp import ThreadedWSGIServer

from console import clock
from console.caching import invalidate_all
from console.errors import ConsoleError
from console.key_record import note_key
from console.permissions import ALL
from console.schema.tables import TABLES
from console.startup import ConsoleCommand
from console.store import presence
from console.store.calls import budget, table_name
from conversations.indexer.worker import Worker
from conversations.insight.facts import FactKind
from conversations.insight.walking import walk_all
from conversations.receiving.worker import Receiver
from conversations.work.parts import STAGE_RECEIVER, build_workers
from conversations.workers.beats import read_health
from demo.assistant import Assistant
from demo.dialogues import DialogueError
from demo.direct import handed_over
from demo.dynoxide import Dynoxide
from demo.embedded import EmbeddedDynamoDB, QuietHandler
from demo.items import create_tables, fill_tables
from demo.links import link
from demo.platform import (
    OPTED_OUT,
    UNREACHABLE,
    Customers,
    create_queues,
    create_secrets,
    fill_provider,
    fill_queue,
    queue_urls,
)
from demo.provider import ACCOUNT, TOKEN, DemoProvider
from demo.receiver import WebhookReceiver, create_destinations
from demo.server_process import Unavailable
from demo.staff import PASSWORD, create_staff, sign_ins
from demo.volume import most_companies

# Limits of the indexer's rounds (each sweeps a page, and the demo has few), and of waiting for workers to end.
ROUNDS, END_SECONDS = 100, 2.0


class Command(ConsoleCommand):
    """A DynamoDB with all tables and realistic data, a sign-in for each role, and the console over plain HTTP."""

    help = "Run the console on 127.0.0.1 with a DynamoDB of its own and realistic data."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the port, JSON output, and where to store data."""
        parser.add_argument("--port", type=int, default=8000, help="port of the console; 0 picks a free one (8000)")
        parser.add_argument("--json", action="store_true", help="print addresses and sign-ins as one line of JSON")
        parser.add_argument(
            "--companies", type=int, default=0, metavar="N", help="add N further companies, some with people who wait"
        )
        parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the data in DIR; needs dynoxide")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the services, write the data, print the sign-ins, and serve until interrupted."""
        folder: Path | None = options["keep"]
        further, most = options["companies"], most_companies()
        if not 0 <= further <= most:
            raise CommandError(f"--companies takes a number from 0 to {most}.")
        _check_port(options["port"])
        kept = Kept(folder) if folder else None
        if kept is not None:
            # dynoxide is a separate process, which must end with this one.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        with (
            _services(kept) as (settings.DYNAMODB_ENDPOINT, embedded),
            DemoProvider(UNREACHABLE, OPTED_OUT) as self.provider,
            WebhookReceiver() as receiver,
        ):
            create_queues(embedded)
            create_secrets(embedded, self.provider)
            if not options["json"]:
                slow = " On disk, writing the data takes up to a minute." if kept and not kept.is_filled else ""
                slow += f" With {further:,} further companies it takes longer." if further else ""
                self.stderr.write(f"Starting the demo…{slow}")
            with budget(None):
                # Without its table, Insight counts nothing yet: counting would take as long as the rest of the start.
                create_tables(but="INSIGHT")
                if kept is None or not kept.is_filled:
                    _fill(further)
                fill_provider(self.provider, clock.now())
                create_destinations(receiver)
                if kept is not None:
                    kept.note_filled()
                stop_workers = _start_workers(self.provider)
            try:
                _serve(options["port"], lambda url: self._announce(url, as_json=options["json"], kept=folder))
            except KeyboardInterrupt:
                self.stderr.write(f"Stopped. Your changes are in {folder}." if folder else "Stopped. Nothing is kept.")
            finally:
                stop_workers()

    def _announce(self, url: str, *, as_json: bool, kept: Path | None) -> None:
        """Print where everything is, then start counting for Insight in the background."""
        settings.CONSOLE_URL = url
        summary = {
            "url": url,
            "dynamodb_endpoint": settings.DYNAMODB_ENDPOINT,
            "sqs_endpoint": settings.SQS_ENDPOINT,
            "queues": queue_urls(),
            "provider": self.provider.endpoint,
            "provider_account": ACCOUNT,
            "provider_token": TOKEN,
            "region": settings.AWS_REGION,
            "environment": settings.CONSOLE_ENV,
            "staff": sign_ins(),
            "tables": {key: table_name(key) for key in TABLES},
        }
        sys.stdout.write(f"{json.dumps(summary)}\n" if as_json else _text(summary, kept))
        sys.stdout.flush()
        threading.Thread(target=_count, name="counting", daemon=True).start()


def _text(summary: dict[str, Any], kept: Path | None) -> str:
    lines = [
        "",
        f"  Conversation Console  {summary['url']}",
        f"  DynamoDB              {summary['dynamodb_endpoint']} (region {summary['region']}, any credentials)",
        f"  SQS                   {summary['sqs_endpoint']} (queues {', '.join(summary['queues'])})",
        f"  Provider              {summary['provider']} (in place of Twilio and SendGrid)",
        "",
        f"  Everyone’s password is {PASSWORD}. Each link signs you in:",
        "",
        *(
            f"  {role:<11} {each['username']:<7} {summary['url']}{link(role)}"
            for role, each in summary["staff"].items()
        ),
        "",
        "  The colleague is a second agent. Use a private window to be both, and try a race.",
        "",
        f"  Ctrl-C stops the demo. Your changes are kept in {kept}."
        if kept
        else "  Ctrl-C stops the demo. Nothing is kept.",
        "",
    ]
    return "\n".join(lines) + "\n"


class Kept:
    """A folder with a demo's data, and with the secret key that parts of the data are sealed with."""

    def __init__(self, folder: Path) -> None:
        """Use the secret key of an earlier demo in the folder, if there is one. Raises `CommandError`."""
        self._file, self.data = folder / "demo.json", folder / "dynoxide.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.is_filled = self._file.exists()
            if self.is_filled and not self.data.exists():
                raise CommandError(f"{folder} is from a demo on DynamoDB Local. Name an empty folder.")
            if self.is_filled:
                settings.SECRET_KEY = json.loads(self._file.read_text())["secret_key"]
            elif any(folder.iterdir()):
                raise CommandError(
                    f"{folder} holds something else, or a demo that was not filled. Name an empty folder."
                )
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"{folder} cannot be used to keep the demo’s data: {error}") from error

    def note_filled(self) -> None:
        """Mark the folder as filled, so that the data is not written again."""
        if not self.is_filled:
            self._file.touch(mode=0o600)
            self._file.write_text(json.dumps({"secret_key": settings.SECRET_KEY}))


@contextmanager
def _services(kept: "Kept | None") -> Iterator[tuple[str, str]]:
    """Run DynamoDB and SQS, and yield their endpoints. Raises `CommandError` if they cannot run here."""
    with ExitStack() as running:
        try:
            embedded = running.enter_context(EmbeddedDynamoDB())
            running.enter_context(handed_over(embedded))
            database = running.enter_context(Dynoxide(kept.data)) if kept else embedded
        except Unavailable as error:
            raise CommandError(f"The demo cannot keep data here: {error}") from error
        except ImportError as error:
            raise CommandError("The demo needs the packages of requirements.txt.") from error
        yield database.endpoint, embedded.endpoint


def _fill(further: int) -> None:
    """Write the data, with so many further companies. Raises `CommandError` and the store's errors."""
    try:
        # Create staff first, while tables are small: moto copies the tables of every transaction.
        create_staff(agent_scope=[ALL] if further else [])
        fill_tables(clock.now(), further)
        fill_queue(clock.now())
    except DialogueError as error:
        raise CommandError(f"demo/dialogues/{error}") from error
    Receiver().run(once=True)


def _start_workers(provider: DemoProvider) -> Callable[[], None]:
    """Fill the index of the queue, then run workers and customers in threads. Return the function that stops them."""
    ended = threading.Event()
    indexer = Worker(wait=ended.wait)
    for _ in range(ROUNDS):
        indexer.cycle()
        if read_health().is_reliable:
            break
    # Creating the demo's staff has cached results from before the index was filled.
    invalidate_all()
    create_tables()
    presence.forget()
    note_key()
    customers = Customers(wait=ended.wait, provider=provider)
    platform = {"customers": customers.run, "assistant": Assistant(wait=ended.wait).run}
    ours = {name: each.run for name, each in build_workers(wait=ended.wait).items()}
    parts = {**ours, "indexer": indexer.run, **platform}
    threads = {name: threading.Thread(target=run, name=name, daemon=True) for name, run in parts.items()}
    for thread in threads.values():
        thread.start()

    def stop() -> None:
        ended.set()
        # These release their leases; the others can be stopped at any point.
        for name in ("indexer", STAGE_RECEIVER):
            threads[name].join(END_SECONDS)

    return stop


def _count() -> None:
    """Count the existing conversations for Insight, in the background."""
    # The demo may be stopped before everything is counted.
    with suppress(ConsoleError):
        for kind in (FactKind.CONVERSATIONS, FactKind.TENANTS):
            for _ in walk_all(kind):
                continue


def _check_port(port: int) -> None:
    """Raise `CommandError` if the console cannot listen on a port, before anything is set up."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else "there is no such port"
            raise CommandError(f"Port {port} cannot be used ({why}). Choose another one with --port.") from None


def _serve(port: int, ready: Callable[[str], None]) -> None:
    """Serve the console on 127.0.0.1 until interrupted. Call `ready` with the URL once the port is bound."""
    from console.wsgi import application

    server = ThreadedWSGIServer(("127.0.0.1", port), QuietHandler)
    server.set_app(application)
    threading.Thread(target=ready, args=(f"http://127.0.0.1:{server.server_port}",), daemon=True).start()
    with server:
        server.serve_forever()
