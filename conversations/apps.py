"""The Django application of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Configuration of the conversations app."""

    name = "conversations"

    def ready(self) -> None:
        """Register the system checks and everything this app contributes to the base.

        Finders of the search box, sections of the system page, gauges for scrapes, the source of a trail's
        conversation, the names and existence of companies, what to release when an account is disabled, the queue's
        count in the navigation, the counts of first messages, and the other stores of conversations.
        """
        from console import context, system_sections
        from console.audit import scoping
        from console.permissions import COMPANY, TENANT
        from console.search import finders
        from console.staff import known_companies, services
        from conversations import stores
        from conversations.companies import exists as company_exists
        from conversations.companies import names_for, project_names
        from conversations.converting import url_by_id
        from conversations.finding.lookups import conversations_of, country_codes, ids_of, known_conversation
        from conversations.finding.search import COMPANIES, CONVERSATIONS
        from conversations.handoff.partitions import QueueState
        from conversations.indexer.section import TITLE, section
        from conversations.queue.actions import release_everything_of
        from conversations.queue_index import refreshing
        from conversations.receiving import approvals, not_placed, to_place
        from conversations.sending import section as replies
        from conversations.stores.chats.adapter import Chats
        from conversations.stores.tenant_conversations.services import exists as tenant_conversation_exists
        from conversations.stores.threads.adapter import Threads
        from conversations.work import background, checks, gauges  # noqa: F401 importing checks registers them

        finders.register(CONVERSATIONS)
        finders.register_codes(country_codes)
        finders.register(COMPANIES)
        system_sections.register(TITLE, section)
        system_sections.register(background.TITLE, background.section)
        system_sections.register(replies.TITLE, replies.section)
        system_sections.register(not_placed.TITLE, not_placed.section)
        gauges.register()
        scoping.register(
            scoping.ConversationSource(known_conversation, url_by_id, project_names, conversations_of, ids_of)
        )
        known_companies.register(names_for, COMPANY)
        known_companies.register_existence(company_exists, COMPANY)
        known_companies.register_existence(tenant_conversation_exists, TENANT)
        services.on_disabled.append(release_everything_of)
        refreshing.register_reader(QueueState.APPROVE, approvals.read_content)
        refreshing.register_reader(QueueState.PLACE, to_place.read_content)
        context.register_count("queue", "queue-count")
        stores.register(Chats())
        stores.register(Threads())
