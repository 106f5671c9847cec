"""A process whose children are killed in the middle of a hand-off (run with `python -m`).

Each line on stdin is a job as JSON: `job` (a form's token with its `username`; "reconcile"; or {"clear": [tenant,
reference, seen]} of a tenant's conversation), and `kill` ("before", "after" or "") the call number `nth`. A fresh child
does it on the store that the environment names. The answer is a line with how the child ended: {"killed": bool, "code":
exit code}.
"""

import json
import os
import signal
import sys
from contextlib import nullcontext, suppress
from datetime import timedelta

import django

django.setup()

from console.permissions import Role, Scope, Staff  # noqa: E402
from conversations.handoff import perform, reconcile, unseal_intent  # noqa: E402
from conversations.handoff.reconciliation import pending_trails  # noqa: E402
from conversations.stores.tenant_conversations import services  # noqa: E402
from tests import faults  # noqa: E402


def do(job: dict) -> None:
    if job["job"] == "reconcile":
        trails = {trail for _, found in pending_trails() for trail in found}
        errors = [step.error for step in reconcile(sorted(trails), older_than=timedelta(0)) if step.error]
        assert not errors, errors
    elif isinstance(job["job"], dict):
        admin = Staff(job["username"], job["username"], Role.ADMIN, Scope(everything=True))
        tenant_id, reference, seen = job["job"]["clear"]
        with suppress(services.ConversationGone):
            services.clear(services.load_to_clear(tenant_id, reference, admin), seen, admin)
    else:
        staff = Staff(job["username"], job["username"], Role.AGENT, Scope(everything=True))
        perform(unseal_intent(job["job"], staff), staff, reason="because")


def child(job: dict) -> None:
    strikes = {"before": faults.kill_before, "after": faults.kill_after}
    with strikes[job["kill"]](nth=job["nth"]) if job["kill"] else nullcontext():
        do(job)


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                child(json.loads(line))
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": killed, "code": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
