"""The lines of the house: imports run downward, views stay away from the store, every route is guarded."""

import ast
import graphlib
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("console", "tenants", "conversations", "demo")
SERVICE_LAYER = ("services", "queries", "queue", "forms", "transcript", "facts", "recording", "panel")
MAY_IMPORT = {
    "console": set(),
    "tenants": {"console"},
    "conversations": {"console", "tenants"},
    "demo": {"console", "tenants", "conversations"},
}


def modules(app: str) -> Iterator[Path]:
    yield from (ROOT / app).rglob("*.py")


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("app", APPS)
def test_apps_import_only_what_lies_below_them(app):
    forbidden = set(APPS) - MAY_IMPORT[app] - {app}
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(app)
        for name in imports(path)
        if name.split(".")[0] in forbidden
    }
    # The route table is the one place above all apps; it names them as text.
    assert not wrong


# What each part of the base may import of the others, besides the modules directly in `console/`.
PARTS = {
    "redaction": set(),
    "telemetry": {"store", "schema", "redaction"},
    "store": {"schema", "redaction", "telemetry"},
    "schema": {"store", "redaction", "telemetry"},
    "stack": {"schema"},
    "trail": {"store", "schema", "redaction", "telemetry"},
    "staff": {"trail", "store", "schema", "redaction", "telemetry", "search", "templatetags"},
    "audit": {"staff", "trail", "store", "schema", "redaction", "telemetry", "search", "templatetags"},
}


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_the_base_imports_what_lies_above_it(part):
    above = set(PARTS) - PARTS[part] - {part}
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "console" / part).rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] == "console" and name.split(".")[1:2] and name.split(".")[1] in above
    }
    assert not wrong


def package_of(module: str) -> str:
    """Return the part of the house that a module is in: a folder of an app, or a file beside the folders."""
    return ".".join(module.split(".")[:2])


def test_no_packages_know_each_other_in_a_ring():
    """Each arrow between two packages goes down: otherwise none of a ring can be read without all others."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for app in APPS for path in modules(app)}
    packages = {package_of(name) for name in paths}
    known: dict[str, set[str]] = {package: set() for package in packages}
    for name, path in paths.items():
        known[package_of(name)] |= {package_of(found) for found in imports(path)} & packages - {package_of(name)}
    with pytest.raises(graphlib.CycleError):
        tuple(graphlib.TopologicalSorter({"one": {"other"}, "other": {"one"}}).static_order())
    assert len(tuple(graphlib.TopologicalSorter(known).static_order())) == len(packages) > 100


def test_the_floors_of_conversations_are_those_of_the_documentation():
    """A folder knows only folders below its own, and each has its row."""
    text = (ROOT / "docs" / "architecture.md").read_text().split("### The floors of", 1)[1].split("\n## ", 1)[0]
    floors = re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)
    folders = {each.parent.name for each in (ROOT / "conversations").glob("*/__init__.py")}
    assert set(floors) == folders - {"management", "templatetags"}
    climbing = {
        f"{path.relative_to(ROOT)} imports {name}"
        for number, floor in enumerate(floors)
        for path in (ROOT / "conversations" / floor).rglob("*.py")
        for name in imports(path)
        if name.startswith("conversations.") and name.split(".")[1] in floors[:number]
    }
    assert not climbing


MOST_LOOSE = 10


def test_few_files_stand_beside_the_folders_of_conversations():
    loose = {path.name for path in (ROOT / "conversations").glob("*.py")} - {"__init__.py"}
    assert len(loose) <= MOST_LOOSE, loose


def is_view_module(path: Path) -> bool:
    return path.name in ("views.py",) or path.parent.name == "views"


@pytest.mark.parametrize("app", APPS)
def test_no_view_imports_the_store_or_pynamodb(app):
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(app)
        if is_view_module(path)
        for name in imports(path)
        if name.split(".")[0] in ("pynamodb", "botocore", "boto3") or name.endswith(".models")
    }
    assert not wrong


@pytest.mark.parametrize("app", APPS)
def test_no_service_query_or_form_takes_a_request(app):
    wrong = set()
    for path in modules(app):
        if is_view_module(path) or (path.stem not in SERVICE_LAYER and path.parent.name != "handoff"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
                if "request" in names:
                    wrong.add(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not wrong


def routes(patterns, prefix: str = "") -> Iterator[tuple[str, object]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, prefix + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield prefix + str(pattern.pattern), pattern.callback


def test_every_route_declares_who_may_call_it():
    undeclared = [
        route
        for route, view in routes(get_resolver().url_patterns)
        if not getattr(view, "is_public", False) and getattr(view, "required_permissions", None) is None
    ]
    assert not undeclared
    assert {route for route, view in routes(get_resolver().url_patterns) if getattr(view, "is_public", False)} == {
        "sign-in/",
        "sign-in/code/",
        "sign-in/company/",
        "sign-in/company/return/",
        "sign-in/company/logout/",
        "sign-out/",
        "sign-out/company/",
        "set-password/",
    }


def test_only_commands_scan():
    """`Scan` costs what the table weighs: no page may call what scans."""
    scanning = {
        str(path.relative_to(ROOT))
        for app in APPS
        for path in modules(app)
        if '"Scan"' in path.read_text() or ".scan(" in path.read_text()
    }
    # discover, reconcile, the indexer's sweep, Insight's walks, type sampling before an index, the list of accounts,
    # the archive, and the walk over tenants: each run by hand or by the worker; the connection and the IAM policies
    # only name the operation
    assert scanning <= {
        "console/store/connection.py",
        "console/provisioning/policies.py",
        "conversations/companies.py",
        "conversations/handoff/reconciliation.py",
        "conversations/indexer/sweep.py",
        "conversations/insight/walking.py",
        "console/provisioning/cloudformation.py",
        "console/staff/services.py",
        "console/audit/archive/walk.py",
        "tenants/walking.py",
    }
    callers = {"discover", "reconcile", "Sweep", "list_accounts", "sample", "walk"}
    wrong = {
        f"{path.relative_to(ROOT)} calls {node.id}"
        for app in APPS
        for path in modules(app)
        if is_view_module(path)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id in callers
    }
    assert not wrong


# Private names of libraries: docs/decisions/hooks-into-libraries.md has the reason for each. `_asdict` is documented.
PRIVATE_NAMES = {
    "console/redaction/documents.py": {"_asdict"},
    "console/store/connection.py": {"_defaults", "_endpoint", "_parse_shape", "_pool_classes_by_scheme"},
    "console/store/models.py": {"_get_schema"},
    "conversations/stores/views.py": {"_csp_update"},
}
EMBEDDED_SPEED = "demo/embedded_speed.py"


def names_defined_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def private_names_used_in(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Each with whether it may be inherited, as it is used of `self` or `cls`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr):
            yield node.attr, isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def test_private_names_of_libraries_are_the_exceptions_of_the_style():
    """Other private names are defined in the same file, or inherited from a class of the product."""
    trees = {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for app in APPS for path in modules(app)}
    own = {path: set(names_defined_in(tree)) for path, tree in trees.items()}
    product = set().union(*own.values())
    found = {
        path: {
            name
            for name, is_inherited in private_names_used_in(tree)
            if name not in (product if is_inherited else own[path])
        }
        for path, tree in trees.items()
        if path != EMBEDDED_SPEED
    }
    assert {path: names for path, names in found.items() if names} == PRIVATE_NAMES


def test_product_patches_nothing_but_moto_in_the_demo():
    # A channel mapping sets its own attributes by name.
    patching = {
        str(path.relative_to(ROOT))
        for app in APPS
        for path in modules(app)
        if re.search(r"\bmock\b|monkeypatch|setattr\((?!mapping\b)", path.read_text())
    }
    assert patching == {EMBEDDED_SPEED}


def test_no_two_public_classes_have_the_same_name():
    names = [
        node.name
        for app in APPS
        for path in modules(app)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Command"
    ]
    assert len(names) > 100
    assert {name for name in names if names.count(name) > 1} == set()


# `(…)*+` and `(?>…)`, as they stand in a pattern; `x*+` and `[…]++` are repetitions of one character.
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{+[0-9,]+\}+)\+|\(\?>")


@pytest.mark.parametrize("app", APPS)
def test_no_group_of_a_pattern_is_possessive(app):
    """Before Python 3.11.5 it matches wrongly where a repetition of it begins and fails: masks were missing."""
    wrong = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in modules(app)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _POSSESSIVE_GROUP.search(line)
    }
    assert not wrong


def test_templates_hold_no_inline_script_or_style():
    wrong = []
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        for needle in ("style=", "<style", "onclick=", "onload=", "onsubmit=", "hx-on", "javascript:", "|safe"):
            if needle in text:
                wrong.append(f"{path.relative_to(ROOT)}: {needle}")
    assert not wrong


# What a title may say. Browsers keep titles in their history: no name, excerpt, key or text of a customer is in one.
IN_TITLES = {
    *("account.name", "error.title", "waiting", "store.title", "question.title", "title", "tenant.name", "page_title"),
    *("page.title",),
    *("project_name", "company_name", "summary.short_id", "environment.name", "ours"),
}


def test_titles_of_pages_hold_nothing_of_customers():
    said = set()
    for path in (ROOT / "templates").rglob("*.html"):
        for block in re.findall(r"{% block title %}(.*?){% endblock %}", path.read_text()):
            said |= {each.split("|")[0].strip() for each in re.findall(r"{{(.*?)}}", block)}
    assert "account.name" in said
    assert said <= IN_TITLES


MOST_LINES, MEDIAN_LINES, MOST_LINES_OF_A_FUNCTION = 450, 150, 60


def test_files_and_functions_are_short():
    paths = [path for app in APPS for path in modules(app)]
    lines = {path: path.read_text().count("\n") for path in paths}
    assert statistics.median(lines.values()) <= MEDIAN_LINES
    long_files = [f"{path.relative_to(ROOT)}" for path in paths if lines[path] > MOST_LINES]
    long_functions = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert not long_files + long_functions
