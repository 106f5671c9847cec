"""Routes of the other stores."""

from django.urls import path, register_converter

from conversations.stores import StoreConverter, views

register_converter(StoreConverter, "store")

urlpatterns = [
    path("<store:store>/", views.home, name="store"),
    path("<store:store>/find/", views.find, name="store-find"),
    path("<store:store>/lists/<str:ref>/", views.listing, name="store-list"),
    path("<store:store>/<str:ref>/", views.record, name="store-record"),
    path("<store:store>/<str:ref>/<slug:action>/", views.act, name="store-action"),
]
