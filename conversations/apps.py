"""The Django application of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """See the package's modules."""

    name = "conversations"
