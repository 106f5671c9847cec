"""The partitions of CONSOLE that each process may name: what its code can reach, except for what only pages do there.

`tests/crawl/access/test_policies.py` compares them with the calls that processes make.
"""

import ast
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from console.provisioning.policies import POLICIES, document
from conversations.work.parts import PARTS
from tests.documentation import ROOT

# Where the partitions are made: an example of each key.
PARTITIONS: dict[str, tuple[str, ...]] = {
    "console.audit.review.plan": ("AUDIT_BACKFILL",),
    "console.key_record": ("SECRET_KEY",),
    "console.staff.colleagues": ("AWAY",),
    "console.staff.oidc.admission": ("OIDC#subject",),
    "console.staff.throttling": ("THROTTLE#account#abc",),
    "conversations.attention.levels": ("LEVELS#acme",),
    "conversations.attention.locks": ("LOCK#abc",),
    "conversations.attention.timers": ("DUE#2026-01-31T09:00",),
    "conversations.companies": ("COMPANIES", "COMPANIES_REVISION"),
    "conversations.groups": ("GROUPS#acme",),
    "conversations.handoff.partitions": ("QUEUE", "QUEUE_REVISION"),
    "conversations.workers.lease": (
        *("INDEXER", "insight", "insight-chats", "insight-middleware", "insight-tenants", "insight-threads"),
        *("notifications", "queue", "reconcile", "sender", "stage", "sweep", "timers"),
    ),
    "conversations.insight.budgets": ("BUDGETS", "BUDGETS_REACHED#2026-01"),
    "conversations.insight.identity": ("INSIGHT", "INSIGHT_LINK#abc"),
    "conversations.notices": ("TOLD#ana",),
    "conversations.notifications.deliveries": (
        *("NOTIFICATIONS#1", "NOTIFICATIONS_DUE", "NOTIFICATIONS_FAILED#1", "NOTIFIED#1"),
    ),
    "conversations.notifications.destinations": ("DESTINATIONS", "DESTINATIONS#acme"),
    "conversations.queue.presence": ("PRESENCE#abc", "SEEN#ana"),
    "conversations.receiving.expired": ("STAGE_EXPIRED#abc",),
    "conversations.team.saved_replies.service": ("SAVED_REPLIES#all",),
    "conversations.lists.saved_views.records": ("VIEWS#SHARED", "VIEWS#ana"),
    "conversations.providers.credentials": ("SECRET-PROBLEMS",),
    "tenants.console_items": ("TENANT#acme",),
}
# They read or write CONSOLE by keys of the modules above.
BY_KEYS_OF_OTHERS = {
    *("console.health", "console.store.models", "console.trail.recording", "console.management.commands.tables"),
    *("conversations.timers.looking", "conversations.workers.beats", "conversations.queue.reading"),
    *("conversations.receiving.holding", "conversations.lists.saved_views.service", "conversations.sending.section"),
    *("conversations.management.commands.index_handoffs", "conversations.management.commands.insight"),
    *("console.provisioning.policies", "console.schema.tables"),
}
# What a process begins with: its own code, and what other apps registered for it.
_REFRESHING = ("conversations.receiving.approvals", "conversations.receiving.to_place")
BEGINS_WITH = {
    "indexer": ("conversations.indexer.worker", *_REFRESHING),
    "timers": ("conversations.timers.looking", *_REFRESHING),
    "insight": (
        *("conversations.insight.rolling", "conversations.insight.walking", "conversations.insight.announcing"),
        "conversations.workers.leased",
    ),
    "receiver": ("conversations.receiving.worker", "conversations.receiving.stage"),
    "sender": ("conversations.sending.worker",),
    "notifier": ("conversations.notifications.notifier",),
    "reconcile": (
        "conversations.handoff.reconciliation",
        "conversations.handoff.service",
        "conversations.workers.lease",
    ),
}
# Functions of pages in modules that background work imports too.
PAGES_ALONE = {"AWAY", "THROTTLE#account#abc"}
SENDER_ALONE, INSIGHT_ALONE = {"SECRET-PROBLEMS"}, {"BUDGETS", "BUDGETS_REACHED#2026-01"}
# Reached through the frame of all workers by those that change no conversation.
HANDLING_ALONE = {
    *("QUEUE", "QUEUE_REVISION", "LEVELS#acme", "GROUPS#acme", "TOLD#ana", "DUE#2026-01-31T09:00", "LOCK#abc"),
    "STAGE_EXPIRED#abc",
}
FACTS_ALONE = {"INSIGHT", "INSIGHT_LINK#abc"}


@cache
def modules() -> dict[str, Path]:
    paths = [path for app in ("console", "conversations", "tenants") for path in (ROOT / app).rglob("*.py")]
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def imported(module: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found & set(modules())


def reachable(process: str) -> set[str]:
    """The partitions in the modules that a process imports, also in functions, and what these import."""
    seen: set[str] = set()
    waiting = set(BEGINS_WITH[process])
    while waiting:
        module = waiting.pop()
        seen.add(module)
        waiting |= imported(module) - seen
    return {key for module in seen for key in PARTITIONS.get(module, ())}


def patterns(process: str) -> list[str]:
    [found] = [each for each in document(process, "1")["Statement"] if each["Sid"] == "Console"]
    keys: list[str] = found["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    return keys


def allowed(process: str) -> set[str]:
    """The partitions that IAM lets a process name."""
    known = {key for keys in PARTITIONS.values() for key in keys}
    return {key for key in known if any(fnmatchcase(key, pattern) for pattern in patterns(process))}


def test_every_module_with_items_in_console_says_which_partitions_they_are_in():
    named = {name for name, path in modules().items() if '"CONSOLE"' in path.read_text()}
    assert named - set(PARTITIONS) - BY_KEYS_OF_OTHERS == set()
    assert set(PARTITIONS) <= set(modules())


@pytest.mark.parametrize("process", BEGINS_WITH)
def test_a_process_may_name_the_partitions_that_its_code_reaches_and_no_others(process):
    alone = SENDER_ALONE if process != "sender" else set()
    alone |= INSIGHT_ALONE if process != "insight" else set()
    alone |= HANDLING_ALONE if process in ("insight", "notifier") else set()
    alone |= FACTS_ALONE if process == "notifier" else set()
    assert reachable(process) - allowed(process) <= PAGES_ALONE | alone
    assert allowed(process) - reachable(process) == set()


def test_the_web_servers_may_name_all_partitions_and_the_work_those_of_its_parts_and_the_key():
    assert allowed("web") == {key for keys in PARTITIONS.values() for key in keys}
    assert allowed("work") == set().union(*map(allowed, BEGINS_WITH)) | {"SECRET_KEY"}
    assert set(BEGINS_WITH) == set(PARTS) == set(POLICIES) - {"web", "work"}


def test_no_pattern_allows_partitions_of_nothing():
    for process in POLICIES:
        for pattern in patterns(process):
            assert any(fnmatchcase(key, pattern) for keys in PARTITIONS.values() for key in keys), pattern
