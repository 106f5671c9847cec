"""What threads and their organisations are called where a page only leads to them."""

from console.errors import ConsoleError
from console.permissions import Staff
from console.redaction import excerpt, redact
from conversations.companies import names_for
from conversations.stores.records import RecordLink, a_list
from conversations.stores.threads.keys import ThreadKey
from conversations.stores.threads.loading import metadata_of
from conversations.stores.threads.reading import TITLE, title_of

UNTITLED = "Untitled thread"


def called(organisation: str, staff: Staff) -> str:
    """What an organisation is called: by the registry of companies, which a worker remembers; else its id."""
    try:
        return names_for(staff).get(organisation) or redact(organisation)
    except ConsoleError:
        return redact(organisation)


def organisation_link(organisation: str, staff: Staff) -> RecordLink:
    """The organisation's list, by its name."""
    return RecordLink(called(organisation, staff), a_list("org", organisation))


def thread_name(key: ThreadKey, staff: Staff) -> str:
    """A thread's title, redacted as in lists: nobody has opened it. One read, whose failure costs the name only."""
    try:
        found, _ = metadata_of(key, staff)
    except ConsoleError:
        return "Thread"
    return excerpt(title_of(found[0] if found else None), TITLE) or UNTITLED
