"""Routes of the audit trail."""

from django.urls import path

from console.audit import views

urlpatterns = [
    path("", views.overview, name="audit"),
    path("trails/<str:ref>/", views.trail, name="trail"),
]
