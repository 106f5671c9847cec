"""The companies that people may choose from, and a company's projects.

Listing the companies of the conversations table would need a scan of all of it. The console therefore keeps a
registry in its own table (`pk = COMPANIES`, `sk` = company id). The indexer adds the companies it sees; `manage.py
companies discover` finds the earlier ones.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from pynamodb.attributes import UnicodeAttribute

from console import clock
from console.caching import cached_for
from console.errors import NotFound, TableMissing
from console.permissions import ALL, COMPANY, Permission, Staff
from console.staff import known_companies
from console.store.calls import ConditionFailed, parallel, table_name
from console.store.connection import call
from console.store.models import SORT_KEY_BYTES, ConsoleItem, LenientItem, WholeNumberAttribute, fits, plain, plain_item
from conversations.converting import is_gone, text_of
from conversations.models import CompanyProjectIndex, Conversation

PARTITION = "COMPANIES"
PROJECTS_SHOWN = 50
# Maximum pages read of the registry, with some 7,000 companies each.
REGISTRY_READS = 4
# How long people whose scope names a company may see its old name.
CACHED_SECONDS = 30
# Minimum time between an indexer's notes of a company: a write per message would cost more than the queue itself.
NOTED_SECONDS = 60
# The key of the registry's revision.
REVISION = {"pk": "COMPANIES_REVISION", "sk": "REVISION"}
# Projects are rarely renamed.
NAMES_CACHED_SECONDS = 300


class RegisteredCompany(ConsoleItem):
    """A company of the registry. `source` is what registered it first; `seen_at` is ISO 8601 text in UTC."""

    pk = UnicodeAttribute(hash_key=True, default=PARTITION)
    name = UnicodeAttribute(null=True)
    source = UnicodeAttribute(null=True)
    seen_at = UnicodeAttribute(null=True)


class RegistryRevision(LenientItem):
    """A number that changes with every new company or name."""

    revision = WholeNumberAttribute(null=True)


@dataclass(frozen=True, slots=True)
class Company:
    """A company as lists show it. `name` is its id while no name is known."""

    company_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """A company as an item names it. `seen_at` is ISO 8601; sightings of one company are equal."""

    company_id: str
    name: str = field(compare=False)
    seen_at: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Project:
    """A project of a company. `name` is its id while no name is known."""

    project_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Projects:
    """The projects of a company that were read; `more`: there are others."""

    projects: tuple[Project, ...]
    more: bool


def companies_for(staff: Staff, revision: str = "") -> tuple[Company, ...]:
    """List the companies in a person's scope by name; without a registry, those that the scope names.

    Each worker reads the registry at most every `CACHED_SECONDS`. People with scope "all" see a new company
    immediately, because one GetItem checks the registry's revision, unless the caller has just read it.
    """
    if staff.scope.is_empty:
        return ()
    names = {company_id: company_id for company_id in staff.scope.company_ids}
    for company_id, name in _registered((revision or _revision()) if staff.scope.everything else ""):
        if staff.scope.covers_company(company_id):
            names[company_id] = name or company_id
    companies = (Company(company_id, name) for company_id, name in names.items())
    return tuple(sorted(companies, key=lambda company: (company.name.casefold(), company.company_id)))


def all_companies() -> tuple[Company, ...]:
    """List every company of the registry, for background work. Raises the store's errors."""
    return tuple(Company(company_id, name or company_id) for company_id, name in _registered(""))


def check_team_lead(company_id: str, staff: Staff) -> None:
    """Raise `Forbidden` unless a person leads a team, and `NotFound` unless the company is in their scope."""
    staff.require(Permission.TEAM_LEAD)
    if not staff.scope.covers_company(company_id):
        raise NotFound


def find(company_id: str) -> Company | None:
    """Return a company of the registry or of a conversation, or None. At most one GetItem and one Query."""
    if named := company_named(company_id):
        return named
    try:
        return Company(company_id, company_id) if _query(company_id, None, 1) else None
    except TableMissing:
        return None


def exists(company_id: str) -> bool:
    """Return whether a company has this id. At most one GetItem and one Query."""
    return find(company_id) is not None


def names_for(staff: Staff, revision: str = "") -> dict[str, str]:
    """Return the names by id of the companies in a person's scope, sorted by name. Reads as `companies_for` does."""
    return {company.company_id: company.name for company in companies_for(staff, revision)}


def _revision() -> str:
    """Return the registry's revision; "" if there is none yet."""
    try:
        return str(RegistryRevision.get(*REVISION.values()).revision)
    except (NotFound, TableMissing):
        return ""


@cached_for(CACHED_SECONDS)
def _registered(revision: str) -> tuple[tuple[str, str], ...]:
    """Return the id and name of every company of the registry; () if the table is missing.

    Strongly consistent, so that the cached rows of a revision include everything that the revision counts.
    """
    found: list[tuple[str, str]] = []
    pages = RegisteredCompany.query(PARTITION, consistent_read=True).page_iter
    with suppress(TableMissing):
        for page in islice(pages, REGISTRY_READS):
            found += [(str(item["sk"]), text_of(item.get("name"), 120)) for item in map(plain_item, page["Items"])]
    return tuple(found)


def company_named(company_id: str) -> Company | None:
    """Return a company of the registry, or None: one GetItem."""
    try:
        found = RegisteredCompany.get(PARTITION, company_id)
    except (NotFound, TableMissing):
        return None
    return Company(company_id, text_of(found.name, 120) or company_id)


def name_or_id(company_id: str) -> str:
    """Return the name of a company of the registry, or else its id; "" for "". At most one GetItem."""
    found = company_named(company_id) if company_id else None
    return found.name if found else company_id


def projects_of(company_id: str) -> Projects:
    """List a company's projects with one Query of one item each, skipping along the company/project index.

    Reads at most `PROJECTS_SHOWN` projects, and one more Query for `more`. A project whose first conversation is past
    its TTL takes a second Query, which looks for one that is not.
    """
    found: list[Project] = []
    last: str | None = None
    for _ in range(PROJECTS_SHOWN + 1):
        item = _first_of_next_project(company_id, last)
        if item is None or item.project_id is None:
            return Projects(tuple(found), more=False)
        if len(found) == PROJECTS_SHOWN:
            return Projects(tuple(found), more=True)
        last = item.project_id
        living = _first_unexpired(company_id, item)
        if living is not None:
            found.append(Project(last, text_of(living.plain("project_name"), 120) or last))
    return Projects(tuple(found), more=True)


def has_project(company_id: str, project_id: str) -> bool:
    """Return whether a company has conversations of a project. One Query of one item; raises the store's errors."""
    if not fits(company_id, SORT_KEY_BYTES) or not fits(project_id, SORT_KEY_BYTES):
        return False
    return bool(_query(company_id, Conversation.project_id == project_id, 1))


def project_names(pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the names of the first `PROJECTS_SHOWN` pairs of company and project. One Query each, cached."""
    asked = [each for each in list(pairs)[:PROJECTS_SHOWN] if all(fits(part, SORT_KEY_BYTES) for part in each)]
    names = parallel(*(partial(_project_name, *each) for each in asked))
    return {pair: name for pair, name in zip(asked, names, strict=True) if name}


@cached_for(NAMES_CACHED_SECONDS)
def _project_name(company_id: str, project_id: str) -> str:
    try:
        found = _query(company_id, Conversation.project_id == project_id, 1)
    except TableMissing:
        return ""
    return text_of(found[0].plain("project_name"), 120) if found else ""


_PROJECT_ATTRIBUTES = ("company_id", "project_id", "project_name", "ttl")


def _first_of_next_project(company_id: str, last: str | None) -> Conversation | None:
    after = None if last is None else Conversation.project_id > last
    found = _query(company_id, after, 1)
    return found[0] if found else None


def _first_unexpired(company_id: str, first: Conversation) -> Conversation | None:
    now = clock.now()
    if not is_gone(first, now):
        return first
    others = _query(company_id, Conversation.project_id == first.project_id, 50)
    return next((item for item in others if not is_gone(item, now)), None)


def _query(company_id: str, condition: Any, limit: int) -> list[Conversation]:
    pages = Conversation.company_project_index.query(
        company_id, condition, page_size=limit, attributes_to_get=list(_PROJECT_ATTRIBUTES)
    ).page_iter
    return [Conversation.from_raw_data(raw) for raw in next(pages)["Items"]]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result of a walk: names by company id, the number of items read, and whether it reached the end."""

    companies: dict[str, str]
    items: int
    complete: bool


def discover(max_items: int, progress: Callable[[int], object] = lambda _: None) -> Discovery:
    """Scan at most `max_items` conversations for their companies. For the command line, never for a page.

    Reads the whole company/project index: one read unit for each 8 KB.
    """
    names: dict[str, str] = {}
    items = 0
    start: dict[str, Any] = {}
    while items < max_items:
        answer = call(
            "Scan",
            TableName=table_name("CONVERSATIONS"),
            IndexName=CompanyProjectIndex.Meta.index_name,
            ProjectionExpression="company_id, company_name",
            Limit=min(1000, max_items - items),
            ReturnConsumedCapacity="TOTAL",
            **start,
        )
        for raw in answer["Items"]:
            item = plain_item(raw)
            company_id, name = str(item["company_id"]), text_of(item.get("company_name"), 120)
            names[company_id] = name or names.get(company_id, "")
        items += answer["ScannedCount"]
        progress(answer["ScannedCount"])
        if not (last := answer.get("LastEvaluatedKey")):
            return Discovery(names, items, complete=True)
        start = {"ExclusiveStartKey": last}
    return Discovery(names, items, complete=False)


def register(company_id: str, name: str, source: str, seen_at: str) -> bool:
    """Register a company, or update its name. Return False if a later sighting is already stored.

    The first source stays. Also returns False for an id that is too long for a key, or that means all companies.
    Raises the store's errors.
    """
    if not fits(company_id, SORT_KEY_BYTES) or company_id == ALL:
        return False
    sets, values = ["seen_at = :at", "#source = if_not_exists(#source, :source)"], {":at": seen_at, ":source": source}
    if name:
        sets.append("#name = :name")
        values[":name"] = name
    try:
        answer = call(
            "UpdateItem",
            TableName=table_name("CONSOLE"),
            Key={"pk": {"S": PARTITION}, "sk": {"S": company_id}},
            UpdateExpression=f"SET {', '.join(sets)}",
            ConditionExpression="attribute_not_exists(seen_at) OR seen_at < :at",
            ExpressionAttributeNames={"#source": "source"} | ({"#name": "name"} if name else {}),
            ExpressionAttributeValues={each: {"S": value} for each, value in values.items()},
            ReturnValues="UPDATED_OLD",
            ReturnConsumedCapacity="TOTAL",
        )
    except ConditionFailed:
        return False
    before = plain_item(answer.get("Attributes") or {})
    if not before or (name and before.get("name") != name):
        # If this fails, the company appears when the workers' caches expire.
        RegistryRevision(REVISION["pk"], REVISION["sk"]).update(actions=[RegistryRevision.revision.add(1)])
    _registered.cache_clear()
    return True


@cached_for(NOTED_SECONDS, entries=10_000)
def note_sighting(sighting: Sighting) -> None:
    """Call `register` at most once every `NOTED_SECONDS` for each company. Raises the store's errors."""
    register(sighting.company_id, sighting.name, "indexer", sighting.seen_at)


def note_company_of(stored: dict[str, dict[str, Any]]) -> None:
    """Register the company of an item or of its stream image. Raises the store's errors.

    An item keeps the name its company had when the item was created, so the newest item has the current name.
    """
    company_id = stored.get("company_id", {}).get("S")
    if not isinstance(company_id, str) or not company_id:
        return
    now = clock.now()
    created = clock.parse_instant(plain(stored["created_at"])) if "created_at" in stored else None
    name = text_of(stored.get("company_name", {}).get("S"), 120)
    note_sighting(Sighting(company_id, name, clock.to_iso(min(created or now, now))))


def register_with_base() -> None:
    """Register the names of companies, and which ids are theirs, for scopes. Called once at start-up."""
    known_companies.register(names_for, COMPANY)
    known_companies.register_existence(exists, COMPANY)
