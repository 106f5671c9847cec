"""Routes of the queue, and of messages that were not placed."""

from django.urls import path

from conversations.queue.views import approvals, messages, queue, queue_actions, selected

urlpatterns = [
    path("queue/", queue.queue, name="queue"),
    path("queue/count/", queue.queue_count, name="queue-count"),
    path("queue/waiting-times/", queue.waiting_times, name="queue-waiting-times"),
    path("queue/to-approve/", approvals.to_approve, name="queue-to-approve"),
    path("queue/to-approve/<str:ref>/", approvals.decide, name="queue-decide"),
    path("queue/take/", queue_actions.take, name="queue-take"),
    path("queue/release-mine/", queue_actions.release_mine, name="queue-release-mine"),
    path("queue/selected/", selected.act, name="queue-selected"),
    path("queue/selected/give/", selected.give, name="queue-selected-give"),
    path("system/messages/", messages.unplaced, name="messages-not-placed"),
    path("system/messages/<str:ref>/", messages.resolve, name="messages-resolve"),
    path("conversations/<str:ref>/take-others/", selected.take_others, name="conversation-take-others"),
    path("conversations/<str:ref>/place/", messages.place, name="conversation-place"),
]
