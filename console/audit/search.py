"""The search box's results among idempotency records, for people who may review them."""

from django.urls import reverse

from console.audit.events.keys import decode
from console.audit.events.queries import find_event
from console.permissions import Permission, Staff
from console.refs import seal
from console.search.finders import Finder, FinderResult, SearchHit
from console.search.meanings import MeaningKind


def _event(value: str, staff: Staff) -> FinderResult:
    find_event(value, staff)
    decoded = decode(value)
    return FinderResult((SearchHit(decoded.description, reverse("event", args=[seal("event", value)]), decoded.shown),))


FINDER = Finder("Idempotency records", Permission.AUDIT_REVIEW, {MeaningKind.EVENT: _event})
