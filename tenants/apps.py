"""The Django application of tenants."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Configuration of the tenants application."""

    name = "tenants"

    def ready(self) -> None:
        """Register the tenants and their finders with the console."""
        from console.audit.sentences import register_settings
        from console.permissions import TENANT
        from console.search import finders
        from console.staff import known_companies
        from tenants.queries import exists, tenant_names
        from tenants.search import FINDERS
        from tenants.settings_text import LABELS

        known_companies.register(tenant_names, TENANT)
        known_companies.register_existence(exists, TENANT)
        register_settings(LABELS)
        for finder in FINDERS:
            finders.register(finder)
