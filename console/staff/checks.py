"""Validation of accounts' attributes, for the forms, the command line and the company's own sign-in."""

from collections.abc import Collection, Iterable
from zoneinfo import available_timezones

from console.errors import Invalid
from console.permissions import ALL, COMPANY, TENANT, Scope
from console.staff.accounts import normal_username

MAX_SCOPE = 500
MAX_ID = 200
MAX_NAME = 80
# An account with that name would have no page: its URL belongs to another page.
RESERVED_FOR_URLS = frozenset({"new"})
# The trail's names for actors that are not staff: an account with such a name would be mistaken for one.
RESERVED_FOR_TRAIL = frozenset({"platform", "command-line", "unknown", "visitor", "system", "middleware"})
USERNAME_RULES = "A username has 1 to 64 lower-case letters, digits, dots, dashes or underscores; not an email address."


def checked_username(typed: str) -> str:
    """Return a username as stored. Raises `Invalid`."""
    name = normal_username(typed)
    if not name:
        raise Invalid(USERNAME_RULES)
    if name in RESERVED_FOR_URLS | RESERVED_FOR_TRAIL:
        raise Invalid(f"The username {name!r} is reserved. Choose another one.")
    return name


def checked_scope(entries: Iterable[str], kept: Collection[str] = ()) -> list[str]:
    """Return a scope's entries as stored: `company:ID` and `tenant:ID`, sorted, or `*` for all. Raises `Invalid`.

    An old entry, an id without its kind, is allowed only if it is in `kept`. No word means all, as it could be a
    tenant's id.
    """
    cleaned = [each.strip() for each in entries]
    for each in cleaned:
        if each != ALL and each not in kept:
            _check_entry(each)
    stored = Scope.of(cleaned).stored()
    if len(stored) > MAX_SCOPE:
        raise Invalid(f"A scope has at most {MAX_SCOPE} companies and tenants; give all instead.")
    return stored


def _check_entry(entry: str) -> None:
    kind = next((each for each in (COMPANY, TENANT) if entry.startswith(each)), "")
    owner_id = entry.removeprefix(kind)
    if not owner_id or owner_id == ALL or "#" in owner_id or len(owner_id) > MAX_ID or not owner_id.isprintable():
        raise Invalid(f"{entry[:50]!r} is not a company or tenant id.")
    if not kind:
        shown = owner_id[:50]
        raise Invalid(f"Say what {shown!r} is: {COMPANY}{shown} or {TENANT}{shown}.")


def checked_display_name(name: str) -> str:
    """Return a display name as stored: on one line. Raises `Invalid`."""
    cleaned = " ".join(name.split())
    if len(cleaned) > MAX_NAME or not cleaned.isprintable():
        raise Invalid(f"A display name has at most {MAX_NAME} printable characters.")
    return cleaned


def check_time_zone(name: str) -> None:
    """Raise `Invalid` for a zone that this machine does not know."""
    # UTC must work even on a machine without a time zone database.
    if name != "UTC" and name not in available_timezones():
        raise Invalid(f"{name[:50]!r} is not a time zone. Use a name such as Europe/London or UTC.")
