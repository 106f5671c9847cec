"""The help page: what a person can do with their permissions, and how."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, signed_in
from console.permissions import Permission


@dataclass(frozen=True, slots=True)
class HelpTopic:
    """One topic. `needs` is the permission that shows it (None: to everybody); `routes` are labels and route names."""

    anchor: str
    title: str
    paragraphs: tuple[str, ...]
    needs: Permission | None = None
    routes: tuple[tuple[str, str], ...] = ()

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The label and URL of each of its pages."""
        return tuple((label, reverse(route)) for label, route in self.routes)


_P = Permission
TOPICS = (
    HelpTopic(
        "queue",
        "The queue",
        (
            "The queue lists the customers who are waiting for a human, urgent ones first and then the longest wait, "
            "each with the reason. The other tabs show what needs attention, what you hold and what colleagues hold. "
            "An open queue updates itself.",
            (
                "Only one person can take a conversation. If a colleague takes it before you, the console tells you "
                "who. The customer's waiting time continues until you return it to the AI. Return to queue lets "
                "a colleague take it, with that time."
            ),
            (
                "Return to AI when the AI can continue, and leave a note for the next person. If the customer has no "
                "answer yet, the console shows the messages: let the AI answer them, or return without an answer. "
                "Dismiss takes a conversation off Needs attention until something changes."
            ),
            (
                "Overridden means the platform undid a hand-off while it was writing a reply. Take the conversation "
                "again, or return it to the AI."
            ),
            (
                "Select rows with their checkboxes, or with x, to take, return, dismiss or transfer them together. If "
                "a colleague changed one first, it stays as it is and the console tells you. Conversations with "
                "unanswered messages are not returned to the AI together."
            ),
            (
                "Transfer a conversation to a colleague or a group on its page. They can see it right away. For you "
                "lists what colleagues transferred to you. You can also say there that you are away."
            ),
        ),
        _P.HAND_OFF,
        (("Open the queue", "queue"), ("Waiting times", "queue-waiting-times")),
    ),
    HelpTopic(
        "team",
        "The team",
        (
            "Team shows who is available, what each colleague holds, the oldest customer without an answer, and what "
            "was done today.",
            (
                "Service levels set how soon your team should answer, when the AI counts as stuck, and which "
                "words make a conversation urgent. A group is a set of colleagues you can transfer a "
                "conversation to."
            ),
            (
                "A budget is what a company plans to spend on AI tokens in a month. The team page and Needs "
                "attention show a warning when 80% is spent, and again when all of it is spent."
            ),
            (
                "Notifications tell your own systems what happens, through a webhook, an Amazon SNS topic or a "
                "mailbox. They never name a customer. Send a test to check that one arrives. You can send "
                "undelivered notifications again."
            ),
        ),
        _P.TEAM_LEAD,
        (("Team", "team"),),
    ),
    HelpTopic(
        "saved-views",
        "Saved views",
        (
            "Set filters on a list, such as the conversations of a company or project, and choose Save this view. "
            "Your views are beside the filters, and the current one is marked.",
            (
                "Only you see your own views. Leads can share one with everybody who sees its company. A view of a "
                "company outside your scope is not shown."
            ),
        ),
        _P.CONVERSATION_READ,
        (("Views", "saved-views"),),
    ),
    HelpTopic(
        "lists-export",
        "Lists as files",
        (
            "Choose Export on a list of conversations to download the rows of all its pages, filtered as you see "
            "them, as CSV or JSON Lines. The file contains what the list shows you, never messages. Its last line "
            "says if rows are missing. The trail records each export with its filters.",
        ),
        _P.CONVERSATION_EXPORT,
        (("Conversations", "conversations"),),
    ),
    HelpTopic(
        "answering",
        "Answering a customer",
        (
            (
                "Once you hold a conversation, answer in the box below its messages. If this environment does not send "
                "replies, the page says how to answer: the channel, our number or address, and the recipient after "
                "you reveal it, with a link that opens it."
            ),
            (
                "The page also says how long you can answer over WhatsApp: 24 hours after the customer last wrote. It "
                "warns you if the customer has not agreed to be contacted, or the project does not allow the channel."
            ),
            (
                "Revealing a number, an address or a name is recorded with your name. The number of people you can "
                "reveal in a day is limited."
            ),
        ),
        _P.HAND_OFF,
    ),
    HelpTopic(
        "saved-replies",
        "Saved replies",
        (
            "Save the sentences you write often, and pick one when you answer: press / in the empty reply "
            "box, or choose Saved replies below it. You can change the text in the box before you send it.",
            (
                "{first_name}, {agent} and {company} in a text become the customer's first name, your name and the "
                "company's name. If the first name is not known, it is left out: “Hello {first_name},” becomes "
                "“Hello,”."
            ),
            (
                "The list has your own saved replies, the company's, and those for everybody. Only you can see "
                "and change your own. Administrators write the others. Changes are recorded by name, without the "
                "text."
            ),
        ),
        _P.HAND_OFF,
        (("Saved replies", "saved-replies"),),
    ),
    HelpTopic(
        "messages",
        "What customers write to you",
        (
            "While you hold a conversation, what the customer writes appears on its page by itself. The queue shows "
            'the customer\'s last sentence and how many messages nobody has answered. "Why is this here?" on the '
            "conversation says whether the platform, a rule, a failure or a colleague brought it to you.",
            (
                "A project rule can send a customer's replies to people. If the AI can answer after all, choose "
                "Return to AI and Let the AI answer: it gets the messages and continues. If the page says that the AI "
                "stays silent, nothing the customer writes reaches it until you return it."
            ),
            (
                "Answer in the box below the messages: the customer gets your reply from the company's own number or "
                "address. Ctrl+Enter sends, and until the countdown ends Undo takes the reply back. You then see it "
                "sent, delivered and read, or why it failed. Your draft stays if the page reloads or a colleague takes "
                "the conversation."
            ),
            (
                "WhatsApp takes free text for 24 hours after the customer's last message. After that you can send only "
                "the company's approved template: load it, fill in its blanks, and read what the customer will get."
            ),
            (
                "To approve lists first messages that a rule holds. Approve forwards a message exactly as it is, "
                "within a minute; until then, Undo stops it. Reject needs a reason. Both are recorded."
            ),
        ),
        _P.HAND_OFF,
        (("To approve", "queue-to-approve"),),
    ),
    HelpTopic(
        "conversations",
        "Finding and reading conversations",
        (
            "You can search for a phone number in any format, an email address, an id or a key. Companies "
            "and projects list their conversations, latest activity first. Filters stay in the address, so you can "
            "bookmark them.",
            (
                "A transcript looks like a chat app. A dashed bubble is from the system or an unknown sender. A red "
                "line below a message says where it differs from the schema. The trail records that you opened a "
                "transcript, at most once an hour. The line above the messages shows the totals. The cost of the AI "
                "is an estimate in US dollars."
            ),
        ),
        _P.CONVERSATION_READ,
        (("Search", "search"), ("Conversations", "conversations")),
    ),
    HelpTopic(
        "tenants",
        "Tenants",
        (
            "A tenant's pages show its settings, users, channels, conversations and history, and what is still "
            "missing. Resolve a channel shows which tenant a webhook would find.",
        ),
        _P.TENANT_READ,
        (("Tenants", "tenants"), ("Resolve a channel", "channels-resolve")),
    ),
    HelpTopic(
        "onboarding",
        "Bringing a tenant live",
        (
            "Start with New tenant: the first step reserves the id. Settings, first administrator, channels and "
            "companies follow. You can leave and come back at any step. The last step saves the administrator, "
            "channels and companies together.",
            (
                "You can activate a tenant once its readiness list is complete. A channel belongs to one tenant; "
                "move it to give it to another. If somebody saved settings before you, you see both versions."
            ),
        ),
        _P.TENANT_WRITE,
        (("New tenant", "tenant-new"),),
    ),
    HelpTopic(
        "trail",
        "The trail",
        (
            "Every conversation and tenant has a trail: what services and colleagues did, when, and with what result. "
            "Payloads are redacted before they are written and again before they are shown.",
        ),
        _P.AUDIT_READ,
        (("Audit", "audit"),),
    ),
    HelpTopic(
        "review",
        "Reviewing across conversations",
        (
            "The review merges the trails of all conversations, newest first. Filter by action, person, result, "
            "company and date. From an entry you can open its trail, its conversation, its idempotency record "
            "and all entries with the same key.",
            (
                "The access log shows who opened, revealed, searched for or exported what: by member of staff, by "
                "conversation, or by customer. Your own searches for a phone number, an email address or a person's "
                "id need a reason if your role cannot reveal people. The reason and a pseudonym of what you typed "
                "are recorded, and searches are limited per hour. Export downloads the result as CSV or JSON Lines, "
                "redacted, and is recorded. Idempotency records are explained in words."
            ),
            (
                "The access review lists who has which role, scope and second factor, and when they last signed in. "
                "Export it, check it, and record your review: your name and the time go into the trail."
            ),
        ),
        _P.AUDIT_REVIEW,
        (
            ("Review", "audit"),
            ("Access log", "access-log"),
            ("Access review", "access-review"),
            ("Idempotency", "events"),
            ("Export", "audit-export"),
        ),
    ),
    HelpTopic(
        "insight",
        "Insight",
        (
            "Insight shows how conversations end, how long customers wait, what goes from the AI to people, what "
            "fails, and what tokens cost. Choose company, project, channel and period, and compare. Open What this "
            "means beside a number for its definition, and the number itself for the conversations behind it. Each "
            "chart has a table and a CSV file. A conversation counts on the day it began, in UTC; its outcome is "
            "final after 7 days without a message.",
            (
                "Weekly summary, on the overview of a company, compares a week with the week before and prints on "
                "one or two pages. Cost shows how much of the company's budget is spent this month."
            ),
        ),
        _P.INSIGHT_READ,
        (("Insight", "insight"),),
    ),
    HelpTopic(
        "staff",
        "Staff accounts",
        (
            "Create an account, give it a role and a scope, and pass on the link that lets its owner set a "
            "password. The link is shown once. Changing the role or scope, or disabling the account, ends its "
            "sessions; disabling also returns what it holds to the queue. Accounts are never deleted, so the trail can "
            "always name them.",
        ),
        _P.STAFF_MANAGE,
        (("Staff", "staff"), ("New account", "staff-new")),
    ),
    HelpTopic(
        "system",
        "The system page",
        (
            "The system page compares the tables and indexes of this environment with what the schemas need. It also "
            "shows the state of the indexer, what each store lacks, and what the last requests cost. Operators make "
            "changes on the command line: manage.py tables check.",
        ),
        _P.SYSTEM_READ,
        (("System", "system"),),
    ),
    HelpTopic(
        "yourself",
        "Your account, and what is recorded",
        (
            "On your account page you can choose the time zone of all times, change your password, set up a second "
            "factor, and see and end your sessions. Hover over a time for the exact UTC.",
            (
                "The trail records, with your name, what you change, which transcripts you open, what you reveal and "
                "export, when you sign in, and what you were not allowed to do. The console never puts what you type "
                "into a search in an address or a log."
            ),
            "You only see companies and tenants in your scope.",
        ),
        None,
        (("Account", "account"),),
    ),
)


@signed_in
@require_safe
def help_page(request: StaffRequest) -> HttpResponse:
    """Show what the person can do here and how, and the keyboard shortcuts."""
    topics = [topic for topic in TOPICS if topic.needs is None or request.staff.can(topic.needs)]
    return render(request, "help.html", {"topics": topics})
