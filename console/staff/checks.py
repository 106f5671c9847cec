"""What an account may be called and hold: one place for the forms, the command line and the company's own sign-in."""

from collections.abc import Iterable
from zoneinfo import available_timezones

from console.errors import Invalid
from console.staff.accounts import normal_username
from console.staff.permissions import Scope

MAX_SCOPE = 500
MAX_NAME = 80
# An account of that name would have no page: its address is another one's.
KEPT_FOR_PAGES = frozenset({"new"})
# What the trail calls those who are no member of staff: an account of that name would act under theirs.
KEPT_FOR_TRAIL = frozenset({"platform", "command-line", "unknown", "visitor", "system", "middleware"})
USERNAME_RULES = (
    "A username has 1 to 64 lower-case letters, digits, dots, dashes or underscores; it is no email address."
)


def checked_username(typed: str) -> str:
    """A username as stored. Raises `Invalid`."""
    name = normal_username(typed)
    if not name:
        raise Invalid(USERNAME_RULES)
    if name in KEPT_FOR_PAGES:
        raise Invalid(f"The username {name!r} is kept for a page of the console. Choose another one.")
    if name in KEPT_FOR_TRAIL:
        raise Invalid(f"The username {name!r} is kept for what is no person. Choose another one.")
    return name


def checked_scope(ids: Iterable[str]) -> list[str]:
    """Company and tenant ids as stored: sorted, or `*` for all (also said as "all"). Raises `Invalid`."""
    cleaned = [each.strip() for each in ids]
    if any(each.lower() == "all" for each in cleaned):
        cleaned.append("*")
    for each in cleaned:
        if "#" in each or len(each) > 200 or not each.isprintable():
            raise Invalid(f"{each[:50]!r} is not a company or tenant id.")
    stored = Scope.of(cleaned).stored()
    if len(stored) > MAX_SCOPE:
        raise Invalid(f"A scope has at most {MAX_SCOPE} ids; give scope all instead.")
    return stored


def checked_display_name(name: str) -> str:
    """A name as stored: on one line. Raises `Invalid`."""
    cleaned = " ".join(name.split())
    if len(cleaned) > MAX_NAME or not cleaned.isprintable():
        raise Invalid(f"A display name has at most {MAX_NAME} printable characters.")
    return cleaned


def check_time_zone(name: str) -> None:
    """Raise `Invalid` for a zone that this machine does not know."""
    # A machine without a time zone database knows none, and UTC needs none.
    if name != "UTC" and name not in available_timezones():
        raise Invalid(f"{name[:50]!r} is not a time zone. Use a name such as Europe/London or UTC.")
