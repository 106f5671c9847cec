"""The menu of saved views on a page that does not know of them."""

from collections.abc import Mapping
from typing import Any

from django import template

from console.permissions import Staff
from conversations.lists.views import saved_views
from conversations.queue.form import QueueForm

register = template.Library()


@register.simple_tag
def queue_menu(form: QueueForm, names: Mapping[str, str], staff: Staff) -> dict[str, Any]:
    """Return the menu of the queue for a form's filters. `names`: companies in scope by id."""
    return saved_views.queue_menu(form, names, staff)
