"""Who may do what: one row for each route of the console, and what everybody else is told.

| who asks                                  | gets                                                              |
|-------------------------------------------|-------------------------------------------------------------------|
| nobody is signed in, GET or HEAD          | 302 to the sign-in page and back                                  |
| nobody is signed in, any other method     | 401, a page that says so                                          |
| a role that the row does not name         | 403, and a denial in the person's trail                           |
| whoever may, GET or HEAD of a form's route | 302 to the page that the form stands on (`page`)                  |
| whoever may, with another method          | 405, with the methods above in `Allow`                            |
| whoever may, about another company's      | 404, the same as for what does not exist (or `elsewhere`)         |

Public routes look at nobody: they answer everyone alike. `tests/crawl/access/test_routes.py` holds every cell.
"""

from dataclasses import dataclass

from console.permissions import Role

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PUBLIC, SIGNED_IN = "public", "signed in"
READ, FORM, BOTH = "GET HEAD", "POST", "GET HEAD POST"


@dataclass(frozen=True)
class Route:
    """One row. `who`: "public", "signed in", or the roles that the view declares, by its permissions.

    `but`: those of them that the view itself refuses with 403. `elsewhere`: the status for another company's objects;
    0 where the address names no company's object. `absent`: 404 for everyone, in the environment of these tests.
    `page`: the route of the page that a form stands on whose own address is none of a page.
    """

    name: str
    pattern: str
    methods: str
    who: str
    but: str = ""
    elsewhere: int = 0
    absent: bool = False
    page: str = ""

    @property
    def accepts(self) -> frozenset[str]:
        """The methods that the view accepts."""
        return frozenset(self.methods.split())

    @property
    def declared(self) -> frozenset[Role]:
        """The roles that the guard lets through."""
        return frozenset(Role) if self.who in (PUBLIC, SIGNED_IN) else frozenset(map(Role, self.who.split()))

    @property
    def roles(self) -> frozenset[Role]:
        """The roles that get an answer."""
        return self.declared - frozenset(map(Role, self.but.split()))


ROUTES = (
    Route("home", "", READ, SIGNED_IN),
    Route("help", "help/", READ, SIGNED_IN),
    Route("search", "search/", BOTH, SIGNED_IN),
    # Signing in and out
    Route("sign-in", "sign-in/", BOTH, PUBLIC),
    Route("sign-in-code", "sign-in/code/", BOTH, PUBLIC),
    Route("set-password", "set-password/", BOTH, PUBLIC),
    Route("sign-out", "sign-out/", FORM, PUBLIC, page="home"),
    # The company's own sign-in: not there unless one is configured
    Route("oidc-start", "sign-in/company/", "GET", PUBLIC, absent=True),
    Route("oidc-return", "sign-in/company/return/", "GET", PUBLIC, absent=True),
    Route("oidc-back-channel-logout", "sign-in/company/logout/", "POST", PUBLIC, absent=True),
    Route("oidc-sign-out", "sign-out/company/", "GET", PUBLIC, absent=True),
    # One's own account
    Route("account", "account/", READ, SIGNED_IN),
    Route("account-time-zone", "account/time-zone/", FORM, SIGNED_IN, page="account"),
    Route("account-sessions-end", "account/sessions/end/", FORM, SIGNED_IN, page="account"),
    Route("account-second-factor", "account/second-factor/", BOTH, SIGNED_IN),
    Route("account-recovery-codes", "account/recovery-codes/", BOTH, SIGNED_IN),
    Route("account-second-factor-remove", "account/second-factor/remove/", BOTH, SIGNED_IN),
    Route("account-password", "account/password/", BOTH, SIGNED_IN),
    # The staff. Who administers some companies only manages the accounts within these
    Route("staff", "staff/", READ, "admin"),
    Route("staff-new", "staff/new/", BOTH, "admin"),
    Route("staff-account", "staff/<str:username>/", READ, "admin", elsewhere=404),
    Route("staff-change", "staff/<str:username>/change/", BOTH, "admin", elsewhere=404),
    Route("staff-disable", "staff/<str:username>/disable/", BOTH, "admin", elsewhere=404),
    Route("staff-enable", "staff/<str:username>/enable/", BOTH, "admin", elsewhere=404),
    Route("staff-password", "staff/<str:username>/password/", BOTH, "admin", elsewhere=404),
    Route(
        "staff-second-factor-remove",
        "staff/<str:username>/second-factor/remove/",
        BOTH,
        "admin",
        elsewhere=404,
    ),
    Route(
        "staff-sessions-end",
        "staff/<str:username>/sessions/end/",
        FORM,
        "admin",
        elsewhere=404,
        page="staff-account",
    ),
    # The queue
    # The holder's replies and note: before all that they hold is released
    Route(
        "conversation-reply",
        "conversations/<str:ref>/reply/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-reply-undo",
        "conversations/<str:ref>/reply/undo/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-reply-again",
        "conversations/<str:ref>/reply/again/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-reply-template",
        "conversations/<str:ref>/reply/template/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-note",
        "conversations/<str:ref>/note/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-room",
        "conversations/<str:ref>/room/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-take-others",
        "conversations/<str:ref>/take-others/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-no-answer",
        "conversations/<str:ref>/no-answer/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    Route(
        "conversation-opt-in",
        "conversations/<str:ref>/opt-in/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    # Who may read a conversation says what belongs there.
    Route(
        "conversation-place",
        "conversations/<str:ref>/place/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    # Before the conversations that they are about are released
    Route("conversation-give", "conversations/<str:ref>/give/", BOTH, "agent admin", elsewhere=404),
    Route("notices", "notices/", BOTH, "agent admin"),
    Route("notices-moved", "told/", READ, "agent admin"),
    Route("availability", "availability/", FORM, "agent admin", page="notices"),
    # The team of who leads it
    Route("team", "team/", READ, "admin"),
    Route("insight", "insight/", READ, "auditor admin"),
    Route("insight-summary", "insight/summary/<str:company_id>/", READ, "auditor admin", elsewhere=404),
    Route("insight-report", "insight/<slug:slug>/", READ, "auditor admin", elsewhere=404),
    Route("insight-behind", "insight/<slug:slug>/behind/", READ, "auditor admin", elsewhere=404),
    Route("insight-behind-csv", "insight/<slug:slug>/behind/rows.csv", READ, "auditor admin", elsewhere=404),
    Route("insight-csv", "insight/<slug:slug>/<slug:chart_id>.csv", READ, "auditor admin", elsewhere=404),
    Route("service-levels", "team/levels/<str:company_id>/", BOTH, "admin", elsewhere=404),
    Route("budget", "team/budgets/<str:company_id>/", BOTH, "admin", elsewhere=404),
    Route("agent-groups", "team/groups/<str:company_id>/", BOTH, "admin", elsewhere=404),
    Route("notifications", "team/notifications/", READ, "admin"),
    Route("destination-new", "team/notifications/new/", BOTH, "admin"),
    Route("destination", "team/notifications/<str:ref>/", BOTH, "admin", elsewhere=404),
    Route("destination-change", "team/notifications/<str:ref>/change/", BOTH, "admin", elsewhere=404),
    Route("queue", "queue/", READ, "agent admin"),
    Route("queue-count", "queue/count/", READ, "agent admin"),
    Route("queue-waiting-times", "queue/waiting-times/", READ, "agent admin"),
    Route("queue-to-approve", "queue/to-approve/", READ, "agent admin"),
    Route("queue-decide", "queue/to-approve/<str:ref>/", FORM, "agent admin", elsewhere=404, page="queue-to-approve"),
    # Nobody knows whose these are: an administrator of some companies is refused.
    Route("messages-not-placed", "system/messages/", READ, "admin"),
    Route("messages-resolve", "system/messages/<str:ref>/", FORM, "admin", elsewhere=403, page="messages-not-placed"),
    Route("queue-take", "queue/take/", FORM, "agent admin", page="queue"),
    Route("queue-release-mine", "queue/release-mine/", FORM, "agent admin", page="queue"),
    Route("queue-selected", "queue/selected/", FORM, "agent admin", page="queue"),
    Route("queue-selected-give", "queue/selected/give/", FORM, "agent admin", page="queue"),
    # Finding conversations
    Route("conversations", "conversations/", READ, "agent auditor admin"),
    Route("conversations-export", "conversations/export/", BOTH, "auditor admin"),
    Route("conversation-find", "conversations/find/", BOTH, "agent auditor admin"),
    Route("company", "conversations/companies/<str:company_id>/", READ, "agent auditor admin", elsewhere=404),
    Route(
        "project",
        "conversations/companies/<str:company_id>/projects/<str:project_id>/",
        READ,
        "agent auditor admin",
        elsewhere=404,
    ),
    Route("recipient", "conversations/recipients/<str:ref>/", READ, "agent auditor admin", elsewhere=404),
    # Onboarding may reveal, but reads no conversations.
    Route(
        "recipient-elsewhere",
        "conversations/recipients/<str:ref>/elsewhere/",
        READ,
        "agent onboarding admin",
        but="onboarding",
        elsewhere=404,
    ),
    Route("replies", "conversations/replies/<str:ref>/", READ, "agent auditor admin", elsewhere=404),
    # One conversation
    Route("conversation", "conversations/<str:ref>/", READ, "agent auditor admin", elsewhere=404),
    Route("conversation-updates", "conversations/<str:ref>/updates/", READ, "agent auditor admin", elsewhere=404),
    Route("conversation-updates-moved", "conversations/<str:ref>/news/", READ, "agent auditor admin", elsewhere=302),
    Route("conversation-timeline", "conversations/<str:ref>/timeline/", READ, "agent auditor admin", elsewhere=404),
    Route("conversation-raw", "conversations/<str:ref>/raw/", READ, "admin", elsewhere=404),
    # Without scripts it leads to the conversation, which is then not there.
    Route(
        "conversation-last-message",
        "conversations/<str:ref>/last-message/",
        READ,
        "agent auditor admin",
        elsewhere=302,
    ),
    # From what is not in one's list it leads to the list that one came from.
    Route(
        "conversation-step",
        "conversations/<str:ref>/step/<str:direction>/",
        READ,
        "agent auditor admin",
        elsewhere=302,
    ),
    Route(
        "conversation-hand-off",
        "conversations/<str:ref>/hand-off/",
        FORM,
        "agent admin",
        elsewhere=404,
        page="conversation",
    ),
    # Onboarding may reveal, but reads no conversations.
    Route(
        "conversation-reveal",
        "conversations/<str:ref>/reveal/",
        FORM,
        "agent onboarding admin",
        but="onboarding",
        elsewhere=404,
        page="conversation",
    ),
    Route("conversation-saved-replies", "conversations/<str:ref>/saved-replies/", READ, "agent admin", elsewhere=404),
    # Saved replies. Agents write their own ones only; these are a company's
    Route("saved-replies", "saved-replies/", READ, "agent admin"),
    Route("saved-reply-new", "saved-replies/new/", BOTH, "agent admin"),
    Route("saved-reply-change", "saved-replies/<str:ref>/change/", BOTH, "agent admin", but="agent", elsewhere=404),
    Route("saved-views", "views/", READ, "agent auditor admin"),
    Route("saved-view-new", "views/new/", BOTH, "agent auditor admin"),
    Route("saved-view-change", "views/<str:ref>/", BOTH, "agent auditor admin", but="agent auditor", elsewhere=404),
    Route("saved-reply-delete", "saved-replies/<str:ref>/delete/", BOTH, "agent admin", but="agent", elsewhere=404),
    # Conversations of tenants. Onboarding reads tenants, but no conversations.
    Route(
        "tenant-conversations",
        "tenants/<tenant:tenant_id>/conversations/",
        READ,
        "onboarding auditor admin",
        but="onboarding",
        elsewhere=404,
    ),
    Route(
        "tenant-conversation",
        "tenants/<tenant:tenant_id>/conversations/<str:ref>/",
        READ,
        "onboarding auditor admin",
        but="onboarding",
        elsewhere=404,
    ),
    Route(
        "tenant-conversation-clear",
        "tenants/<tenant:tenant_id>/conversations/<str:ref>/clear/",
        BOTH,
        "admin",
        elsewhere=404,
    ),
    # The other stores. What can be done to a record, its own permission allows
    Route("store", "<store:store>/", READ, "agent auditor admin"),
    Route("store-find", "<store:store>/find/", BOTH, "agent auditor admin"),
    Route("store-list", "<store:store>/lists/<str:ref>/", READ, "agent auditor admin", elsewhere=404),
    Route("store-record", "<store:store>/<str:ref>/", READ, "agent auditor admin", elsewhere=404),
    Route(
        "store-action",
        "<store:store>/<str:ref>/<slug:action>/",
        BOTH,
        "agent auditor admin",
        but="agent auditor",
        elsewhere=404,
    ),
    # The trail
    Route("audit", "audit/", READ, "agent onboarding auditor admin"),
    Route("audit-find", "audit/find/", BOTH, "auditor admin"),
    # Onboarding reads the trails of tenants and its own, not those of conversations.
    Route(
        "audit-entry",
        "audit/entries/<str:ref>/",
        READ,
        "agent onboarding auditor admin",
        but="onboarding",
        elsewhere=404,
    ),
    Route(
        "trail",
        "audit/trails/<str:ref>/",
        READ,
        "agent onboarding auditor admin",
        but="onboarding",
        elsewhere=404,
    ),
    # What is made of the trail
    Route("audit-export", "audit/export/", BOTH, "auditor admin"),
    Route("audit-chart", "audit/picture/", READ, "auditor admin"),
    Route("access-log", "audit/looks/", BOTH, "auditor admin"),
    # Nobody of that name, nobody in scope and nobody who looked are one answer: an empty list.
    Route("access-log-person", "audit/looks/people/<str:username>/", READ, "auditor admin", elsewhere=200),
    Route("access-log-conversation", "audit/looks/conversations/<str:ref>/", READ, "auditor admin", elsewhere=404),
    Route("access-log-recipient", "audit/looks/recipients/<str:ref>/", READ, "auditor admin", elsewhere=404),
    # Who has access: nobody sees accounts beyond their scope, and a review changes nothing but the trail.
    Route("access-review", "audit/accounts/", READ, "auditor admin"),
    Route("access-review-export", "audit/accounts/export/", FORM, "auditor admin", page="access-review"),
    Route("access-review-record", "audit/accounts/reviewed/", FORM, "auditor admin", page="access-review"),
    # Idempotency records
    Route("events", "audit/events/", BOTH, "auditor admin"),
    Route("events-of-conversation", "audit/events/conversations/<str:ref>/", READ, "auditor admin", elsewhere=404),
    Route("event", "audit/events/<str:ref>/", READ, "auditor admin", elsewhere=404),
    # Tenants
    Route("tenants", "tenants/", READ, "onboarding auditor admin"),
    Route("tenant-new", "tenants/new/", BOTH, "onboarding admin"),
    *(
        Route(
            name,
            f"tenants/<tenant:tenant_id>/{rest}",
            methods,
            who,
            elsewhere=404,
            page="tenant-channels" if methods == FORM else "",
        )
        for name, rest, methods, who in (
            ("tenant", "", READ, "onboarding auditor admin"),
            ("tenant-readiness", "readiness/", READ, "onboarding auditor admin"),
            ("tenant-history", "history/", READ, "onboarding auditor admin"),
            ("tenant-memories", "memories/", READ, "onboarding auditor admin"),
            ("tenant-settings", "settings/", READ, "onboarding auditor admin"),
            ("tenant-users", "users/", READ, "onboarding auditor admin"),
            ("tenant-channels", "channels/", READ, "onboarding auditor admin"),
            ("tenant-onboarding", "onboarding/<str:step>/", BOTH, "onboarding admin"),
            ("tenant-settings-change", "settings/change/", BOTH, "onboarding admin"),
            ("tenant-user-new", "users/new/", BOTH, "onboarding admin"),
            ("tenant-user-change", "users/<str:ref>/change/", BOTH, "onboarding admin"),
            ("tenant-user-remove", "users/<str:ref>/remove/", BOTH, "onboarding admin"),
            ("tenant-channel-new", "channels/new/", BOTH, "onboarding admin"),
            ("tenant-channel-complete", "channels/<str:ref>/complete/", FORM, "onboarding admin"),
            ("tenant-channel-move", "channels/<str:ref>/move/", BOTH, "onboarding admin"),
            ("tenant-channel-release", "channels/<str:ref>/release/", BOTH, "onboarding admin"),
            ("tenant-company-link", "companies/link/", BOTH, "onboarding admin"),
            ("tenant-company-unlink", "companies/<str:ref>/unlink/", BOTH, "onboarding admin"),
            ("tenant-status", "status/<str:step>/", BOTH, "onboarding admin"),
        )
    ),
    Route("channels-resolve", "channels/resolve/", BOTH, "onboarding auditor admin"),
    # The system
    Route("system", "system/", READ, "admin"),
)
BY_NAME = {route.name: route for route in ROUTES}
# Actions after which others have nothing to act on: what one holds is released.
LAST = ("queue-release-mine",)


def in_order(role: str) -> list[Route]:
    """The routes whose forms that role may send, in an order in which all of them succeed one after the other."""
    forms = [each for each in ROUTES if "POST" in each.accepts and Role(role) in each.roles and not each.absent]
    return sorted(forms, key=lambda route: route.name in LAST)
