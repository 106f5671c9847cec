"""Routes of the queue, of finding conversations, of one, of tenants' and of other stores. Fixed parts come first."""

from django.urls import path, register_converter

import tenants.urls  # noqa: F401 registers <tenant:…>
from conversations.stores import StoreConverter
from conversations.views import (
    conversation,
    find,
    giving,
    hand_off,
    lists,
    messages,
    queue,
    queue_actions,
    replies,
    saved_replies,
    stores,
    team,
    tenant_conversations,
    timeline,
)

register_converter(StoreConverter, "store")

urlpatterns = [
    path("queue/", queue.queue, name="queue"),
    path("queue/count/", queue.queue_count, name="queue-count"),
    path("queue/waiting-times/", queue.waiting_times, name="queue-waiting-times"),
    path("queue/to-approve/", messages.to_approve, name="queue-to-approve"),
    path("queue/to-approve/<str:ref>/", messages.decide, name="queue-decide"),
    path("queue/take/", queue_actions.take, name="queue-take"),
    path("queue/release-mine/", queue_actions.release_mine, name="queue-release-mine"),
    path("system/messages/", messages.unplaced, name="messages-not-placed"),
    path("system/messages/<str:ref>/", messages.resolve, name="messages-resolve"),
    path("conversations/", lists.index, name="conversations"),
    path("conversations/find/", find.find, name="conversation-find"),
    path("conversations/companies/<str:company_id>/", lists.company, name="company"),
    path("conversations/companies/<str:company_id>/projects/<str:project_id>/", lists.company, name="project"),
    path("conversations/recipients/<str:ref>/", lists.recipient, name="recipient"),
    path("conversations/recipients/<str:ref>/elsewhere/", lists.elsewhere, name="recipient-elsewhere"),
    path("conversations/replies/<str:ref>/", lists.replies, name="replies"),
    path("team/", team.team, name="team"),
    path("team/levels/<str:company_id>/", team.service_levels, name="service-levels"),
    path("team/groups/<str:company_id>/", team.agent_groups, name="agent-groups"),
    path("told/", giving.told, name="told"),
    path("availability/", giving.availability, name="availability"),
    path("conversations/<str:ref>/give/", giving.give, name="conversation-give"),
    path("conversations/<str:ref>/hand-off/", hand_off.hand_off, name="conversation-hand-off"),
    path(
        "conversations/<str:ref>/last-message/",
        conversation.conversation_last_message,
        name="conversation-last-message",
    ),
    path("conversations/<str:ref>/step/<str:direction>/", conversation.conversation_step, name="conversation-step"),
    path("conversations/<str:ref>/", conversation.conversation, name="conversation"),
    path("conversations/<str:ref>/news/", conversation.conversation_updates, name="conversation-news"),
    path("conversations/<str:ref>/reveal/", conversation.reveal, name="conversation-reveal"),
    path("conversations/<str:ref>/reply/", replies.reply, name="conversation-reply"),
    path("conversations/<str:ref>/reply/undo/", replies.undo_reply, name="conversation-reply-undo"),
    path("conversations/<str:ref>/reply/again/", replies.retry_reply, name="conversation-reply-again"),
    path("conversations/<str:ref>/reply/template/", replies.load_template, name="conversation-reply-template"),
    path("conversations/<str:ref>/saved-replies/", saved_replies.pick, name="conversation-saved-replies"),
    path("conversations/<str:ref>/note/", replies.note, name="conversation-note"),
    path("conversations/<str:ref>/raw/", conversation.raw, name="conversation-raw"),
    path("conversations/<str:ref>/timeline/", timeline.timeline, name="conversation-timeline"),
    path("saved-replies/", saved_replies.index, name="saved-replies"),
    path("saved-replies/new/", saved_replies.new, name="saved-reply-new"),
    path("saved-replies/<str:ref>/change/", saved_replies.change, name="saved-reply-change"),
    path("saved-replies/<str:ref>/delete/", saved_replies.delete, name="saved-reply-delete"),
    path("tenants/<tenant:tenant_id>/conversations/", tenant_conversations.index, name="tenant-conversations"),
    path(
        "tenants/<tenant:tenant_id>/conversations/<str:ref>/",
        tenant_conversations.conversation,
        name="tenant-conversation",
    ),
    path(
        "tenants/<tenant:tenant_id>/conversations/<str:ref>/clear/",
        tenant_conversations.clear,
        name="tenant-conversation-clear",
    ),
    # Last: a store's name stands where other sections have theirs.
    path("<store:store>/", stores.home, name="store"),
    path("<store:store>/find/", stores.find, name="store-find"),
    path("<store:store>/lists/<str:ref>/", stores.listing, name="store-list"),
    path("<store:store>/<str:ref>/", stores.record, name="store-record"),
    path("<store:store>/<str:ref>/<slug:action>/", stores.act, name="store-action"),
]
