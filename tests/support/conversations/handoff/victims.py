"""Children that are killed in the middle of a hand-off (see tests/support/victims.py; run with `python -m`).

`job` is a form's token; "reconcile"; or {"clear": [tenant, reference, seen]} of a tenant's conversation. `kill`
("before", "after" or "") is about the call number `nth`. All is done as Ana, on the store that the environment names.
"""

from contextlib import nullcontext, suppress
from datetime import timedelta

import django

django.setup()

from console.permissions import Role, Scope, Staff  # noqa: E402
from conversations.handoff import perform, reconcile, unseal_intent  # noqa: E402
from conversations.handoff.reconciliation import pending_trails  # noqa: E402
from conversations.stores.tenant_conversations import clearing  # noqa: E402
from tests import faults  # noqa: E402
from tests.support.victims import serve  # noqa: E402

USERNAME = "ana"


def do(job: dict) -> None:
    if job["job"] == "reconcile":
        trails = {trail for _, found in pending_trails() for trail in found}
        errors = [step.error for step in reconcile(sorted(trails), older_than=timedelta(0)) if step.error]
        assert not errors, errors
    elif isinstance(job["job"], dict):
        admin = Staff(USERNAME, USERNAME, Role.ADMIN, Scope(everything=True))
        tenant_id, reference, seen = job["job"]["clear"]
        with suppress(clearing.ConversationGone):
            clearing.clear(clearing.load_to_clear(tenant_id, reference, admin), seen, admin)
    else:
        staff = Staff(USERNAME, USERNAME, Role.AGENT, Scope(everything=True))
        perform(unseal_intent(job["job"], staff), staff, reason="because")


def child(job: dict) -> None:
    strikes = {"before": faults.kill_before, "after": faults.kill_after}
    with strikes[job["kill"]](nth=job["nth"]) if job["kill"] else nullcontext():
        do(job)


if __name__ == "__main__":
    serve(child)
