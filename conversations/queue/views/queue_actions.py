"""Actions on the queue as a whole: take the longest-waiting conversation, release all of mine."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.errors import BadReference
from console.permissions import Permission
from console.refs import unseal
from conversations.converting import conversation_url, seal_list_context
from conversations.handoff.outcomes import describe_routing_left
from conversations.queue.actions import release_mine as release_held
from conversations.queue.actions import take_longest
from conversations.queue.form import QueueForm
from conversations.queue.pages import WAITING
from conversations.queue_index.readiness import is_indexed


@requires(Permission.HAND_OFF)
@post_only_form("queue")
def take(request: StaffRequest) -> HttpResponse:
    """Take the longest-waiting conversation that matches the filters. A form sent twice takes one."""
    username, action_id = unseal("take", request.POST.get("token", ""), 2)
    if username != request.staff.username:
        raise BadReference
    form = QueueForm(request.POST)
    taken = take_longest(form.filters(), action_id, request.staff)
    if taken is None:
        # Without its index the queue says so itself, and nobody knows who waits.
        if is_indexed():
            messages.info(request, "Nobody is waiting any more. Colleagues took the last ones.")
        return redirect(form.url_of(WAITING))
    messages.success(request, "You have this conversation.")
    context = seal_list_context({"list": "queue", "tab": WAITING, "filters": form.values()})
    return redirect(conversation_url(taken.summary.reference, context, others=True))


@requires(Permission.HAND_OFF)
@post_only_form("queue")
def release_mine(request: StaffRequest) -> HttpResponse:
    """Release everything that the person holds, and say how many companies were not searched completely."""
    report = release_held(request.staff)
    released, failed = len(report.released), len(report.failed)
    if failed:
        messages.warning(request, f"{failed} could not be returned to the queue. Check them, then try again.")
    if released:
        what = "1 conversation is" if released == 1 else f"{released} conversations are"
        messages.success(request, f"{what} back in the queue. The waiting times of unanswered customers continue.")
    if report.routing_left:
        messages.warning(request, describe_routing_left(report.routing_left))
    if report.unread:
        where = "1 company was" if report.unread == 1 else f"{report.unread:,} companies were"
        messages.warning(
            request, f"{where} not searched to the end. Return anything else you hold there from its conversation."
        )
    elif not released and not failed:
        messages.info(request, "You hold no conversations.")
    return redirect("queue")
