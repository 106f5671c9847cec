"""Routes of the whole console, grouped by resource. `/healthz` and `/readyz` are answered by `console.middleware`."""

from django.urls import include, path

from console import views
from console.help import help_page
from console.lookups import views as search

urlpatterns = [
    path("", views.home, name="home"),
    path("help/", help_page, name="help"),
    path("search/", search.search, name="search"),
    path("audit/", include("console.audit.urls")),
    path("system/", views.system, name="system"),
    path("", include("console.staff.urls")),
    path("", include("tenants.urls")),
    # Last: a pattern of the stores takes any first part for a store's name, and looks it up.
    path("", include("conversations.urls")),
]
handler400 = "console.views.bad_request"
handler403 = "console.views.forbidden"
handler404 = "console.views.not_found"
handler500 = "console.views.server_error"
