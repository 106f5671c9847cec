"""The Django application of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Configuration of the conversations app."""

    name = "conversations"

    def ready(self) -> None:
        """Register the system checks and everything this app contributes to the base.

        Finders of the search box, sections of the system page, gauges for scrapes, the source of a trail's
        conversation, the names and existence of companies, what to release when an account is disabled, the queue's
        count in the navigation, and the other stores of conversations.
        """
        from console import context, system_sections
        from console.audit import scoping
        from console.permissions import COMPANY, TENANT
        from console.search import finders
        from console.staff import known_companies, services
        from conversations import background, checks, gauges, stores  # noqa: F401 importing checks registers them
        from conversations.companies import exists as company_exists
        from conversations.companies import names_for, project_names
        from conversations.indexer.section import TITLE, section
        from conversations.lookups import conversations_of, country_codes, known_conversation
        from conversations.queue.actions import release_everything_of
        from conversations.reading import url_by_id
        from conversations.search import COMPANIES, CONVERSATIONS
        from conversations.sending import section as replies
        from conversations.stores.chats.adapter import Chats
        from conversations.stores.tenant_conversations.services import exists as tenant_conversation_exists
        from conversations.stores.threads.adapter import Threads

        finders.register(CONVERSATIONS)
        finders.register_codes(country_codes)
        finders.register(COMPANIES)
        system_sections.register(TITLE, section)
        system_sections.register(background.TITLE, background.section)
        system_sections.register(replies.TITLE, replies.section)
        gauges.register()
        scoping.register(
            scoping.ConversationSource(known_conversation, url_by_id, project_names, of_recipient=conversations_of)
        )
        known_companies.register(names_for, COMPANY)
        known_companies.register_existence(company_exists, COMPANY)
        known_companies.register_existence(tenant_conversation_exists, TENANT)
        services.on_disabled.append(release_everything_of)
        context.register_count("queue", "queue-count")
        stores.register(Chats())
        stores.register(Threads())
