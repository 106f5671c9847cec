"""`manage.py tenants guard-channels | repair-users`: add what other services left out."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from console.errors import ConsoleError
from console.redaction import redact
from console.startup import ConsoleCommand
from tenants import guarding, repairing
from tenants.keys import Channel


class Command(ConsoleCommand):
    """The `tenants` command; see `tenants.guarding` and `tenants.repairing`."""

    help = "Guard channels that other services mapped, repair users that the platform cannot read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the subcommands."""
        commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        guard = commands.add_parser(
            "guard-channels",
            help="guard the channels that other services mapped, and report clashes; reads the whole tenants table",
        )
        guard.add_argument("--dry-run", action="store_true", help="show what would be done, without writing")
        users = commands.add_parser(
            "repair-users",
            help="add to users what the tenant platform needs to read them; reads the whole tenants table",
        )
        users.add_argument("--dry-run", action="store_true", help="show what would be done, without writing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run a subcommand. Errors are printed without a traceback; the exit status is then 1."""
        commands: dict[str, Callable[[dict[str, Any]], None]] = {
            "guard-channels": self._guard,
            "repair-users": self._repair,
        }
        try:
            commands[options["command"]](options)
        except ConsoleError as error:
            raise CommandError(str(error) or type(error).__name__) from error

    # --- guard-channels -----------------------------------------------------------------------------------------------

    def _guard(self, options: dict[str, Any]) -> None:
        with _progress() as advance:
            found = guarding.survey(advance)
        done = 0
        for channel, tenant_id in found.unguarded:
            if options["dry_run"]:
                self._tell("would guard", channel, tenant_id)
            elif guarding.guard(channel, tenant_id):
                done += 1
                self._tell("guarded", channel, tenant_id)
            else:
                self._tell("changed in the meantime, run it again", channel, tenant_id)
        for channel, owners in found.clashes:
            self._tell("CLASH: more than one tenant has it", channel, *owners)
        for channel, tenant_id in found.strays:
            self._tell("webhooks cannot find it", channel, tenant_id)
        for channel, named in found.left_over:
            self._tell("the mapping is gone, its guard is left", channel, named)
        for channel, tenant_id, named in found.contrary:
            self._tell(f"the guard names {shown(named) or 'nobody'}, not who has it", channel, tenant_id)
        self.stdout.write(
            f"{done} guarded now, {len(found.unguarded) - done} not guarded, {len(found.guarded)} guarded already, "
            f"{len(found.clashes)} clashes, {len(found.strays)} that webhooks cannot find, "
            f"{len(found.left_over)} guards without a mapping, {len(found.contrary)} guards of another tenant."
        )
        if found.clashes:
            raise CommandError("Channels that more than one tenant has are not guarded: release or move them first.")

    def _tell(self, what: str, channel: Channel, *tenant_ids: str) -> None:
        self.stdout.write(f"{what}: {shown(channel.key)} ({', '.join(map(shown, tenant_ids))})")

    # --- repair-users -------------------------------------------------------------------------------------------------

    def _repair(self, options: dict[str, Any]) -> None:
        with _progress() as advance:
            users = [(item, *repairing.repairs_of(item)) for item in repairing.all_users(advance)]
        done = needed = unreadable = 0
        for item, given, left in users:
            who = f"{shown(str(item.plain('sk')))} of {shown(str(item.plain('pk')))}"
            if given:
                needed += 1
                repaired = not options["dry_run"] and repairing.repair(item, given)
                done += repaired
                refused = "would repair" if options["dry_run"] else "changed in the meantime, run it again"
                what = "repaired" if repaired else refused
                self.stdout.write(f"{what}: {who} ({', '.join(given)})")
            if left:
                unreadable += 1
                self.stdout.write(f"CANNOT BE READ by the platform: {who} (fill in {', '.join(left)} in the console)")
        self.stdout.write(f"{len(users)} users: {done} repaired now, {needed - done} not repaired, {unreadable} left.")
        if unreadable:
            raise CommandError("The platform reads no users of these tenants until somebody fills in what is left.")


@contextmanager
def _progress() -> Iterator[Callable[[int], object]]:
    with tqdm(disable=None, unit="item", leave=False, file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar.update


def shown(key: str) -> str:
    """Return a key for the terminal: redacted, and with control characters escaped."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in redact(key))
