"""What tests of `manage.py tables` share: running it, and tables as another team might have made them."""

import io
from contextlib import suppress

import pytest
from django.core.management import CommandError, call_command

from console.provisioning.check import TableReport, inspect
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES

OURS = {key for key, spec in TABLES.items() if spec.ours}
# Operations that change a table.
CHANGING = {"CreateTable", "UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "TagResource"}


def run(*arguments: str) -> str:
    """Standard output of the command; a failing one raises CommandError."""
    out = io.StringIO()
    call_command("tables", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def run_failing(*arguments: str) -> tuple[str, str]:
    """Standard output and the error of a command that must fail."""
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("tables", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue(), str(caught.value)


def checked(*arguments: str) -> str:
    """What `check` prints, whether or not something required is missing."""
    out = io.StringIO()
    with suppress(CommandError):
        call_command("tables", "check", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def reports(*keys: str) -> dict[str, TableReport]:
    return {report.key: report for report in inspect(keys)}


def create_all(store) -> None:
    """Every table of the registry, as it is to be."""
    run("create", "--only", *TABLES)


def describe(store, key: str) -> dict:
    return store.client.describe_table(TableName=store.name(key))["Table"]


def create(store, key: str, **changes) -> None:
    """A table of another team: the registry's, but for the changes; None leaves a property out."""
    request = {name: value for name, value in (create_table_request(key) | changes).items() if value is not None}
    indexes = [*request.get("GlobalSecondaryIndexes", ()), *request.get("LocalSecondaryIndexes", ())]
    schemas = [request["KeySchema"], *(index["KeySchema"] for index in indexes)]
    used = {each["AttributeName"] for schema in schemas for each in schema}
    known = {each["AttributeName"]: each for each in request["AttributeDefinitions"]}
    definitions = [known.get(name, {"AttributeName": name, "AttributeType": "S"}) for name in sorted(used)]
    store.client.create_table(**request | {"AttributeDefinitions": definitions})


def gsis(key: str, *without: str) -> list[dict]:
    return [each for each in create_table_request(key)["GlobalSecondaryIndexes"] if each["IndexName"] not in without]


def create_without_some_indexes(store, kept: tuple[str, ...] = ()) -> None:
    """CONVERSATIONS without the company/project index of the schema and without the console's own, but for `kept`."""
    ours = [index.name for index in TABLES["CONVERSATIONS"].gsis if index.ours]
    left_out = {"company-id-project-id-index", *ours} - set(kept)
    create(store, "CONVERSATIONS", GlobalSecondaryIndexes=gsis("CONVERSATIONS", *left_out))
