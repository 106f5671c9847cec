"""Routes of tenants. An id is plain in the URL, or sealed if it might be personal data such as a phone number."""

from django.urls import path, register_converter

from tenants.keys import TenantId
from tenants.views import channels, companies, listing, onboarding, resolve, settings, status, tenant, users

register_converter(TenantId, "tenant")

_ONE = "tenants/<tenant:tenant_id>/"
urlpatterns = [
    path("tenants/", listing.index, name="tenants"),
    path("tenants/new/", onboarding.new, name="tenant-new"),
    path(_ONE, tenant.overview, name="tenant"),
    path(f"{_ONE}onboarding/<str:step>/", onboarding.step, name="tenant-onboarding"),
    path(f"{_ONE}readiness/", tenant.readiness, name="tenant-readiness"),
    path(f"{_ONE}history/", tenant.history, name="tenant-history"),
    path(f"{_ONE}memories/", tenant.memories, name="tenant-memories"),
    path(f"{_ONE}status/<str:step>/", status.change, name="tenant-status"),
    path(f"{_ONE}settings/", settings.show, name="tenant-settings"),
    path(f"{_ONE}settings/change/", settings.change, name="tenant-settings-change"),
    path(f"{_ONE}users/", users.index, name="tenant-users"),
    path(f"{_ONE}users/new/", users.new, name="tenant-user-new"),
    path(f"{_ONE}users/<str:ref>/change/", users.change, name="tenant-user-change"),
    path(f"{_ONE}users/<str:ref>/remove/", users.remove, name="tenant-user-remove"),
    path(f"{_ONE}channels/", channels.index, name="tenant-channels"),
    path(f"{_ONE}channels/new/", channels.new, name="tenant-channel-new"),
    path(f"{_ONE}channels/<str:ref>/complete/", channels.complete, name="tenant-channel-complete"),
    path(f"{_ONE}channels/<str:ref>/move/", channels.move, name="tenant-channel-move"),
    path(f"{_ONE}channels/<str:ref>/release/", channels.release, name="tenant-channel-release"),
    path(f"{_ONE}companies/link/", companies.link, name="tenant-company-link"),
    path(f"{_ONE}companies/<str:ref>/unlink/", companies.unlink, name="tenant-company-unlink"),
    path("channels/resolve/", resolve.resolve, name="channels-resolve"),
]
