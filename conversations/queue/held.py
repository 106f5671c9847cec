"""Everything that one person holds, for releasing it: no page of it is shown."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from console.store.calls import parallel
from console.store.connection import call
from conversations.models import held_in
from conversations.queue.entries import MINE
from conversations.queue.filtered import READS_PER_COMPANY, read_queue
from conversations.queue.indexed import index_query
from conversations.queue.pages import COMPANIES_AT_ONCE
from conversations.queue.reading import is_indexed

# Rows of one read, 1 MB of them at most.
_ROWS = 1000

Keys = list[tuple[str, str]]


def keys_held_by(
    username: str, company_ids: Iterable[str], reads_per_company: int = READS_PER_COMPANY
) -> Iterator[tuple[Keys, int]]:
    """Primary channel and conversation id of what a person holds, and how many companies were not read to their end.

    `COMPANIES_AT_ONCE` companies at a time. Raises the store's errors.
    """
    wanted = list(dict.fromkeys(company_ids))
    indexed = is_indexed()
    for start in range(0, len(wanted), COMPANIES_AT_ONCE):
        companies = wanted[start : start + COMPANIES_AT_ONCE]
        if indexed:
            reads = parallel(*(partial(_held, username, company_id, reads_per_company) for company_id in companies))
            yield [key for keys, _ in reads for key in keys], sum(not complete for _, complete in reads)
        else:
            found = read_queue(companies, reads_per_company)
            yield [entry.key for entry in found.of_tab(MINE, username)], len(found.incomplete)


def _held(username: str, company_id: str, reads: int) -> tuple[Keys, bool]:
    query = index_query(held_in(company_id), ("primary_channel", "conversation_id"), _ROWS)
    query["FilterExpression"] = "#agent = :username"
    query["ExpressionAttributeNames"]["#agent"] = "hand_off_agent"
    query["ExpressionAttributeValues"][":username"] = {"S": username}
    keys: Keys = []
    start: dict[str, Any] = {}
    for _ in range(reads):
        answer = call("Query", **query, **start)
        keys += ((raw["primary_channel"]["S"], raw["conversation_id"]["S"]) for raw in answer["Items"])
        if not (last := answer.get("LastEvaluatedKey")):
            return keys, True
        start = {"ExclusiveStartKey": last}
    return keys, False
