"""Routes of the app: each part's own, in the order in which they are tried."""

from django.urls import include, path

# "conversations/find/" before "conversations/<ref>/"; the other stores last, because a store's name is a whole part of
# the path, as the other sections' fixed ones are.
PARTS = (
    *("lists", "queue", "team", "notifications", "insight", "conversation"),
    *("stores.tenant_conversations", "stores"),
)
urlpatterns = [path("", include(f"conversations.{part}.urls")) for part in PARTS]
