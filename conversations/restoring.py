"""After the table of messages was restored to an earlier time: what waits in it may have left since."""

from collections.abc import Iterator

from conversations.companies import all_companies
from conversations.receiving.approvals import doubt_waiting
from conversations.receiving.models import TO_SEND, MessageRow
from conversations.sending.delivering import doubt


def doubt_replies() -> Iterator[bool]:
    """Let the provider be asked about each reply that waits to be sent, as if its sender had died; whether it is.

    None is sent by itself any more. No sender may run meanwhile. Raises the store's errors.
    """
    for each in list(MessageRow.due_index.query(TO_SEND)):
        yield doubt(each.conversation, each.position)


def doubt_first_messages() -> int:
    """Say of each first message that waits for approval that it may have been sent; how many that are.

    Raises the store's errors.
    """
    return sum(doubt_waiting(company.company_id) for company in all_companies())
