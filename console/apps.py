"""The console's Django application."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The base app that the resource apps build on."""

    name = "console"

    def ready(self) -> None:
        """Register the system checks, the search finders, and the trail's check for ids in use."""
        from console import checks  # noqa: F401 importing registers them
        from console.audit.queries import company_has_entries as is_in_trail
        from console.audit.search import FINDER as EVENTS
        from console.search import finders
        from console.staff import known_companies
        from console.staff.search import FINDER as STAFF

        finders.register(EVENTS)
        finders.register(STAFF)
        known_companies.register_existence(is_in_trail)
