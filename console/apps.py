"""The console's Django application."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The base that the resource apps build on."""

    name = "console"

    def ready(self) -> None:
        """Register the checks, and what this app adds to search and to the ids in use."""
        from console import checks  # noqa: F401 importing registers them
        from console.audit.queries import exists as is_in_trail
        from console.audit.search import FINDER as EVENTS
        from console.search import finders
        from console.staff import known_companies
        from console.staff.search import FINDER as STAFF

        finders.register(EVENTS)
        finders.register(STAFF)
        known_companies.register_existence(is_in_trail)
