"""The Django application of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Configuration of the conversations app."""

    name = "conversations"

    def ready(self) -> None:
        """Let each feature register what it gives the base, which knows none of them. Sections keep this order."""
        from conversations import companies, stores
        from conversations.finding import search
        from conversations.indexer import section as indexer
        from conversations.queue import actions as queue
        from conversations.receiving import not_placed
        from conversations.sending import section as replies
        from conversations.stores.chats.adapter import Chats
        from conversations.stores.tenant_conversations import services as tenant_conversations
        from conversations.stores.threads.adapter import Threads
        from conversations.work import background, checks, gauges  # noqa: F401 importing checks registers them

        features = (companies, search, queue, indexer, background, replies, not_placed, gauges, tenant_conversations)
        for feature in features:
            feature.register_with_base()
        stores.register(Chats())
        stores.register(Threads())
