"""Routes of the lists of conversations, their exports and saved views."""

from django.urls import path

from conversations.lists.views import exports, find, lists, saved_views

urlpatterns = [
    path("conversations/", lists.index, name="conversations"),
    path("conversations/export/", exports.export, name="conversations-export"),
    path("conversations/find/", find.find, name="conversation-find"),
    path("conversations/companies/<str:company_id>/", lists.company, name="company"),
    path("conversations/companies/<str:company_id>/projects/<str:project_id>/", lists.company, name="project"),
    path("conversations/recipients/<str:ref>/", lists.recipient, name="recipient"),
    path("conversations/recipients/<str:ref>/elsewhere/", lists.elsewhere, name="recipient-elsewhere"),
    path("conversations/replies/<str:ref>/", lists.replies, name="replies"),
    path("views/", saved_views.index, name="saved-views"),
    path("views/new/", saved_views.new, name="saved-view-new"),
    path("views/<str:ref>/", saved_views.change, name="saved-view-change"),
]
