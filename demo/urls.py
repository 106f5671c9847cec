"""Routes of the demo: the console's, and the sign-in link. Only the demo's settings use them."""

from django.urls import path

from console.urls import handler400, handler403, handler404, handler500, urlpatterns
from demo.links import sign_in

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [path("demo/sign-in/<str:role>/<str:code>/", sign_in, name="demo-sign-in"), *urlpatterns]
