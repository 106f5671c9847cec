"""The accounts of one company that the pages of staff act on, one for each deed; and the requests of these pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pyotp
from django.urls import reverse

from console import clock, refs
from console.permissions import Staff
from console.staff import accounts, own, password_links, second_factor, session_list
from console.staff.authentication import SECOND_STEP
from console.staff.models import StaffAccount
from console.staff.passwords import hash_password

if TYPE_CHECKING:
    from tests.scenario import Scenario, Side
    from tests.scenario.items import Texts

Post = tuple[str, dict[str, Any]]
PASSWORD = "correct horse battery"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
# One account for each thing that can be done to one. All are agents of the side's company.
PURPOSES = ("changing", "leaving", "gone", "forgetful", "locked-out", "careful", "invited")


def account_items(side: str, company_id: str, link: password_links.PasswordLink, texts: Texts, at: datetime) -> list:
    """The accounts as stored: `gone` is disabled, `locked-out` and `careful` have a second factor, `invited` a link."""
    now = clock.to_iso(at)
    made: dict[str, dict[str, Any]] = {
        purpose: {
            "username": f"{side}.{purpose}",
            "password_hash": hash_password(PASSWORD),
            "display_name": texts(f"{purpose}.display_name"),
            "role": "agent",
            "scope": [company_id],
            "time_zone": "UTC",
            "disabled": False,
            "epoch": 1,
            "created_at": now,
            "updated_at": now,
            "signs_in_with": "password",
        }
        for purpose in PURPOSES
    }
    made["gone"] |= {"disabled": True, "disabled_at": now}
    made["invited"] |= {"password_link_hash": link.digest, "password_link_expires_at": link.expires_at}
    for purpose in ("locked-out", "careful"):
        username = made[purpose]["username"]
        made[purpose] |= {
            "totp_secret": second_factor.sealed_secret(username, SECRET),
            "recovery_codes": second_factor.hashed(username, ["k7m2p-x9qrt-4hvwd"]),
            "second_factor_at": now,
        }
    return list(made.values())


def session_item(username: str, user_agent: str, at: datetime) -> dict[str, Any]:
    """A session of an account in a browser of its own, whose cookie nobody has."""
    return {
        "session_id": session_id(username),
        "username": username,
        "epoch": 1,
        "created_at": clock.to_iso(at),
        "last_seen_at": clock.to_iso(at),
        "expires_at": clock.to_epoch(at + timedelta(hours=12)),
        "user_agent": user_agent,
        "method": "password",
    }


def session_id(username: str) -> str:
    """Where `session_item` is stored."""
    return f"session-of-{username}"


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """Every GET of signing in, of one's own account and of the staff."""
    directory = reverse("staff")
    return {
        "sign-in-code": [reverse("sign-in-code")],
        "oidc-start": [reverse("oidc-start")],
        "oidc-return": [reverse("oidc-return")],
        "oidc-sign-out": [reverse("oidc-sign-out")],
        "set-password": [reverse("set-password")],
        "account": [reverse("account")],
        **{
            name: [reverse(name)]
            for name in (
                "account-password",
                "account-second-factor",
                "account-second-factor-remove",
                "account-recovery-codes",
            )
        },
        "staff": [
            directory,
            *(f"{directory}?{urlencode(query)}" for query in ({"role": "agent"}, {"state": "disabled"})),
            f"{directory}?{urlencode({'name': side.username[:4]})}",
            f"{directory}?{urlencode({'open': side.username})}",
        ],
        "staff-new": [reverse("staff-new")],
        "staff-account": [_of("staff-account", name) for name in (side.username, _account(side, "locked-out"))],
        **{name: [_of(name, _account(side, purpose))] for name, purpose in ACCOUNT_ACTIONS.items()},
    }


# Which account serves which page that asks first.
ACCOUNT_ACTIONS = {
    "staff-change": "changing",
    "staff-disable": "leaving",
    "staff-enable": "gone",
    "staff-password": "forgetful",
    "staff-second-factor-remove": "locked-out",
}


def posts(side: Side, scenario: Scenario, by: StaffAccount) -> dict[str, list[Post]]:
    """Every POST of signing in, of one's own account and of the staff.

    Those of one's own second factor succeed in the order of the routes: set up, renewed codes, removed.
    """
    soon = clock.now() + timedelta(seconds=second_factor.STEP_SECONDS)
    pending = own.begin_set_up(Staff.of(by))
    careful, again = _account(side, "careful"), {"current_password": PASSWORD}
    begun = refs.seal(SECOND_STEP, careful, "1", str(clock.to_epoch(clock.now())))
    actions = {name: [_asked_first(name, _account(side, purpose))] for name, purpose in ACCOUNT_ACTIONS.items()}
    [(change_url, seen)] = actions.pop("staff-change")
    return {
        "sign-in": [(reverse("sign-in"), {"username": side.username, "password": PASSWORD})],
        "sign-in-code": [(reverse("sign-in-code"), {"pending": begun, "code": pyotp.TOTP(SECRET).at(soon)})],
        "sign-out": [(reverse("sign-out"), {})],
        "oidc-back-channel-logout": [(reverse("oidc-back-channel-logout"), {"logout_token": "a.b.c"})],
        "set-password": [
            (
                reverse("set-password"),
                {"code": side.password_code, "password": "a fine new passphrase", "repeated": "a fine new passphrase"},
            )
        ],
        "account-time-zone": [(reverse("account-time-zone"), {"time_zone": "Europe/London"})],
        "account-sessions-end": [
            (reverse("account-sessions-end"), {"session": _session(by.username), **again}),
            (reverse("account-sessions-end"), {"session": session_list.ALL, **again}),
        ],
        "account-second-factor": [
            (
                reverse("account-second-factor"),
                {"pending": pending.pending, "code": pyotp.TOTP(pending.key).at(soon), **again},
            )
        ],
        "account-recovery-codes": [(reverse("account-recovery-codes"), again)],
        "account-second-factor-remove": [(reverse("account-second-factor-remove"), again)],
        "account-password": [
            (
                reverse("account-password"),
                {**again, "new_password": "another fine passphrase", "repeated": "another fine passphrase"},
            )
        ],
        "staff-new": [(reverse("staff-new"), {"username": f"{side.username}.new", **_chosen(side)})],
        "staff-change": [(change_url, seen | _chosen(side))],
        **actions,
        "staff-sessions-end": [
            (_of("staff-sessions-end", side.username), {"session": _session(side.username)}),
            (_of("staff-sessions-end", side.username), {"session": session_list.ALL}),
        ],
    }


def _chosen(side: Side) -> dict[str, str]:
    """What an administrator chooses for an account."""
    return {
        "display_name": "Robin Lee",
        "role": "auditor",
        "other": f"company:{side.company_id}",
        "time_zone": "Europe/Paris",
    }


def _asked_first(name: str, username: str) -> Post:
    return _of(name, username), {"seen": str(accounts.get(username).updated_at)}


def _account(side: Side, purpose: str) -> str:
    return f"{side.username.partition('.')[0]}.{purpose}"


def _session(username: str) -> str:
    return refs.seal(session_list.KIND, username, session_id(username))


def _of(name: str, username: str) -> str:
    return reverse(name, args=[username])
