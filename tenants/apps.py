"""The Django application of tenants."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """See the package's modules."""

    name = "tenants"
