"""The console's Django application."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The base app that the resource apps build on."""

    name = "console"

    def ready(self) -> None:
        """Register the system checks, search finders, sections of the system page, and the trail's check for ids."""
        from console import checks, key_record, system_sections  # noqa: F401 importing checks registers them
        from console.audit import backfill
        from console.audit.queries import company_has_entries as is_in_trail
        from console.audit.search import FINDER as EVENTS
        from console.search import finders
        from console.staff import known_companies
        from console.staff.search import FINDER as STAFF

        system_sections.register(key_record.TITLE, key_record.section)
        system_sections.register(backfill.TITLE, backfill.section)
        finders.register(EVENTS)
        finders.register(STAFF)
        known_companies.register_existence(is_in_trail)
