"""The console's routes, and one that reads a conversation, tells of it in the log, and fails."""

import logging

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from console.access import public
from console.store.connection import call
from conversations.models import Conversation

logger = logging.getLogger("tests.failing")


@public
@csrf_exempt
def failing(request: HttpRequest, word: str, channel: str, conversation_id: str) -> HttpResponse:
    """Fail, with all that the request and the conversation hold in a variable."""
    item = Conversation.get(channel, conversation_id)
    local = f"{word} {request.body.decode()} {request.GET} {request.COOKIES} {request.headers} {item.raw}"
    logger.info("A line of %s with %d characters", channel, len(local))
    try:
        call(
            "Query",
            TableName="zeppelin",
            KeyConditionExpression="a = :b",
            ExpressionAttributeValues={":b": {"S": word}},
        )
    except Exception as error:
        raise ValueError(f"Nobody writes to {channel}") from error
    return HttpResponse("never")


urlpatterns = [
    path("failing/<str:word>/<str:channel>/<str:conversation_id>/", failing, name="failing"),
    path("", include("console.urls")),
]
handler400 = "console.views.bad_request"
handler403 = "console.views.forbidden"
handler404 = "console.views.not_found"
handler500 = "console.views.server_error"
