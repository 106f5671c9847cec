"""`manage.py tables check | plan | apply | policy`: this environment's tables against what the schemas ask."""

import json
from argparse import ArgumentParser
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from console.errors import ConsoleError, NotConfigured
from console.schema import create as provisioning
from console.schema.cloudformation import template
from console.schema.create import Difference, Step, TableReport
from console.schema.policies import POLICIES, document
from console.schema.tables import TABLES


class Command(BaseCommand):
    """Compares, says, creates what is missing; never deletes, and touches tables of others only with --foreign."""

    help = (
        "check: is what is required there? (exit code 1 if not). plan: what apply would do. "
        "apply: create and change it. Nothing is ever deleted. policy: print what a process needs from IAM."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command line."""
        parser.add_argument("action", choices=("check", "plan", "apply", "policy"))
        parser.add_argument("--foreign", action="store_true", help="also change tables that other services own")
        parser.add_argument("--only", nargs="+", metavar="KEY", default=[], help="these tables only, such as AUDIT")
        parser.add_argument("--cloudformation", action="store_true", help="plan: print a CloudFormation template")
        parser.add_argument("--json", action="store_true", help="print the reports as JSON")
        parser.add_argument(
            "--for", dest="process", choices=tuple(POLICIES), default="web", help="policy: of which one"
        )
        parser.add_argument("--account", default="*", metavar="ID", help="policy: the AWS account of the tables")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one of the four. Fails when something required is missing (check) or a change failed (apply)."""
        keys = tuple(key.upper() for key in options["only"])
        if unknown := sorted(set(keys) - set(TABLES)):
            raise CommandError(f"Unknown tables: {', '.join(unknown)}. Known are {', '.join(TABLES)}.")
        if options["cloudformation"] and (options["action"] != "plan" or options["json"]):
            raise CommandError("--cloudformation goes with plan, and without --json.")
        # Standard error, so that a document on standard output stays one.
        self.stderr.write(f"Environment {settings.CONSOLE_ENV}, region {settings.AWS_REGION}, endpoint {_endpoint()}.")
        if options["action"] == "policy":
            self.stdout.write(json.dumps(document(options["process"], options["account"]), indent=2))
            return
        actions = {"check": self._check, "plan": self._plan, "apply": self._apply}
        try:
            actions[options["action"]](keys, options)
        except ConsoleError as error:
            raise CommandError(_text(error)) from error

    def _check(self, keys: tuple[str, ...], options: dict[str, Any]) -> None:
        reports = provisioning.inspect(keys)
        self._show(reports, options)
        if broken := [report.key for report in reports if report.broken]:
            raise CommandError(f"Something required is missing or wrong: {', '.join(broken)}.")

    def _plan(self, keys: tuple[str, ...], options: dict[str, Any]) -> None:
        reports = provisioning.plan(keys)
        if options["cloudformation"]:
            self.stdout.write(json.dumps(template(reports), indent=2))
        else:
            self._show(reports, options)

    def _apply(self, keys: tuple[str, ...], options: dict[str, Any]) -> None:
        reports = provisioning.plan(keys)
        if not options["json"]:
            self._show(reports, options)
        failed = self._apply_steps(provisioning.steps(reports, foreign=options["foreign"]))
        if options["json"]:
            self._show(provisioning.inspect(keys), options)
        if failed:
            raise CommandError(f"{len(failed)} of the changes failed: {'; '.join(failed)}")

    def _apply_steps(self, steps: list[Step]) -> list[str]:
        """Apply one after the other, going on after a failure; what failed, and why."""
        failed: list[str] = []
        # Standard error, so that --json leaves one document on standard output; no bar where nobody watches.
        with tqdm(steps, disable=None, unit="change", leave=False) as progress:
            for step in progress:
                progress.set_description(step.title)
                try:
                    provisioning.apply(step, progress.set_postfix_str)
                except ConsoleError as error:
                    failed.append(f"{step.title}: {_text(error)}")
                else:
                    progress.set_postfix_str("")
                    self.stderr.write(f"applied {step.title}")
        return failed

    def _show(self, reports: list[TableReport], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps([asdict(report) | {"ours": report.ours} for report in reports], indent=2))
            return
        for report in reports:
            self.stdout.write(f"{report.key}  {report.name}  {report.state}")
            for difference in report.differences:
                self.stdout.write(f"  {_line(report, difference)}")
        counts = Counter(each.sign for report in reports for each in report.differences)
        waiting = [each for each in reports if not each.ours and any(one.applicable for one in each.differences)]
        self.stdout.write(
            f"{counts['+']} to create, {counts['~']} to change, {counts['!']} that cannot be applied from here."
        )
        if waiting and not options["foreign"]:
            self.stdout.write(
                f"Other services own these; add --foreign to change them: {', '.join(each.key for each in waiting)}."
            )


def _line(report: TableReport, difference: Difference) -> str:
    """`+ index conversation-id-index: conversation_id (S); ALL (found: absent; optional)`."""
    owner = "" if report.ours else f", owned by {report.schema}"
    return (
        f"{difference.sign} {difference.what}: {difference.wanted} "
        f"(found: {difference.found}; {difference.severity}{owner})"
    )


def _text(error: ConsoleError) -> str:
    return error.detail if isinstance(error, NotConfigured) else str(error) or type(error).__name__


def _endpoint() -> str:
    return settings.DYNAMODB_ENDPOINT or "of AWS"
