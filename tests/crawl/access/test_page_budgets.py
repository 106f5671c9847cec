"""What every page costs: the calls of DynamoDB that its dearest address makes for an administrator, one table.

Each is asked twice, in a store with two full companies and 40 more that have somebody waiting: once with nothing
remembered by the worker, and once just after. A page that costs more fails here, and one that costs far less.
"""

from datetime import timedelta

import pytest
from django.test import Client

from console import caching, clock
from console.store import presence
from conversations.handoff.stored import waiting_in
from tests.answers import body_of
from tests.crawl.access.routes import ROUTES
from tests.items import conversation
from tests.people import signed_in
from tests.queue import filled
from tests.scenario import build, urls

# Route: calls with nothing remembered, and just after.
CALLS = {
    "sign-in-code": (0, 0),
    "oidc-start": (0, 0),
    "oidc-return": (0, 0),
    "oidc-sign-out": (0, 0),
    "set-password": (0, 0),
    "account": (4, 3),
    "account-password": (2, 2),
    "account-second-factor": (2, 2),
    "account-second-factor-remove": (2, 2),
    "account-recovery-codes": (2, 2),
    "staff": (10, 7),
    "staff-new": (5, 3),
    "staff-account": (8, 5),
    "staff-change": (6, 4),
    "staff-disable": (2, 2),
    "staff-enable": (2, 2),
    "staff-password": (2, 2),
    "staff-second-factor-remove": (2, 2),
    "home": (1, 1),
    "help": (1, 1),
    "search": (27, 24),
    "sign-in": (1, 1),
    "queue": (23, 19),
    "queue-count": (7, 4),
    "queue-waiting-times": (56, 2),
    "conversations": (11, 5),
    "conversations-export": (8, 4),
    "conversation-find": (6, 3),
    "company": (9, 3),
    "project": (9, 4),
    "recipient": (7, 4),
    "recipient-elsewhere": (22, 22),
    "replies": (5, 2),
    "conversation": (11, 7),
    "conversation-updates": (7, 4),
    "conversation-last-message": (1, 1),
    "conversation-step": (5, 4),
    "conversation-raw": (3, 3),
    "conversation-timeline": (17, 12),
    "trail": (9, 8),
    # One small Query for what the console wrote itself, one for each type of the middleware's, and one for the names of
    # each conversation's recipient that the worker does not remember: 32 of them here, side by side.
    "audit": (49, 12),
    "audit-find": (3, 2),
    "audit-entry": (4, 4),
    "audit-export": (5, 2),
    "audit-chart": (14, 11),
    "access-review": (14, 10),
    "access-log": (11, 10),
    "access-log-person": (3, 2),
    "access-log-conversation": (11, 10),
    "access-log-recipient": (14, 13),
    "events": (2, 1),
    "event": (5, 4),
    "events-of-conversation": (4, 3),
    "tenants": (3, 2),
    "tenant-new": (1, 1),
    "tenant": (14, 13),
    "tenant-onboarding": (13, 11),
    "tenant-status": (4, 3),
    "tenant-user-change": (4, 3),
    "tenant-user-remove": (4, 3),
    "tenant-channel-move": (5, 4),
    "tenant-channel-release": (4, 3),
    "tenant-company-unlink": (4, 3),
    "channels-resolve": (11, 9),
    "tenant-readiness": (14, 13),
    "tenant-history": (8, 7),
    "tenant-memories": (5, 4),
    "tenant-settings": (4, 3),
    "tenant-settings-change": (5, 4),
    "tenant-users": (5, 4),
    "tenant-user-new": (4, 3),
    "tenant-channels": (5, 4),
    "tenant-channel-new": (4, 3),
    "tenant-company-link": (7, 5),
    "tenant-conversations": (5, 4),
    "tenant-conversation": (4, 4),
    "tenant-conversation-clear": (3, 3),
    "store": (4, 2),
    "store-find": (4, 2),
    "store-list": (30, 29),
    "store-record": (7, 6),
    "store-action": (5, 4),
    "queue-to-approve": (7, 3),
    "messages-not-placed": (2, 2),
    "saved-replies": (4, 3),
    "saved-reply-new": (3, 3),
    "saved-reply-change": (3, 3),
    "saved-reply-delete": (3, 3),
    "conversation-saved-replies": (5, 5),
    "saved-views": (5, 3),
    "saved-view-new": (3, 2),
    "saved-view-change": (4, 3),
    "insight": (7, 3),
    "insight-report": (14, 12),
    "insight-summary": (12, 9),
    "insight-behind": (14, 5),
    "insight-behind-csv": (14, 5),
    "insight-csv": (7, 3),
    "team": (51, 42),
    "service-levels": (5, 5),
    "budget": (3, 3),
    "agent-groups": (7, 2),
    "notifications": (7, 7),
    "destination-new": (2, 2),
    "destination": (5, 5),
    "destination-change": (3, 3),
    "notices": (3, 2),
    "notices-moved": (2, 1),
    "conversation-updates-moved": (2, 1),
    "conversation-give": (7, 2),
    "system": (53, 47),
}


def waiting(number: int) -> dict:
    """Somebody who waits in another company."""
    company_id = f"ci-crowd-{number:03}"
    return conversation(
        company_id=company_id,
        request_id=f"crowd-{number}",
        hand_off_to_human=True,
        hand_off_requested_at=clock.to_iso(clock.now() - timedelta(minutes=number)),
        gsi_hand_off_queue=waiting_in(company_id),
    )


@pytest.fixture
def crowded(store):
    scenario = build(store)
    filled(store)
    store.put_all("CONVERSATIONS", [waiting(number) for number in range(40)])
    store.put_all("CONSOLE", [{"pk": "COMPANIES", "sk": f"ci-crowd-{n:03}", "name": f"Crowd {n}"} for n in range(40)])
    return scenario


def cost(store, client: Client, url: str) -> int:
    """The calls of one page."""
    with store.calls() as seen:
        body_of(client.get(url))
    return len(seen)


def is_near(made: int, most: int) -> bool:
    """Whether a figure is kept, and not far above. Reads in parallel may each ask whether the same index is there."""
    return most - max(1, most // 5) <= made <= most


def test_each_page_costs_what_the_table_says(store, crowded):
    client = signed_in(crowded.people["admin"])
    found = {}
    for route, addresses in urls(crowded.ours, crowded, crowded.people["admin"]).items():
        costs = []
        for url in addresses:
            caching.invalidate_all()
            presence.forget()
            costs.append((cost(store, client, url), cost(store, client, url)))
        found[route] = tuple(map(max, zip(*costs, strict=True)))
    assert {route: costs for route, costs in found.items() if not all(map(is_near, costs, CALLS[route]))} == {}
    assert set(CALLS) == set(found) == {route.name for route in ROUTES if "GET" in route.accepts}
