"""The console's Django application."""

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class ConsoleConfig(AppConfig):
    """Base of the console: everything that the resource apps stand on."""

    name = "console"

    def ready(self) -> None:
        """Refuse to start with another environment's tables, in production with what is for development, or with
        settings of the company's sign-in that cannot work. Register what the search box finds here, and
        that an id which the trail names is in use."""
        from console.audit.queries import exists as is_in_trail
        from console.audit.search import FINDER as EVENTS
        from console.dynamodb.environments import assert_environment
        from console.search import finders
        from console.staff import known_companies
        from console.staff.oidc.configuration import assert_oidc
        from console.staff.search import FINDER as STAFF
        from console.staff.second_factor import assert_required

        assert_environment()
        assert_production()
        assert_required()
        assert_oidc()
        finders.register(EVENTS)
        finders.register(STAFF)
        known_companies.register_existence(is_in_trail)


def assert_production() -> None:
    """Raise `ImproperlyConfigured` in production for DEBUG, PLAIN_HTTP and a host name of `*`.

    Each of them would give away sessions or show personal data on error pages.
    """
    from console.dynamodb.environments import PRODUCTION

    if settings.CONSOLE_ENV not in PRODUCTION:
        return
    found = [name for name in ("DEBUG", "PLAIN_HTTP") if getattr(settings, name)]
    found += ["ALLOWED_HOSTS=*"] if "*" in settings.ALLOWED_HOSTS else []
    if found:
        raise ImproperlyConfigured(f"CONSOLE_ENV is production, where {' and '.join(found)} must not be set.")
