"""The hand-off between the AI and people (data model, section 4): one conditional write, its trail, its resolution.

`intents` says what may be done and what a form carries, `effects` what each action writes, `protocol` the order of
writes, `resolution` what became of an action, `reconciliation` closes what was left open, `service` is what views call.
"""

from conversations.handoff.intents import HandOffAction, Intent, allowed_actions, intent_for, seal_intent, unseal_intent
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
