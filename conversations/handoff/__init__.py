"""The hand-off between the AI and people (docs/hand-off.md): one conditional write, its trail, its resolution.

`actions` defines the allowed actions, the intent of a form and what each action writes; `stored` reads and writes the
item; `protocol` is the order of writes; `resolution` finds out what became of an action; `reconciliation` settles
pending ones; `service` is what views call.
"""

from conversations.handoff.actions import HandOffAction, Intent, allowed_actions, intent_for, seal_intent, unseal_intent
from conversations.handoff.outcomes import HandOffOutcome, LostRace, ReleaseReport
from conversations.handoff.reconciliation import reconcile, settle
from conversations.handoff.service import perform, release_all

__all__ = [
    "HandOffAction",
    "HandOffOutcome",
    "Intent",
    "LostRace",
    "ReleaseReport",
    "allowed_actions",
    "intent_for",
    "perform",
    "reconcile",
    "release_all",
    "seal_intent",
    "settle",
    "unseal_intent",
]
