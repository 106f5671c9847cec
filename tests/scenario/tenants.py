"""The tenants of one company's side, one part for each thing that can be done; and the requests of their pages."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.permissions import Staff
from console.refs import seal, seal_data
from console.staff.models import StaffAccount
from tenants import settings
from tenants.keys import Channel, partition_of
from tenants.models import TenantMeta, TenantUser
from tenants.reading import form_digest
from tenants.settings_form import SettingsForm
from tenants.settings_text import default_text
from tenants.views.onboarding import STEPS
from tests.support.tenants.items import invitation, mapping, tenant, user

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Texts

Post = tuple[str, dict[str, Any]]
Item = dict[str, Any]
# What is appended to a company's id: the tenants that are being onboarded, by the step that their form is of.
ONBOARDED = ("two", "admin", "channels", "companies")
RELEASED, MOVED, UNSEEN = ("teams", "released"), ("teams", "moved"), ("slack", "UNSEEN7")


def tenant_ids(company_id: str) -> list[str]:
    """The ids of a side's tenants: the first is that of the company."""
    return [company_id, *(f"{company_id}-{purpose}" for purpose in ONBOARDED)]


def items(side: str, company_id: str, texts: Texts, at: datetime) -> dict[str, list[Item]]:
    """The side's tenants as stored, by table."""
    known = json.loads(default_text())
    stored = known | {"system_prompt_override": texts("settings.prompt"), "own_key": texts("settings.own_key")}
    mine: list[Item] = [
        tenant(company_id, name=texts("tenant.name"), settings=json.dumps(stored), own=texts("tenant.own")),
        user("admin", company_id, display_name=texts("admin.display_name"), email=f"admin@{side}.example"),
        user("changing", company_id, display_name=texts("changing.display_name"), email=f"changing@{side}.example"),
        user("leaving", company_id, display_name=texts("leaving.display_name"), memory_summary=texts("leaving.memory")),
        {"pk": partition_of(company_id), "sk": "USERS", "version": 3},
        *(mapping(kind, f"{channel_id}-{side}", company_id) for kind, channel_id in (RELEASED, MOVED)),
        mapping(UNSEEN[0], f"{UNSEEN[1]}{side.upper()}", company_id, gsi1pk=...),
        {"pk": f"CHANNEL#teams#released-{side}", "sk": "OWNER", "tenant_id": company_id},
        {"pk": partition_of(company_id), "sk": f"COMPANY#{company_id}", "linked_at": clock.to_iso(at)},
        invitation(f"{side}-code", company_id, email=f"invited@{side}.example", note=texts("invite.note")),
        {"pk": partition_of(company_id), "sk": "LICENCE#1", "note": texts("licence.note")},
        {
            "pk": partition_of(company_id),
            "sk": "MEMORY#leaving#session-1",
            "summary": texts("memory.summary"),
            "key_facts": [texts("memory.fact")],
            "created_at": clock.to_iso(at),
        },
    ]
    drafts = []
    for purpose in ONBOARDED:
        tenant_id = f"{company_id}-{purpose}"
        mine.append(tenant(tenant_id, name=texts(f"tenant.name.{purpose}"), status="onboarding"))
        typed = {
            "admin": ["first", f"first@{side}-shop.example", texts(f"{purpose}.admin"), "admin", [["slack", "U1"]]],
            "channels": [["teams", f"draft-{purpose}-{side}"]],
            "companies": [company_id],
        }
        drafts.append(
            {"pk": partition_of(tenant_id), "sk": "ONBOARDING", "typed": json.dumps(typed), "version": 1, "token": "t"}
        )
    saved = {
        "pk": partition_of(company_id),
        "sk": "SETTINGS",
        "settings": json.dumps(stored | {"own_key": texts("saved.own_key")}),
        "saved_by": f"{side}.colleague",
        "saved_at": clock.to_iso(at),
    }
    return {"TENANTS": mine, "CONSOLE": [*drafts, saved]}


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """Every GET of tenants."""
    tenant_id, name = side.company_id, side.name
    asked = [["teams", f"released-{name}"], ["slack", f"{UNSEEN[1]}{name.upper()}"]]
    second = f"{tenant_id}-two"
    return {
        "tenants": [
            reverse("tenants"),
            *(f"{reverse('tenants')}?{urlencode(query)}" for query in ({"status": "active"}, {"status": "junk"})),
            f"{reverse('tenants')}?{urlencode({'open': tenant_id})}",
        ],
        "tenant-new": [reverse("tenant-new")],
        "tenant": [_of("tenant", tenant_id), _of("tenant", second)],
        "tenant-onboarding": [_of("tenant-onboarding", second, step) for step in STEPS],
        "tenant-status": [
            _of("tenant-status", tenant_id, "suspend"),
            *(_of("tenant-status", second, step) for step in ("activate", "discard")),
        ],
        "tenant-user-change": [_of("tenant-user-change", tenant_id, _user(tenant_id, "changing"))],
        "tenant-user-remove": [_of("tenant-user-remove", tenant_id, _user(tenant_id, "leaving"))],
        "tenant-channel-move": [_of("tenant-channel-move", tenant_id, _channel(tenant_id, MOVED, f"-{name}"))],
        "tenant-channel-release": [_of("tenant-channel-release", tenant_id, _channel(tenant_id, RELEASED, f"-{name}"))],
        "tenant-company-unlink": [_of("tenant-company-unlink", tenant_id, _company(tenant_id))],
        "channels-resolve": [
            reverse("channels-resolve"),
            f"{reverse('channels-resolve')}?{urlencode({'asked': seal_data('resolve', asked)})}",
            f"{reverse('channels-resolve')}?{urlencode({'typed': seal_data('resolve-typed', {'carried': '07700'})})}",
        ],
        **{
            route: [_of(route, tenant_id)]
            for route in (
                "tenant-readiness",
                "tenant-history",
                "tenant-memories",
                "tenant-settings",
                "tenant-settings-change",
                "tenant-users",
                "tenant-user-new",
                "tenant-channels",
                "tenant-channel-new",
                "tenant-company-link",
            )
        },
    }


def references(side: Side) -> dict[str, list[str]]:
    """References to parts of the side's tenant, by the first words of their routes."""
    tenant_id = side.company_id
    return {
        "tenant-user": [_user(tenant_id, "changing")],
        "tenant-channel": [_channel(tenant_id, RELEASED, f"-{side.name}")],
        "tenant-company": [_company(tenant_id)],
    }


def posts(side: Side, by: StaffAccount) -> dict[str, list[Post]]:
    """Every POST of tenants, each about a part of its own."""
    tenant_id, name = side.company_id, side.name
    second = f"{tenant_id}-two"
    changing = TenantUser.get(partition_of(tenant_id), "USER#changing", consistent_read=True)
    leaving = TenantUser.get(partition_of(tenant_id), "USER#leaving", consistent_read=True)
    rows = {"TOTAL_FORMS": "3", "INITIAL_FORMS": "0"}
    identities = {f"identity-{key}": value for key, value in rows.items()}
    typed = {"email": f"new@{name}.example", "name": "Robin Lee", "role": "member", **identities}
    return {
        "tenant-new": [(reverse("tenant-new"), {"name": "A new one", "tenant_id": f"{name}-new", "token": "once"})],
        "tenant-onboarding": [
            (_of("tenant-onboarding", second, "settings"), _settings(second)),
            (_of("tenant-onboarding", second, "review"), {"version": "1"}),
            (
                _of("tenant-onboarding", f"{tenant_id}-admin", "admin"),
                {"version": "1", "user_id": "first", **typed},
            ),
            (
                _of("tenant-onboarding", f"{tenant_id}-channels", "channels"),
                {
                    "version": "1",
                    **{f"channel-{key}": value for key, value in rows.items()},
                    "channel-0-type": "teams",
                    "channel-0-id": f"typed-{name}",
                },
            ),
            (
                _of("tenant-onboarding", f"{tenant_id}-companies", "companies"),
                {"version": "1", "other": tenant_id, "shared": tenant_id},
            ),
        ],
        "tenant-settings-change": [(_of("tenant-settings-change", tenant_id), _settings(tenant_id))],
        "tenant-user-new": [(_of("tenant-user-new", tenant_id), {"user_id": "robin", **typed})],
        "tenant-user-change": [
            (
                _of("tenant-user-change", tenant_id, _user(tenant_id, "changing")),
                {**typed, "email": f"changed@{name}.example", "seen": form_digest(changing)},
            )
        ],
        "tenant-user-remove": [
            (_of("tenant-user-remove", tenant_id, _user(tenant_id, "leaving")), {"seen": form_digest(leaving)})
        ],
        "tenant-channel-new": [(_of("tenant-channel-new", tenant_id), {"type": "teams", "id": f"added-{name}"})],
        "tenant-channel-complete": [
            (_of("tenant-channel-complete", tenant_id, _channel(tenant_id, UNSEEN, name.upper())), {})
        ],
        "tenant-channel-move": [
            (_of("tenant-channel-move", tenant_id, _channel(tenant_id, MOVED, f"-{name}")), {"to": second})
        ],
        "tenant-channel-release": [
            (_of("tenant-channel-release", tenant_id, _channel(tenant_id, RELEASED, f"-{name}")), {})
        ],
        "tenant-company-link": [(_of("tenant-company-link", tenant_id), {"other": f"{tenant_id}-two"})],
        "tenant-company-unlink": [(_of("tenant-company-unlink", tenant_id, _company(tenant_id)), {})],
        "tenant-status": [
            (_of("tenant-status", tenant_id, "suspend"), {"reason": "the contract ended", "seen": "active"})
        ],
        "channels-resolve": [(reverse("channels-resolve"), {"carried": f"CHANNEL#teams#released-{name}"})],
    }


def _settings(tenant_id: str) -> dict[str, Any]:
    """The form as a browser would send it after one change."""
    stored = settings._stored(TenantMeta.get(partition_of(tenant_id), "META", consistent_read=True))
    form = SettingsForm(None, stored=stored)
    # No box is ticked: a field of several values is none that other tests can double.
    shown = {name: value for name, value in form.initial.items() if value and not isinstance(value, list)}
    return shown | {"messages_per_day": "1234", "seen": stored.seen}


def _user(tenant_id: str, user_id: str) -> str:
    return seal("user", partition_of(tenant_id), user_id)


def _channel(tenant_id: str, channel: tuple[str, str], suffix: str) -> str:
    return seal("channel", partition_of(tenant_id), Channel(channel[0], channel[1] + suffix).key)


def _company(tenant_id: str) -> str:
    return seal("company", partition_of(tenant_id), tenant_id)


def _of(route: str, *args: str) -> str:
    return reverse(route, args=args)
