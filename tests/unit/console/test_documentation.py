"""The documentation says what the code does: tables are as the code gives them, commands and links are there."""

import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from console.schema.tables import TABLES
from tests.documentation import PAGES, ROOT, described, every_page, settings, written

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_are_as_the_code_gives_them(page):
    assert written(page) == page.read_text(), "run: python -m tests.documentation"


def test_every_setting_has_its_words_and_every_word_its_setting():
    names = {each.name for each in settings()}
    assert all(each.words for each in settings())
    extra = {name for name in described() if name not in names and not name.startswith("TABLE_")}
    assert not extra
    assert {name.removeprefix("TABLE_") for name in described() if name.startswith("TABLE_")} == set(TABLES)


def test_a_shell_reads_the_example_as_it_stands():
    read = subprocess.run(["sh", "-ec", "set -a; . ./.env.example; env"], cwd=ROOT, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")
    assert "SECRET_NAMES=" in read.stdout.splitlines()


def test_readme_names_every_command_and_no_other():
    named = set(re.findall(r"manage\.py ([a-z_]+)", README)) - {"check", "collectstatic", "demo"}
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


def test_readme_is_short():
    assert len(README.splitlines()) <= 200


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
