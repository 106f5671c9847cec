"""Operators' commands need the policy of the web servers and what docs/reference.md adds to it, and nothing else."""

import io
import json

from django.core.management import call_command

from console import clock
from console.key_record import record_key
from console.provisioning.policies import POLICIES
from conversations.insight.identity import pseudonym_of
from tests.crawl.access.test_policies import Needed, allowed, beyond, needed
from tests.items import conversation
from tests.support.conversations.handoff.kit import WAITING, held_by, put

SCAN_STAFF = {("STAFF", "Scan", "")}
SCAN_COMPANIES = {("CONVERSATIONS", "Scan", "company-id-project-id-index")}
# What each command needs beyond the policy, in an order in which they can run.
ADDED: dict[str, set[Needed]] = {
    "staff create ben.mora --role agent --scope *": set(),
    "staff list": SCAN_STAFF,
    "staff role ben.mora auditor": set(),
    "staff scope ben.mora company:ci-aaa-001": set(),
    "staff reset ben.mora": set(),
    "staff disable ben.mora": set(),
    "staff enable ben.mora": set(),
    "staff confirm-scopes": SCAN_STAFF,
    "staff time-zone ben.mora Europe/London": set(),
    "staff sign-out ben.mora": set(),
    "companies discover": SCAN_COMPANIES,
    "companies list": set(),
    "seal_again": SCAN_STAFF,
    "seal_again --accept-key": SCAN_STAFF,
    "after_restore MESSAGES": set(),
    "after_restore STAFF --since": SCAN_STAFF,
    "load_conversations": {("CONVERSATIONS", "PutItem", "")},
}


def test_operators_need_what_the_reference_adds_to_the_policy_of_web(store, settings, tmp_path):
    put(store, **(WAITING | held_by("ben.mora")))
    pseudonym_of("staff", "ana")
    record_key()
    # So that there is something to seal again.
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another key of more than 32 characters"
    file = tmp_path / "new.jsonl"
    file.write_text(json.dumps(conversation(request_id="new")))
    last = {"after_restore STAFF --since": clock.to_iso(clock.now()), "load_conversations": str(file)}
    found: dict[str, set[Needed]] = {}
    keys: set[str] = set()
    for command in ADDED:
        arguments = [*command.split(), *([last[command]] if command in last else [])]
        with store.calls() as seen:
            call_command(*arguments, stdout=io.StringIO(), stderr=io.StringIO())
        found[command] = set(needed(seen)) - allowed(POLICIES["web"])
        keys |= beyond(seen, POLICIES["web"])
    assert found == ADDED
    assert keys == set()
