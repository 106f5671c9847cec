"""`manage.py staff`: manage the accounts of the people who use the console."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError
from django.views.decorators.debug import sensitive_variables

from console.errors import ConsoleError, StoreUnavailable, TableMissing, Throttled
from console.permissions import ALL, Role, Scope
from console.staff import accounts, known_companies, passwords, second_factor, services
from console.staff.known_companies import MEANINGS
from console.staff.models import StaffAccount
from console.startup import ConsoleCommand
from console.trail.recording import COMMAND_LINE

ROLES = [role.value for role in Role]
HEADINGS = ("USERNAME", "ROLE", "STATE", "2ND FACTOR", "LAST SIGN-IN", "TIME ZONE", "SCOPE", "NAME")
SCOPE_HELP = (
    "company:ID and tenant:ID, separated by spaces or commas, or all (also *); none: an empty scope, which sees nothing"
)


class Command(ConsoleCommand):
    """Makes, lists, changes and disables accounts. Every change is in the account's trail, by actor "command-line"."""

    help = "Create, list, change and disable staff accounts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare one subcommand per action."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = _action(actions, "create", self._create, "create an account")
        create.add_argument("--role", required=True, choices=ROLES)
        create.add_argument("--scope", nargs="*", default=[], metavar="ID", help=SCOPE_HELP)
        create.add_argument("--name", default="", help="how the person is shown to colleagues (default: the username)")
        create.add_argument("--time-zone", default="UTC", metavar="ZONE", help="such as Europe/London (default: UTC)")
        _password_option(create)
        _action(actions, "list", self._list, "show all accounts", username=False)
        _action(
            actions,
            "disable",
            self._disable,
            "disable an account; its sessions end and what it holds returns to the queue",
        )
        _action(actions, "enable", self._enable, "let a disabled account sign in again")
        _password_option(_action(actions, "reset", self._reset, "set a new password; all sessions end"))
        role = _action(actions, "role", self._role, "change the role; all sessions end")
        role.add_argument("role", choices=ROLES)
        scope = _action(actions, "scope", self._scope, "replace the scope; all sessions end")
        scope.add_argument("ids", nargs="*", metavar="ID", help=SCOPE_HELP)
        confirm = _action(
            actions,
            "confirm-scopes",
            self._confirm_scopes,
            "say which ids of old scopes are companies and which are tenants; without a choice, list them",
            username=False,
        )
        for meaning in MEANINGS:
            confirm.add_argument(f"--{meaning}", nargs="+", default=[], metavar="ID", help=f"these ids mean {meaning}")
        confirm.add_argument("--username", default="", help="in this account's scope only (default: in every one)")
        zone = _action(actions, "time-zone", self._time_zone, "set the zone in which the person sees times")
        zone.add_argument("time_zone", metavar="ZONE")
        _action(actions, "sign-out", self._sign_out, "end all sessions of an account")
        _action(
            actions,
            "remove-second-factor",
            self._remove_second_factor,
            "remove the second factor, for example after a lost phone",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one action; report an error in one line, with exit status 1."""
        try:
            options["run"](options)
        except TableMissing as error:
            raise CommandError(f"{error} Create the tables first: manage.py tables create.") from error
        except (StoreUnavailable, Throttled) as error:
            raise CommandError(f"{error} Run staff list to see what was done.") from error
        except ConsoleError as error:
            raise CommandError(str(error)) from error

    @sensitive_variables()
    def _create(self, options: dict[str, Any]) -> None:
        password, was_generated = _password(options)
        account = services.create(
            options["username"],
            password,
            role=Role(options["role"]),
            scope=_entries(options["scope"]),
            display_name=options["name"],
            time_zone=options["time_zone"],
            actor=COMMAND_LINE,
        )
        self._say(account, "created")
        self._show_password(password, was_generated)

    def _list(self, options: dict[str, Any]) -> None:
        accounts = services.list_accounts()
        if not accounts:
            self.stdout.write(
                "There are no accounts yet. Create one: manage.py staff create USERNAME --role admin --scope all"
            )
            return
        rows: list[tuple[str, ...]] = [HEADINGS]
        rows += [_row(account) for account in accounts]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            self.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def _disable(self, options: dict[str, Any]) -> None:
        self._say(services.disable(options["username"], actor=COMMAND_LINE), "disabled; its sessions have ended")

    def _enable(self, options: dict[str, Any]) -> None:
        self._say(services.enable(options["username"], actor=COMMAND_LINE), "can sign in")

    @sensitive_variables()
    def _reset(self, options: dict[str, Any]) -> None:
        accounts.get(options["username"])
        password, was_generated = _password(options)
        account = services.reset_password(options["username"], password, actor=COMMAND_LINE)
        self._say(account, "has a new password; its sessions have ended")
        self._show_password(password, was_generated)

    def _role(self, options: dict[str, Any]) -> None:
        self._say(services.change(options["username"], role=Role(options["role"]), actor=COMMAND_LINE), "changed")

    def _scope(self, options: dict[str, Any]) -> None:
        self._say(services.change(options["username"], scope=_entries(options["ids"]), actor=COMMAND_LINE), "changed")

    def _confirm_scopes(self, options: dict[str, Any]) -> None:
        meant = {each: kinds for meaning, kinds in MEANINGS.items() for each in options[meaning]}
        if len(meant) < sum(len(options[meaning]) for meaning in MEANINGS):
            raise CommandError("An id was given twice. Choose one meaning for each.")
        found = [accounts.get(options["username"])] if options["username"] else services.list_accounts()
        old = {account.username: Scope.of(account.scope or []).unconfirmed for account in found}
        if not meant:
            self._list_unconfirmed(old)
            return
        changed = [account for account in found if old[account.username].intersection(meant)]
        for account in changed:
            self._say(services.confirm_scope(account, meant, actor=COMMAND_LINE), "confirmed")
        if not changed:
            self.stdout.write("No scope needs these ids confirmed. Nothing was changed.")

    def _list_unconfirmed(self, old: dict[str, frozenset[str]]) -> None:
        ids = sorted({each for those in old.values() for each in those})
        if not ids:
            self.stdout.write("Every scope says which ids are companies and which are tenants.")
            return
        for each in ids:
            there = " and ".join(f"a {kind.rstrip(':')}" for kind in known_companies.kinds_of(each)) or "nothing"
            whose = ", ".join(sorted(username for username, those in old.items() if each in those))
            self.stdout.write(f"{each}: there is {there} with this id, in the scope of {whose}")
        self.stdout.write(
            "Each id gives access to both until you choose: manage.py staff confirm-scopes --company ID … --tenant "
            "ID … --both ID … --neither ID …"
        )

    def _time_zone(self, options: dict[str, Any]) -> None:
        services.change(options["username"], time_zone=options["time_zone"], actor=COMMAND_LINE)
        self.stdout.write(f"{accounts.normal_username(options['username'])}: sees times in {options['time_zone']}.")

    def _sign_out(self, options: dict[str, Any]) -> None:
        services.end_sessions(options["username"], actor=COMMAND_LINE)
        self.stdout.write(f"{accounts.normal_username(options['username'])}: all sessions have ended.")

    def _remove_second_factor(self, options: dict[str, Any]) -> None:
        account = services.remove_second_factor(options["username"], actor=COMMAND_LINE)
        self._say(account, "signs in with the password alone; its sessions have ended")

    def _say(self, account: StaffAccount, what: str) -> None:
        self.stdout.write(f"{account.username}: {what} (role {account.role}, scope {_scope_label(account)}).")
        if not account.scope:
            self.stdout.write("Its scope is empty, so it sees nothing yet. Give it one: manage.py staff scope.")

    @sensitive_variables()
    def _show_password(self, password: str, was_generated: bool) -> None:
        if was_generated:
            self.stdout.write(f"Password, shown only this once: {password}")


def _action(
    actions: Any, name: str, run: Callable[[dict[str, Any]], None], help_text: str, *, username: bool = True
) -> ArgumentParser:
    parser: ArgumentParser = actions.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(run=run)
    if username:
        parser.add_argument("username", metavar="USERNAME")
    return parser


def _password_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password from the first line of standard input instead of making one up",
    )


@sensitive_variables()
def _password(options: dict[str, Any]) -> tuple[str, bool]:
    """Return the password to set, and whether it was generated. Never an argument: every user of a host sees those."""
    if not options["password_stdin"]:
        return passwords.generate(), True
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise CommandError("There is no password on standard input.")
    return password, False


def _entries(given: list[str]) -> list[str]:
    """Parse the entries of a scope. Only here, where an operator types it and no id is meant, "all" is everything."""
    typed = [each.strip() for text in given for each in text.split(",") if each.strip()]
    return [ALL if each.lower() == "all" else each for each in typed]


def _scope_label(account: StaffAccount) -> str:
    ids = account.scope or []
    return "all" if ALL in ids else ", ".join(ids) or "empty"


def _row(account: StaffAccount) -> tuple[str, ...]:
    return (
        account.username,
        account.role,
        "disabled" if account.disabled else "enabled",
        "on" if second_factor.is_on(account) else "off",
        (account.last_sign_in_at or "never")[:16].replace("T", " "),
        account.time_zone or "UTC",
        _scope_label(account),
        account.display_name or "",
    )
