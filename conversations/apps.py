"""The Django application of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """See the package's modules."""

    name = "conversations"

    def ready(self) -> None:
        """Tell the trail's pages to which company a conversation belongs, and staff accounts what to release."""
        from console.audit import scoping
        from console.staff import services
        from conversations.release import release_everything_of
        from conversations.scoping import companies_of

        scoping.register(companies_of)
        services.on_disabled.append(release_everything_of)
