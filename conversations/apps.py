"""The Django application of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """See the package's modules."""

    name = "conversations"

    def ready(self) -> None:
        """Tell the trail's pages whose a conversation is, and the staff's what to release and which companies exist."""
        from console.audit import scoping
        from console.staff import known_companies, services
        from conversations.companies import names_for
        from conversations.release import release_everything_of
        from conversations.scoping import companies_of

        scoping.register(companies_of)
        known_companies.register(names_for)
        services.on_disabled.append(release_everything_of)
