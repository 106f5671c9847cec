"""The documentation says what the code does: tables are as the code gives them, commands and links are there."""

import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from console.schema.tables import TABLES
from tests.documentation import PAGES, ROOT, every_page, settings, written
from tests.unit.console.test_checks import environment_of, found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_are_as_the_code_gives_them(page):
    assert written(page) == page.read_text(), "run: python -m tests.documentation"


def test_every_setting_has_one_row_with_its_kind_its_default_and_what_it_is():
    text = (ROOT / "docs" / "configuration.md").read_text()
    rows = re.findall(r"^\| `([A-Z_0-9]+)` \| (.*?) \| (.*?) \| (.+) \|$", text, flags=re.M)
    assert sorted(row[:3] for row in rows) == sorted((each.name, each.kind, each.default) for each in settings())


def test_every_table_that_a_setting_can_name_is_in_the_data_model():
    section = (ROOT / "docs" / "data-model.md").read_text().partition("## 1. Tables")[2].partition("\n## ")[0]
    named = re.findall(r"^\| ([A-Z_, ]+) \|", section, flags=re.M)
    assert sorted(key for keys in named for key in keys.split(", ")) == sorted(TABLES)


def example() -> dict[str, str]:
    """What a shell makes of .env.example."""
    command = ["env", "-i", "sh", "-ec", "set -a; . ./.env.example; env"]
    read = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")
    return dict(line.split("=", 1) for line in read.stdout.splitlines() if not line.startswith(("PWD=", "_=")))


def test_the_example_has_a_dozen_settings_of_the_configuration():
    assert example().keys() <= {each.name for each in settings()}
    assert 10 <= len(example()) <= 14


def test_the_console_starts_with_the_example_and_a_key(tmp_path):
    """A key is all that it lacks; the tests' own stays, and static files are not collected here."""
    given = {name: value for name, value in example().items() if name != "SECRET_KEY"}
    with environment_of(tmp_path, **given):
        assert found() == []


def test_reference_names_every_command_and_no_other():
    section = (ROOT / "docs" / "reference.md").read_text().partition("## Commands")[2].partition("\n## ")[0]
    named = set(re.findall(r"manage\.py ([a-z_]+)", section)) - {"check", "demo"}
    ours = {name for name, app in get_commands().items() if app in ("console", "tenants", "conversations")}
    assert named == ours


def test_every_promise_names_tests_that_exist():
    page = ROOT / "docs" / "testing.md"
    section = page.read_text().partition("## Promises and their tests")[2].partition("\n## ")[0]
    named = re.findall(r"\[`(\w+)`\]\(([^)]+)\)", section)
    assert len(named) > 30
    assert [name for name, path in named if f"def {name}(" not in (page.parent / path).read_text()] == []
    promises = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert [each for each in promises if "](../tests/" not in each] == []


def test_readme_is_one_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", every_page(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_heading_that_is_there(page):
    linked = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text())
    assert [
        f"{path}#{name}" for path, name in linked if name not in anchors(page.parent / path if path else page)
    ] == []


@pytest.mark.parametrize("page", every_page(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_picture_and_page_that_is_named_is_there(page):
    text = page.read_text()
    named = re.findall(r"`((?:tests|console|conversations|tenants|demo|docs|deploy)/[\w./-]+)`", text)
    linked = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    missing = [path for path in named if not (ROOT / path).exists()]
    assert missing + [link for link in linked if not (page.parent / link).exists()] == []
