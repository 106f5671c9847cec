"""How many wait and are held, cached by each worker for seconds: shown in the navigation, the title and the tabs.

A count costs one Query per company, whatever waits there: it ends at `COUNTED`.
"""

from collections.abc import Iterable
from functools import partial

from console import clock
from console.caching import cached_for
from console.store.calls import parallel
from console.store.connection import call
from console.store.values import plain_item
from conversations.models import held_in, waiting_in
from conversations.queue.counts import COUNTED, Count, Held
from conversations.queue.entries import COLLEAGUES, MINE, OVERRIDDEN, WAITING, entry_of
from conversations.queue.filtered import read_queue
from conversations.queue.indexed import index_query
from conversations.queue.pages import at_once
from conversations.queue.reading import is_indexed
from conversations.reading import is_true

HELD_COUNTED = 200
SECONDS = 5
# Without the index a count looks through a company as the queue's page does: not for every page of every person.
THIN_SECONDS = 60
_ATTRIBUTES = ("primary_channel", "conversation_id", "company_id", "hand_off_to_human", "hand_off_agent", "ttl")


@cached_for(SECONDS)
def waiting_in_company(company_id: str) -> Count:
    """How many wait for a human in a company. Raises the store's errors."""
    if not is_indexed():
        return _looked_through(company_id)[0]
    answer = call("Query", **index_query(waiting_in(company_id), ("hand_off_to_human", "ttl"), COUNTED))
    now = clock.now()
    # Neither what the platform has cleared meanwhile, nor what has expired.
    items = map(plain_item, answer["Items"])
    number = sum(
        is_true(each.get("hand_off_to_human")) and not clock.is_expired(each.get("ttl"), now) for each in items
    )
    return Count(number, bool(answer.get("LastEvaluatedKey")))


@cached_for(SECONDS)
def held_in_company(company_id: str) -> Held:
    """What people hold in a company. Raises the store's errors."""
    if not is_indexed():
        return _looked_through(company_id)[1]
    answer = call("Query", **index_query(held_in(company_id), _ATTRIBUTES, HELD_COUNTED))
    now = clock.now()
    entries = [entry for raw in answer["Items"] if (entry := entry_of(raw, now)) is not None]
    return Held.among(entries, more=bool(answer.get("LastEvaluatedKey")))


@cached_for(THIN_SECONDS)
def _looked_through(company_id: str) -> tuple[Count, Held]:
    found = read_queue([company_id])
    more = bool(found.incomplete)
    return Count(len(found.of_tab(WAITING)), more), Held.among(found.entries, more=more)


def waiting(company_ids: Iterable[str]) -> Count:
    """How many wait in all these companies; beyond `COMPANIES_AT_ONCE` of them it is "so many and more"."""
    asked, left_out = at_once(company_ids)
    counts = parallel(*(partial(waiting_in_company, company_id) for company_id in asked))
    return sum(counts, Count(more=bool(left_out)))


def held(company_ids: Iterable[str], username: str, *, read: bool) -> dict[str, Count]:
    """How many the tabs of held conversations list for a person; empty unless cached where it may not `read`."""
    asked, left_out = at_once(company_ids)
    if read:
        found = parallel(*(partial(held_in_company, company_id) for company_id in asked))
    else:
        found = [each for each in map(held_in_company.known, asked) if each is not None]
        if len(found) < len(asked):
            return {}
    start = Count(more=bool(left_out))
    return {tab: sum((each.of_tab(tab, username) for each in found), start) for tab in (MINE, COLLEAGUES, OVERRIDDEN)}


def forget(company_id: str) -> None:
    """Count a company anew: this worker has just changed something there."""
    for each in (waiting_in_company, held_in_company, _looked_through):
        each.forget(company_id)
