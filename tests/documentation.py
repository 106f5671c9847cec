"""What the documentation and `deploy/` have of the code: `python -m tests.documentation` writes these parts, and takes
over the pictures that the browser tests took; tests compare them."""

import ast
import os
import re
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import django
from prometheus_client import Counter, Histogram

from console import instrumentation
from console.provisioning.policies import POLICIES, QUEUES
from console.schema.tables import TABLES
from console.stack.template import stack_text
from console.telemetry import state
from tests import costs

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "console" / "settings.py"
# The pages that have parts made from the code, with the names of those parts.
PAGES = {
    ROOT / "docs" / "reference.md": ("indexes", "policies"),
    ROOT / "docs" / "monitoring.md": ("metrics", "gauges"),
    ROOT / "docs" / "aws.md": ("units", "prices", "costs"),
}
# What stands where such a part begins.
MARK = "written by python -m tests.documentation"
# The CloudFormation template, all of it made from the code.
TEMPLATE = ROOT / "deploy" / "aws" / "console.json"
_KINDS = {"str": "text", "int": "number", "float": "number", "bool": "true or false", "list": "list"}


@dataclass(frozen=True)
class Setting:
    """One setting of the environment: its kind, and its default as docs/configuration.md shows it."""

    name: str
    kind: str
    default: str


def _shown(default: object) -> str:
    if default is None:
        return "**required**"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list):
        default = ",".join(map(str, default))
    return f"`{default}`" if default not in ("", ()) else ""


def settings() -> list[Setting]:
    """Every setting that settings.py reads from the environment, in its order."""
    found = []
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "env") or node.func.attr not in _KINDS:
            continue
        [name] = (str(each.value) for each in node.args if isinstance(each, ast.Constant))
        given = [each.value for each in node.keywords if each.arg == "default"]
        found.append((node.lineno, name, node.func.attr, _default(given)))
    return [Setting(name, _KINDS[kind], _shown(default)) for _, name, kind, default in sorted(found)]


def _default(given: list[ast.expr]) -> object:
    if not given:
        return None
    try:
        return ast.literal_eval(given[0])
    except ValueError:
        return ast.unparse(given[0])


def every_page() -> list[Path]:
    """README.md, the other pages beside it, and those of `.github/` and `docs/`."""
    return [
        *sorted(ROOT.glob("*.md")),
        *(path for name in (".github", "docs") for path in sorted((ROOT / name).rglob("*.md"))),
    ]


def parts() -> dict[str, str]:
    """Each part that is made, by the name of its markers."""
    made = {
        "policies": _policies(),
        "indexes": _indexes(),
        "metrics": _metrics(),
        "gauges": _gauges(),
        "units": costs.units_table(),
        "prices": costs.price_list(),
        "costs": costs.table(),
    }
    return {name: "\n".join(lines) for name, lines in made.items()}


def _metrics() -> list[str]:
    """What each process counts."""
    rows = ["| metric | labels | what it says |", "|---|---|---|"]
    for each in vars(instrumentation).values():
        if isinstance(each, Counter | Histogram):
            [family] = each.describe()
            name = family.name + ("_total" if isinstance(each, Counter) else "")
            rows.append(f"| `{name}` | {', '.join(each._labelnames)} | {family.documentation} |")
    return rows


def _gauges() -> list[str]:
    """What web servers read of the queue and the work."""
    rows = ["| metric | labels | what it says |", "|---|---|---|"]
    return [*rows, *(f"| `{each.name}` | {', '.join(each.labels)} | {each.words} |" for each in state.gauges())]


def _indexes() -> list[str]:
    """What the console adds to the tables of other services."""
    rows = ["| table | index | keys | holds |", "|---|---|---|---|"]
    for spec in (each for each in TABLES.values() if not each.ours):
        for index in (each for each in spec.gsis if each.ours):
            keys = " + ".join(key.name for key in index.hashes) + (f", {index.range.name}" if index.range else "")
            holds = f"{len(index.include)} attributes" if index.include else "all"
            rows.append(f"| {spec.key} | `{index.name}` | {keys} | {holds} |")
    return rows


_QUEUES = {
    "HANDOFF": "the hand-off queue",
    "CHANNELS": "the queues of channels",
    "OUTBOX": "the outbox",
    "RECEIPTS": "the queue of receipts",
    "SERVICE": "the queue of your sending service",
}


def _policies() -> list[str]:
    """What each process does with each table."""
    processes = [name for name in POLICIES if name != "work"]
    rows = [f"| table | {' | '.join(processes)} |", f"|---|{'---|' * len(processes)}"]
    for key in TABLES:
        rows.append(f"| {key} | {' | '.join(_actions(name, key) for name in processes)} |")
    for name, words in _QUEUES.items():
        rows.append(f"| {words} | {' | '.join(_queue_actions(process, name) for process in processes)} |")
    return rows


def _queue_actions(process: str, queue: str) -> str:
    found = (access for access in QUEUES.get(process, ()) if access.queue == queue)
    return ", ".join(action for access in found for action in access.actions)


def _actions(process: str, key: str) -> str:
    [*found] = (access for access in POLICIES[process] if access.table == key)
    if not found:
        return ""
    actions = [each for each in found[0].actions if not each.startswith("Describe")]
    more = [*(["Query on its indexes"] if found[0].indexes else []), *(["its stream"] if found[0].stream else [])]
    described = ["Describe…"] if len(actions) < len(found[0].actions) else []
    return ", ".join([*described, *actions, *more])


def _replaced(part: str, found: re.Match[str]) -> str:
    return f"{found[1]}{part}\n{found[2]}"


def written(page: Path) -> str:
    """A page's text with its made parts as they are to be."""
    text, made = page.read_text(), parts()
    for name in PAGES[page]:
        pattern = re.compile(rf"(<!-- {name}: {MARK} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        assert pattern.search(text), f"{page.name} has no markers for {name}"
        text = pattern.sub(partial(_replaced, made[name]), text)
    return text


# What README.md shows, of the pictures that the browser tests take.
PICTURES = {
    "queue": "queue-waiting-light",
    "conversation": "conversation-held-light",
    "thread": "threads-thread-tools-light",
    "audit": "audit-light",
}


def copy_pictures() -> list[str]:
    """Take over the pictures that the last run of the browser tests took; the names of those that it did not take."""
    missing = []
    for name, taken in PICTURES.items():
        picture = ROOT / "tests" / "screenshots" / f"{taken}.png"
        if picture.exists():
            shutil.copyfile(picture, ROOT / "tests" / "browser" / "pictures" / f"{name}.png")
        else:
            missing.append(taken)
    return missing


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    # Apps say at start-up what they tell scrapes.
    django.setup()
    for page in PAGES:
        page.write_text(written(page))
    TEMPLATE.write_text(stack_text())
    missing = copy_pictures()
    sys.stdout.write(f"The pages are written{'; pictures not taken: ' + ', '.join(missing) if missing else ''}\n")
