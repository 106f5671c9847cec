"""The help page: what a person can do with their permissions, and how. Nothing of it is stored."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from console.staff.access import StaffRequest, signed_in
from console.staff.permissions import Permission


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. `needs`: the permission that makes it somebody's (None: everybody's); `routes`: label and page."""

    anchor: str
    title: str
    paragraphs: tuple[str, ...]
    needs: Permission | None = None
    routes: tuple[tuple[str, str], ...] = ()

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Label and address of its pages, as far as this build has them."""
        found = []
        for label, route in self.routes:
            try:
                found.append((label, reverse(route)))
            except NoReverseMatch:
                continue
        return tuple(found)


_P = Permission
TOPICS = (
    Topic(
        "queue",
        "The queue",
        (
            "Who waits for a human stands in the queue, longest wait first, with the reason. The tabs show what you "
            "hold, what colleagues hold, and what the platform overrode. An open queue keeps itself fresh.",
            "Taking a conversation is one write that nobody can win twice: if somebody was first, you are told who. "
            "The customer's waiting time goes on until you hand back. Release puts it back into the queue with that "
            "time.",
            "Hand back when the AI can go on, with a note for whoever comes next. Overridden means that the platform, "
            "still writing a reply, put back what it had read before: take it again, or leave it with the AI.",
        ),
        _P.HAND_OFF,
        (("Open the queue", "queue"), ("Waiting times", "queue-waiting-times")),
    ),
    Topic(
        "answering",
        "Answering a customer",
        (
            "The console does not send messages. Once you hold a conversation its page tells how to answer: the "
            "channel, our number or address, and the recipient once revealed, with a link that opens it.",
            "Revealing a number, an address or a name is on record with your name. How many people you can reveal in "
            "a day is limited.",
        ),
        _P.PII_REVEAL,
    ),
    Topic(
        "conversations",
        "Finding and reading conversations",
        (
            "Search takes anything: a phone number in any spelling, an email address, an id or a key. Companies and "
            "projects list their conversations, latest activity first; filters stay in the address.",
            "A transcript reads like a messenger. A dashed bubble is the system, or a writer that no schema knows; a "
            "red line below a message says what is not as the schema says. A first message of the customer may be the "
            "prompt that the AI began with. Opening a transcript is on record, once an hour.",
        ),
        _P.CONVERSATION_READ,
        (("Search", "search"), ("Conversations", "conversations")),
    ),
    Topic(
        "tenants",
        "Tenants",
        (
            "A tenant's pages show its settings, users, channels, conversations and history, and what it lacks to be "
            "ready. Which tenant a webhook would find, Resolve a channel says.",
        ),
        _P.TENANT_READ,
        (("Tenants", "tenants"), ("Resolve a channel", "channels-resolve")),
    ),
    Topic(
        "onboarding",
        "Bringing a tenant live",
        (
            "Start with New tenant: the first step reserves the id. Settings, first administrator, channels and "
            "companies follow; you can leave and come back at any step. The last step writes all of it at once.",
            "A tenant is activated once nothing on its readiness list is missing. A channel belongs to one tenant; to "
            "give it to another one, move it. If somebody saved settings before you, both versions are shown.",
        ),
        _P.TENANT_WRITE,
        (("New tenant", "tenant-new"),),
    ),
    Topic(
        "trail",
        "The trail",
        (
            "Every conversation and tenant has a trail: what services and colleagues did, when, and with what result. "
            "Payloads are redacted before they are written and again before they are shown.",
        ),
        _P.AUDIT_READ,
        (("Audit", "audit"),),
    ),
    Topic(
        "review",
        "Reviewing across conversations",
        (
            "The review merges the trail of all conversations, newest first. Filter by action, person, result, company "
            "and days; an entry leads to its trail, its conversation, its idempotency record and all with the same "
            "key.",
            "Who looked answers who opened, revealed, searched for or exported what: by member of staff, by "
            "conversation, or by customer. Your own searches for a phone number, an email address or a person's id "
            "need a reason if your role reveals nobody: the reason and a pseudonym of what you typed go on record, and "
            "searches are limited per hour. Export gives what was found as CSV or JSON "
            "Lines, redacted; that it was exported is on record. Idempotency records are explained in words.",
        ),
        _P.AUDIT_REVIEW,
        (("Review", "audit"), ("Who looked", "audit-looks"), ("Idempotency", "events"), ("Export", "audit-export")),
    ),
    Topic(
        "staff",
        "Accounts of the staff",
        (
            "Make an account, give it a role and a scope, and hand over the link with which its owner sets a password: "
            "it is shown once. Changing role or scope, and disabling, end the person's sessions; disabling also "
            "releases what they hold. Nobody is ever deleted: the trail keeps naming them.",
        ),
        _P.STAFF_MANAGE,
        (("Staff", "staff"), ("New account", "staff-new")),
    ),
    Topic(
        "system",
        "The system page",
        (
            "Tables and indexes of this environment against what the schemas ask, how the indexer of the queue is, "
            "what each store lacks, and what the last requests cost. Changes are made by an operator: manage.py "
            "tables plan.",
        ),
        _P.SYSTEM_READ,
        (("System", "system"),),
    ),
    Topic(
        "yourself",
        "Your account, and what is on record",
        (
            "At your account you choose a time zone for all times, change your password, set up a second factor, and "
            "see and end your sessions. Hover over a time for the exact UTC.",
            "On record with your name are: what you change, whose transcripts you open, what you reveal and export, "
            "signing in, and what you were refused. What you type into a search is neither in an address nor in a log.",
            "You see the companies and tenants of your scope. What lies outside answers like what does not exist.",
        ),
        None,
        (("Account", "account"),),
    ),
)


@signed_in
@require_safe
def help_page(request: StaffRequest) -> HttpResponse:
    """What the person can do here, and how; the keys."""
    topics = [topic for topic in TOPICS if topic.needs is None or request.staff.can(topic.needs)]
    return render(request, "help.html", {"topics": topics})
