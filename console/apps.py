"""The console's Django application."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """Base of the console: everything that the resource apps stand on."""

    name = "console"

    def ready(self) -> None:
        """Refuse to start with another environment's tables."""
        from console.dynamodb.registry import assert_environment

        assert_environment()
