"""Comparison of the existing tables with the registry: one report per table, for `/system/` and `manage.py tables`.

Inspection reads descriptions only, never items. Severities: `required` is needed by the schemas or the console,
`advised` is how a table should be set up, `optional` is what the console can do without; its pages say so.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from console.errors import ConsoleError, NotConfigured, TableMissing
from console.provisioning.definition import key_attributes
from console.schema.environments import is_protected
from console.schema.tables import TABLES, IndexSpec, KeyAttribute, TableSpec
from console.store.calls import parallel, table_name
from console.store.connection import call

Severity = Literal["required", "advised", "optional"]
State = Literal["ready", "differs", "absent", "creating", "unknown"]
Kind = Literal["table", "index", "ttl", "stream", "billing", "recovery", "protection", "wait", "none"]

# Without these two nothing can be written: every write needs its trail and its idempotency record.
NEEDED_FOR_WRITES = frozenset({"AUDIT", "IDEMPOTENCY"})
MAX_GSIS = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """One deviation from the registry. `kind` and `index` say how to apply the change; the texts are for people."""

    severity: Severity
    what: str
    wanted: str
    found: str
    applicable: bool
    kind: Kind = "none"
    index: str = ""

    @property
    def sign(self) -> str:
        """`+` to create, `~` to change, `!` if it cannot be applied."""
        if not self.applicable:
            return "!"
        return "+" if self.kind in ("table", "index") else "~"


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table of the registry: its state, and every difference from its definition."""

    key: str
    name: str
    schema: str
    purpose: str
    state: State
    differences: tuple[Difference, ...] = ()
    # Why the table could not be described, in words for administrators.
    failure: str = ""

    @property
    def ours(self) -> bool:
        """Whether the console owns the table; others are only changed on explicit request."""
        return TABLES[self.key].ours

    @property
    def broken(self) -> bool:
        """Whether something required is missing or wrong."""
        return any(each.severity == "required" for each in self.differences)


def inspect(keys: tuple[str, ...] = ()) -> list[TableReport]:
    """Return the reports of the named tables (all if none), in the registry's order.

    Makes one to three describe calls per table, in parallel. Raises `StoreUnavailable` or `Throttled` if a table cannot
    be described: a failed call is never reported as an absent table.
    """
    descriptions = dict(zip(TABLES, parallel(*(partial(describe, table_name(key)) for key in TABLES)), strict=True))
    present = {key for key, description in descriptions.items() if description is not None}
    chosen = [key for key in TABLES if not keys or key in keys]
    return parallel(*(partial(report, TABLES[key], descriptions[key], present) for key in chosen))


def inspect_each() -> list[TableReport]:
    """Inspect all tables; one that cannot be described has a report with the `failure` and no differences."""
    descriptions = dict(zip(TABLES, parallel(*(partial(_try_to_describe, key) for key in TABLES)), strict=True))
    # Tables in an unknown state must not make others look wrong.
    present = {key for key, found in descriptions.items() if isinstance(found, dict)}

    def reported(spec: TableSpec) -> TableReport:
        found = descriptions[spec.key]
        if isinstance(found, str):
            return TableReport(spec.key, table_name(spec.key), spec.schema, spec.purpose, "unknown", failure=found)
        return report(spec, found, present)

    return parallel(*(partial(reported, spec) for spec in TABLES.values()))


def _try_to_describe(key: str) -> dict[str, Any] | str | None:
    """Describe a table; return the words of a `ConsoleError` instead of raising it."""
    try:
        return describe(table_name(key))
    except NotConfigured as error:
        return error.detail
    except ConsoleError as error:
        return str(error) or "The database did not answer."


def describe(name: str) -> dict[str, Any] | None:
    """Return DynamoDB's description of a table, or None if it does not exist or is being deleted.

    Raises `StoreUnavailable`.
    """
    try:
        description: dict[str, Any] = call("DescribeTable", TableName=name)["Table"]
    except TableMissing:
        return None
    return None if description["TableStatus"] == "DELETING" else description


def report(spec: TableSpec, description: dict[str, Any] | None, present: set[str]) -> TableReport:
    """Return the report of one table from its description; `present` are the keys of the existing tables."""
    state: State
    if description is None:
        state, differences = "absent", [_absence(spec, present)]
    elif description["TableStatus"] == "CREATING":
        state = "creating"
        differences = [Difference("required", "table", "ready", "being created", True, "wait")]
    else:
        differences = [
            *_key_differences(spec, description),
            *_index_differences(spec, description),
            *_setting_differences(spec, description),
            *_ttl_and_recovery_differences(spec),
        ]
        building = any(each.kind == "wait" for each in differences)
        state = "creating" if building else "differs" if differences else "ready"
    return TableReport(spec.key, table_name(spec.key), spec.schema, spec.purpose, state, tuple(differences))


def _absence(spec: TableSpec, present: set[str]) -> Difference:
    """Return the difference of a missing table: required if it is ours, needed for writes, or its schema is in use."""
    # Each of the tables of the platform's replies can be there alone.
    siblings = {key for key, other in TABLES.items() if other.schema == spec.schema != "platform-replies"}
    needed = spec.ours or spec.key in NEEDED_FOR_WRITES or bool(siblings & present - NEEDED_FOR_WRITES)
    indexes = ", ".join(index.name for index in (*spec.gsis, *spec.lsis))
    wanted = _keys_text((spec.hash,), spec.range)
    wanted += f"; indexes {indexes}" if indexes else ""
    wanted += f"; time to live {spec.ttl}" if spec.ttl else ""
    return Difference("required" if needed else "optional", "table", wanted, "absent", True, "table")


def _keys_text(partition: tuple[KeyAttribute, ...], sort: KeyAttribute | None) -> str:
    return _join_keys(
        [f"{each.name} ({each.type})" for each in partition], [f"{sort.name} ({sort.type})"] if sort else []
    )


def _join_keys(partition: list[str], sort: list[str]) -> str:
    return ", ".join(" + ".join(each) for each in (partition, sort) if each)


def _found_keys(schema: list[dict[str, str]], types: dict[str, str]) -> str:
    def of_kind(kind: str) -> list[str]:
        names = [each["AttributeName"] for each in schema if each["KeyType"] == kind]
        return [f"{name} ({types.get(name, '?')})" for name in names]

    return _join_keys(of_kind("HASH"), of_kind("RANGE"))


def attribute_types(description: dict[str, Any]) -> dict[str, str]:
    """Return the name and type of every key attribute of the table, including those of its indexes."""
    return {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}


def _key_differences(spec: TableSpec, description: dict[str, Any]) -> list[Difference]:
    serving = [_keys_text((spec.hash,), each) for each in spec.ranges]
    found = _found_keys(description["KeySchema"], attribute_types(description))
    return [] if found in serving else [Difference("required", "key", " or ".join(serving), found, False)]


def index_text(index: IndexSpec) -> str:
    """Format the keys and projection of an index for people."""
    projected = f"INCLUDE {', '.join(index.include)}" if index.include else "ALL"
    caution = f"; note: {index.caution}" if index.caution else ""
    return f"{_keys_text(index.hashes, index.range)}; {projected}{caution}"


def _index_differences(spec: TableSpec, description: dict[str, Any]) -> list[Difference]:
    local = {each["IndexName"]: each for each in description.get("LocalSecondaryIndexes") or ()}
    global_ = {each["IndexName"]: each for each in description.get("GlobalSecondaryIndexes") or ()}
    types = attribute_types(description)
    differences = []
    for index in spec.lsis:
        found = local.get(index.name)
        if found is None:
            what = "absent; a local index can only be created together with its table"
            differences.append(_index_difference(spec, index, "local index", what, applicable=False))
        elif text := _shape_difference(index, found, types):
            differences.append(_index_difference(spec, index, "local index", text, applicable=False))
    for index in spec.gsis:
        found = global_.get(index.name)
        if found is None:
            differences.append(_missing_gsi(spec, index, types, len(global_)))
        elif text := _shape_difference(index, found, types):
            differences.append(_index_difference(spec, index, "index", text, applicable=False))
        elif found.get("Backfilling") or found.get("IndexStatus", "ACTIVE") == "CREATING":
            differences.append(_index_difference(spec, index, "index", "being built", applicable=True, kind="wait"))
    return differences


def _missing_gsi(spec: TableSpec, index: IndexSpec, types: dict[str, str], existing: int) -> Difference:
    clashes = [
        f"{name} is {types[name]} already"
        for name, kind in key_attributes(spec, index).items()
        if types.get(name, kind) != kind
    ]
    if clashes:
        return _index_difference(spec, index, "index", f"absent; {', '.join(clashes)}", applicable=False)
    if existing >= MAX_GSIS:
        text = f"absent; the table has {existing} global indexes already"
        return _index_difference(spec, index, "index", text, applicable=False)
    return _index_difference(spec, index, "index", "absent", applicable=True, kind="index")


def _index_difference(
    spec: TableSpec, index: IndexSpec, what: str, found: str, *, applicable: bool, kind: Kind = "none"
) -> Difference:
    severity: Severity = "optional" if index.ours and not spec.ours else "required"
    return Difference(severity, f"{what} {index.name}", index_text(index), found, applicable, kind, index.name)


def _shape_difference(index: IndexSpec, found: dict[str, Any], types: dict[str, str]) -> str:
    """Return the keys and projection of an index that differs, or ""; a wider projection than required is fine."""
    projection = found.get("Projection") or {}
    kind, included = projection.get("ProjectionType", "ALL"), set(projection.get("NonKeyAttributes") or ())
    keys = _found_keys(found["KeySchema"], types)
    enough = kind == "ALL" or (bool(index.include) and set(index.include) <= included)
    if keys in [_keys_text(index.hashes, each) for each in index.ranges] and enough:
        return ""
    projected = f"INCLUDE {', '.join(sorted(included))}" if kind == "INCLUDE" else kind
    return f"{keys}; {projected}"


def _setting_differences(spec: TableSpec, description: dict[str, Any]) -> list[Difference]:
    """Compare what DescribeTable returns: billing, deletion protection, encryption, stream."""
    differences = []
    billing = (description.get("BillingModeSummary") or {}).get("BillingMode", "PROVISIONED")
    if billing != "PAY_PER_REQUEST":
        # Billing and capacity of another service's table are for its owner to decide.
        differences.append(Difference("advised", "billing", "PAY_PER_REQUEST", billing, spec.ours, "billing"))
    if is_protected(spec) and not description.get("DeletionProtectionEnabled", False):
        differences.append(Difference("advised", "deletion protection", "on", "off", True, "protection"))
    encryption = description.get("SSEDescription") or {}
    # No SSEDescription means the AWS owned key, which the schemas require; a key of the account is as good.
    if encryption.get("InaccessibleEncryptionDateTime") or encryption.get("Status", "ENABLED") not in (
        "ENABLED",
        "ENABLING",
        "UPDATING",
    ):
        found = "the key cannot be used" if "InaccessibleEncryptionDateTime" in encryption else encryption["Status"]
        differences.append(Difference("required", "encryption", "a usable key", found, False))
    if spec.stream:
        stream = description.get("StreamSpecification") or {}
        wanted = " or ".join(spec.stream)
        if not stream.get("StreamEnabled"):
            differences.append(Difference("advised", "stream", wanted, "off", True, "stream"))
        elif stream.get("StreamViewType") not in spec.stream:
            found = str(stream.get("StreamViewType"))
            differences.append(Difference("advised", "stream", wanted, found, False))
    return differences


def _ttl_and_recovery_differences(spec: TableSpec) -> list[Difference]:
    """Compare what has describe calls of its own: TTL and point-in-time recovery. Report what may not be read."""
    differences = []
    name = table_name(spec.key)
    if spec.ttl:
        try:
            found = call("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"]
        except ConsoleError:
            differences.append(Difference("advised", "time to live", spec.ttl, "could not be read", False))
        else:
            differences += _ttl_differences(spec, found)
    if is_protected(spec):
        try:
            backups = call("DescribeContinuousBackups", TableName=name)["ContinuousBackupsDescription"]
        except ConsoleError:
            differences.append(Difference("advised", "point-in-time recovery", "on", "could not be read", False))
        else:
            status = (backups.get("PointInTimeRecoveryDescription") or {}).get("PointInTimeRecoveryStatus")
            if status != "ENABLED":
                differences.append(Difference("advised", "point-in-time recovery", "on", "off", True, "recovery"))
    return differences


def _ttl_differences(spec: TableSpec, found: dict[str, Any]) -> list[Difference]:
    status = found.get("TimeToLiveStatus", "DISABLED")
    attribute = found.get("AttributeName", "")
    severity: Severity = "optional" if spec.ttl_optional else "required"
    if status in ("ENABLED", "ENABLING") and attribute == spec.ttl:
        return []
    if status == "DISABLED":
        return [Difference(severity, "time to live", spec.ttl, "off", True, "ttl")]
    # DynamoDB requires switching the old attribute off and waiting up to an hour, which is not for us to start.
    text = f"{attribute or 'an attribute'} ({status.lower()}); switch it off by hand first"
    return [Difference(severity, "time to live", spec.ttl, text, False)]
