"""Routes of what leads arrange for their team."""

from django.urls import path

from conversations.team.views import saved_replies, team

urlpatterns = [
    path("team/", team.team, name="team"),
    path("team/levels/<str:company_id>/", team.service_levels, name="service-levels"),
    path("team/groups/<str:company_id>/", team.agent_groups, name="agent-groups"),
    path("team/budgets/<str:company_id>/", team.budget, name="budget"),
    path("conversations/<str:ref>/saved-replies/", saved_replies.pick, name="conversation-saved-replies"),
    path("saved-replies/", saved_replies.index, name="saved-replies"),
    path("saved-replies/new/", saved_replies.new, name="saved-reply-new"),
    path("saved-replies/<str:ref>/change/", saved_replies.change, name="saved-reply-change"),
    path("saved-replies/<str:ref>/delete/", saved_replies.delete, name="saved-reply-delete"),
]
