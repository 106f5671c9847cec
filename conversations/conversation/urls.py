"""Routes of one conversation, and of the notices to a person while they work."""

from collections.abc import Callable

from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from console.access import requires
from console.permissions import Permission
from conversations.conversation.views import conversation, giving, hand_off, replies, timeline


def moved_to(name: str, permission: Permission) -> Callable[..., HttpResponseBase]:
    """Return the view of an earlier address, which leads to the route `name`."""
    return requires(permission)(require_safe(RedirectView.as_view(pattern_name=name, query_string=True)))


urlpatterns = [
    path("notices/", giving.notices, name="notices"),
    path("told/", moved_to("notices", Permission.HAND_OFF), name="notices-moved"),
    path("availability/", giving.availability, name="availability"),
    path("conversations/<str:ref>/give/", giving.give, name="conversation-give"),
    path("conversations/<str:ref>/hand-off/", hand_off.hand_off, name="conversation-hand-off"),
    path("conversations/<str:ref>/room/", hand_off.room, name="conversation-room"),
    path(
        "conversations/<str:ref>/last-message/",
        conversation.conversation_last_message,
        name="conversation-last-message",
    ),
    path("conversations/<str:ref>/step/<str:direction>/", conversation.conversation_step, name="conversation-step"),
    path("conversations/<str:ref>/", conversation.conversation, name="conversation"),
    path("conversations/<str:ref>/updates/", conversation.conversation_updates, name="conversation-updates"),
    path(
        "conversations/<str:ref>/news/",
        moved_to("conversation-updates", Permission.CONVERSATION_READ),
        name="conversation-updates-moved",
    ),
    path("conversations/<str:ref>/reveal/", conversation.reveal, name="conversation-reveal"),
    path("conversations/<str:ref>/reply/", replies.reply, name="conversation-reply"),
    path("conversations/<str:ref>/reply/undo/", replies.undo_reply, name="conversation-reply-undo"),
    path("conversations/<str:ref>/reply/again/", replies.retry_reply, name="conversation-reply-again"),
    path("conversations/<str:ref>/reply/template/", replies.load_template, name="conversation-reply-template"),
    path("conversations/<str:ref>/no-answer/", replies.no_answer, name="conversation-no-answer"),
    path("conversations/<str:ref>/opt-in/", replies.opt_in, name="conversation-opt-in"),
    path("conversations/<str:ref>/note/", replies.note, name="conversation-note"),
    path("conversations/<str:ref>/raw/", conversation.raw, name="conversation-raw"),
    path("conversations/<str:ref>/timeline/", timeline.timeline, name="conversation-timeline"),
]
