"""Routes of tenants' conversations."""

from django.urls import path

import tenants.urls  # noqa: F401 registers <tenant:…>
from conversations.stores.tenant_conversations import views

urlpatterns = [
    path("tenants/<tenant:tenant_id>/conversations/", views.index, name="tenant-conversations"),
    path(
        "tenants/<tenant:tenant_id>/conversations/<str:ref>/",
        views.conversation,
        name="tenant-conversation",
    ),
    path(
        "tenants/<tenant:tenant_id>/conversations/<str:ref>/clear/",
        views.clear,
        name="tenant-conversation-clear",
    ),
]
