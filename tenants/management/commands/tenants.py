"""`manage.py tenants guard-channels | repair-users | export | import`: what others left out; tenants in files."""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from console import clock
from console.errors import ConsoleError
from tenants import guarding, repairing
from tenants.keys import Channel
from tenants.transfer import exporting
from tenants.transfer.checking import shown
from tenants.transfer.document import MAX_BYTES, Given, made, read
from tenants.transfer.importing import carry_out
from tenants.transfer.planning import Fate, Plan, plan_of

OUT = "-"


class Command(BaseCommand):
    """See the modules `tenants.guarding`, `tenants.repairing` and `tenants.transfer`."""

    help = "Guard channels that other services mapped, repair users that the platform cannot read; tenants in files."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The subcommands."""
        commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        guard = commands.add_parser(
            "guard-channels",
            help="guard the channels that other services mapped, and report clashes; reads the whole tenants table",
        )
        guard.add_argument("--dry-run", action="store_true", help="write nothing, say what would be done")
        users = commands.add_parser(
            "repair-users",
            help="add to users what the tenant platform needs to read them; reads the whole tenants table",
        )
        users.add_argument("--dry-run", action="store_true", help="write nothing, say what would be done")
        out = commands.add_parser("export", help="write tenants to a file; it holds personal data")
        out.add_argument("file", metavar="FILE", help="a new file; - for standard output")
        out.add_argument(
            "--tenant", action="append", default=[], metavar="ID", help="this tenant; again for others (default: all)"
        )
        out.add_argument("--overwrite", action="store_true", help="replace a file that is there")
        load = commands.add_parser("import", help="add from a file of tenants export what is not there yet")
        load.add_argument("file", metavar="FILE", type=Path, help="what tenants export wrote")
        load.add_argument("--dry-run", action="store_true", help="write nothing, print the plan")
        load.add_argument("--yes", action="store_true", help="write without asking")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one of them; what goes wrong is said without a traceback, with exit status 1."""
        commands: dict[str, Callable[[dict[str, Any]], None]] = {
            "guard-channels": self._guard,
            "repair-users": self._repair,
            "export": self._export,
            "import": self._import,
        }
        try:
            commands[options["command"]](options)
        except ConsoleError as error:
            raise CommandError(str(error) or type(error).__name__) from error
        except OSError as error:
            raise CommandError(f"{options.get('file', OUT)}: {error.strerror or type(error).__name__}.") from error

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
                self._tell("changed meanwhile, run it again", channel, tenant_id)
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
                refused = "would repair" if options["dry_run"] else "changed meanwhile, run it again"
                what = "repaired" if repaired else refused
                self.stdout.write(f"{what}: {who} ({', '.join(given)})")
            if left:
                unreadable += 1
                self.stdout.write(f"CANNOT BE READ by the platform: {who} (fill in {', '.join(left)} in the console)")
        self.stdout.write(f"{len(users)} users: {done} repaired now, {needed - done} not repaired, {unreadable} left.")
        if unreadable:
            raise CommandError("The platform reads no users of these tenants until somebody fills in what is left.")

    # --- export -------------------------------------------------------------------------------------------------------

    def _export(self, options: dict[str, Any]) -> None:
        if options["file"] == OUT:
            self.stdout.write(self._document(options["tenant"]), ending="")
            return
        with exporting.private_file(Path(options["file"]), overwrite=options["overwrite"]) as file:
            file.write(self._document(options["tenant"]))

    def _document(self, tenant_ids: Iterable[str]) -> str:
        """The text of the document, on record and told about: what is left is to give it out."""
        at, others = clock.now(), 0
        with _progress() as advance:
            if tenant_ids:
                tenants = exporting.some(dict.fromkeys(tenant_ids), advance)
            else:
                tenants, others = exporting.everything(advance)
        text = made(tenants, at)
        exporting.record_export(tenants)
        for problem in exporting.problems_in(tenants):
            self.stderr.write(f"An import will refuse this: {problem}")
        if others:
            self.stderr.write(f"{others} items are of no tenant, the guards of channels among them: left out.")
        items = sum(map(len, tenants.values()))
        self.stderr.write(f"{len(tenants)} tenants with {items} items. They hold personal data: keep them as such.")
        return text

    # --- import -------------------------------------------------------------------------------------------------------

    def _import(self, options: dict[str, Any]) -> None:
        with options["file"].open("rb") as file:
            tenants = read(file.read(MAX_BYTES + 1))
        plans = [plan_of(given) for given in tenants]
        for plan in plans:
            self._show(plan)
        counts = Counter(line.fate for plan in plans for line in plan.lines)
        self.stdout.write(", ".join(f"{counts[fate]} {fate.value}" for fate in Fate) + ".")
        if counts[Fate.REFUSED]:
            raise CommandError("Nothing is written: what is refused has to be settled first, here or in the file.")
        wanted = [(plan, given) for plan, given in zip(plans, tenants, strict=True) if plan.writes]
        if options["dry_run"]:
            return
        if not wanted:
            self.stdout.write("There is nothing to write.")
        elif options["yes"] or _agreed():
            self._carry_out(wanted)
        else:
            raise CommandError("Nothing was written.")

    def _show(self, plan: Plan) -> None:
        self.stdout.write(f"{plan.tenant_id}: {plan.state.value}")
        for line in plan.lines:
            why = f" ({line.why})" if line.why else ""
            self.stdout.write(f"  {line.fate.value:<12}  {shown(line.sort_key)}{why}")

    def _carry_out(self, wanted: list[tuple[Plan, Given]]) -> None:
        for plan, given in wanted:
            parts = carry_out(plan, given)
            words = "one transaction" if parts == 1 else f"{parts} transactions"
            self.stdout.write(f"{plan.tenant_id}: {len(plan.of(Fate.ADD))} items written in {words}.")


@contextmanager
def _progress() -> Iterator[Callable[[int], object]]:
    with tqdm(disable=None, unit="item", leave=False, file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar.update


def _agreed() -> bool:
    try:
        return input("Write this? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
