"""Routes of the audit trail. Fixed prefixes come before `<ref>`."""

from django.urls import path

from console.audit.views import access_log, access_review, events, reports, review, trails

urlpatterns = [
    path("", review.index, name="audit"),
    path("find/", review.find, name="audit-find"),
    path("accounts/", access_review.index, name="access-review"),
    path("accounts/export/", access_review.export, name="access-review-export"),
    path("accounts/reviewed/", access_review.record, name="access-review-record"),
    path("entries/<str:ref>/", trails.entry, name="audit-entry"),
    path("events/", events.events, name="events"),
    path("events/conversations/<str:ref>/", events.events_of_conversation, name="events-of-conversation"),
    path("events/<str:ref>/", events.event, name="event"),
    path("export/", reports.export, name="audit-export"),
    path("looks/", access_log.access_log, name="access-log"),
    path("looks/people/<str:username>/", access_log.person, name="access-log-person"),
    path("looks/recipients/<str:ref>/", access_log.recipient, name="access-log-recipient"),
    path("looks/conversations/<str:ref>/", access_log.conversation, name="access-log-conversation"),
    path("picture/", reports.chart, name="audit-chart"),
    path("trails/<str:ref>/", trails.trail, name="trail"),
]
