"""The Django application of tenants."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """See the package's modules."""

    name = "tenants"

    def ready(self) -> None:
        """Register what the base asks apps for: which tenants there are, and how they are found."""
        from console.permissions import TENANT
        from console.search import finders
        from console.staff import known_companies
        from tenants.queries import exists, names_for
        from tenants.search import FINDERS

        known_companies.register(names_for, TENANT)
        known_companies.register_existence(exists, TENANT)
        for finder in FINDERS:
            finders.register(finder)
