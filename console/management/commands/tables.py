"""`manage.py tables check | create | policy`: compare tables with the schemas, create them, print IAM policies."""

import json
from argparse import ArgumentParser
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from tqdm import tqdm

from console.errors import ConsoleError, NotConfigured
from console.key_record import record_key
from console.provisioning.check import Difference, TableReport, inspect
from console.provisioning.cloudformation import template
from console.provisioning.create import Creation, create, missing
from console.provisioning.policies import POLICIES, document
from console.schema.tables import TABLES
from console.startup import ConsoleCommand

# The characters that IAM allows in a managed policy, and in all inline policies of a role.
MANAGED_POLICY_SIZE, INLINE_POLICY_SIZE = 6_144, 10_240


class Command(ConsoleCommand):
    """Compares and creates. Never deletes, and never changes an existing table of another service."""

    help = "Check this environment's tables, create the console's own, or print the IAM policy of a process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command line."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        check = actions.add_parser(
            "check",
            help="compare the tables with what the console needs; exits with 1 if something required is missing",
        )
        check.add_argument("--cloudformation", action="store_true", help="print a template of the changes")
        create = actions.add_parser(
            "create", help="create the console's own tables and what they lack; may be run again"
        )
        for action, words in ((check, ""), (create, ", which may be other services'")):
            only = f"these tables only, such as AUDIT{words}"
            action.add_argument("--only", nargs="+", metavar="KEY", default=[], help=only)
            action.add_argument("--json", action="store_true", help="print the reports as JSON")
        policy = actions.add_parser("policy", help="print the IAM policy of a process")
        policy.add_argument(
            "--for", dest="process", choices=tuple(POLICIES), default="web", help="the process (default: %(default)s)"
        )
        policy.add_argument("--account", default="*", metavar="ID", help="the tables' AWS account (default: any)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one action. Fails if something required is missing (check) or could not be created (create)."""
        keys = tuple(key.upper() for key in options.get("only", ()))
        if unknown := sorted(set(keys) - set(TABLES)):
            raise CommandError(f"Unknown tables: {', '.join(unknown)}. Known tables: {', '.join(TABLES)}.")
        if options.get("cloudformation") and options["json"]:
            raise CommandError("Use --cloudformation without --json.")
        # To standard error, so that standard output is one document.
        self.stderr.write(f"Environment {settings.CONSOLE_ENV}, region {settings.AWS_REGION}, endpoint {_endpoint()}.")
        if options["action"] == "policy":
            policy = document(options["process"], options["account"])
            self.stdout.write(json.dumps(policy, indent=2))
            # IAM does not count white space.
            size = len("".join(json.dumps(policy).split()))
            if size > MANAGED_POLICY_SIZE:
                self.stderr.write(
                    f"{size:,} characters: too long for a managed policy ({MANAGED_POLICY_SIZE:,}). Add it to the role "
                    f"as an inline policy (up to {INLINE_POLICY_SIZE:,} a role), or run each part with its own role."
                )
            return
        try:
            (self._check if options["action"] == "check" else self._create)(keys, options)
        except ConsoleError as error:
            raise CommandError(_text(error)) from error

    def _check(self, keys: tuple[str, ...], options: dict[str, Any]) -> None:
        reports = inspect(keys)
        if options["cloudformation"]:
            made, left_out = template(reports, keys)
            self.stdout.write(json.dumps(made, indent=2))
            for each in left_out:
                self.stderr.write(f"Left out: {each}")
            if not keys and (absent := [each.key for each in reports if not each.ours and each.state == "absent"]):
                self.stderr.write(f"Left out, as they do not exist: {', '.join(absent)}. Name those to create: --only")
            return
        self._show(reports, options)
        if broken := [report.key for report in reports if report.broken]:
            raise CommandError(f"Something required is missing or wrong: {', '.join(broken)}.")

    def _create(self, keys: tuple[str, ...], options: dict[str, Any]) -> None:
        failed = self._create_each(missing(inspect(keys), keys))
        reports = inspect(keys)
        if any(report.key == "CONSOLE" and report.state != "absent" for report in reports):
            record_key()
        self._show(reports, options)
        if failed:
            raise CommandError(f"{len(failed)} could not be created: {'; '.join(failed)}")

    def _create_each(self, wanted: list[Creation]) -> list[str]:
        """Create one after the other, continuing after a failure; return what failed, and why."""
        failed: list[str] = []
        # Standard error, so that --json writes one document to standard output; no bar without a terminal.
        with tqdm(wanted, disable=None, unit="change", leave=False) as progress:
            for each in progress:
                progress.set_description(each.title)
                try:
                    create(each, progress.set_postfix_str)
                except ConsoleError as error:
                    failed.append(f"{each.title}: {_text(error)}")
                else:
                    progress.set_postfix_str("")
                    self.stderr.write(f"Created {each.title}")
        return failed

    def _show(self, reports: list[TableReport], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps([asdict(report) | {"ours": report.ours} for report in reports], indent=2))
            return
        for report in reports:
            self.stdout.write(f"{report.key}  {report.name}  {report.state}")
            for difference in report.differences:
                self.stdout.write(f"  {_line(report, difference)}")
        for owner, ours in (("The console's own tables", True), ("Other services' tables", False)):
            counts = Counter(each.sign for report in reports if report.ours is ours for each in report.differences)
            if any(report.ours is ours for report in reports):
                self.stdout.write(
                    f"{owner}: {counts['+']} to create, {counts['~']} to change, {counts['!']} to change by hand."
                )
        if any(each.applicable for report in reports if report.ours for each in report.differences):
            self.stdout.write("Create what the console's own tables lack: manage.py tables create")
        others = [
            report for report in reports if not report.ours and any(each.applicable for each in report.differences)
        ]
        if absent := [report.key for report in others if report.state == "absent"]:
            needed = [report.key for report in others if report.key in absent and report.broken]
            need = f"Of these, the console needs {' and '.join(needed)}. " if needed else ""
            self.stdout.write(
                f"Other services create {', '.join(absent)}. {need}Print a template of those that you name: "
                f"manage.py tables check --cloudformation --only KEY … Where no other service does, create those that "
                f"you need: manage.py tables create --only {' '.join(absent)}"
            )
        if changed := [report.key for report in others if report.state != "absent"]:
            self.stdout.write(
                f"Other services own {', '.join(changed)}. Print the changes for their owners: "
                "manage.py tables check --cloudformation"
            )


def _line(report: TableReport, difference: Difference) -> str:
    """Format a difference: `+ index conversation-id-index: conversation_id (S); ALL (found: absent; optional)`."""
    owner = "" if report.ours else f", owned by {report.schema}"
    return (
        f"{difference.sign} {difference.what}: {difference.wanted} "
        f"(found: {difference.found}; {difference.severity}{owner})"
    )


def _text(error: ConsoleError) -> str:
    return error.detail if isinstance(error, NotConfigured) else str(error) or type(error).__name__


def _endpoint() -> str:
    return settings.DYNAMODB_ENDPOINT or "of AWS"
