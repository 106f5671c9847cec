"""Routes of the destinations of notifications."""

from django.urls import path

from conversations.notifications import views

urlpatterns = [
    path("team/notifications/", views.index, name="notifications"),
    path("team/notifications/new/", views.new, name="destination-new"),
    path("team/notifications/<str:ref>/", views.destination, name="destination"),
    path("team/notifications/<str:ref>/change/", views.change, name="destination-change"),
]
