"""The Django application of tenants."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Configuration of the tenants application."""

    name = "tenants"

    def ready(self) -> None:
        """Register the tenants and their finders with the console."""
        from console.permissions import TENANT
        from console.search import finders
        from console.staff import known_companies
        from tenants.queries import exists, tenant_names
        from tenants.search import FINDERS

        known_companies.register(tenant_names, TENANT)
        known_companies.register_existence(exists, TENANT)
        for finder in FINDERS:
            finders.register(finder)
