"""Routes of Insight."""

from django.urls import path

from conversations.insight.views import behind, reports, weekly_summary

urlpatterns = [
    path("insight/", reports.report, name="insight"),
    path("insight/summary/<str:company_id>/", weekly_summary.summary, name="insight-summary"),
    path("insight/<slug:slug>/", reports.report, name="insight-report"),
    path("insight/<slug:slug>/behind/", behind.behind, name="insight-behind"),
    path("insight/<slug:slug>/behind/rows.csv", behind.behind_csv, name="insight-behind-csv"),
    path("insight/<slug:slug>/<slug:chart_id>.csv", reports.chart_csv, name="insight-csv"),
]
