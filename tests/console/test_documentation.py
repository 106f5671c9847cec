"""README.md says what the code does: its tables are those that the code gives, its commands are there."""

import re

from django.core.management import get_commands

from console.dynamodb.registry import TABLES
from tests.documentation import README, ROOT, described, settings, written

TEXT = README.read_text()


def test_the_tables_are_as_the_code_gives_them():
    assert written(TEXT) == TEXT, "run: python -m tests.documentation"


def test_every_setting_has_its_words_and_every_word_its_setting():
    names = {each.name for each in settings()}
    assert all(each.words for each in settings())
    extra = {name for name in described() if name not in names and not name.startswith("TABLE_")}
    assert not extra
    assert {name.removeprefix("TABLE_") for name in described() if name.startswith("TABLE_")} == set(TABLES)


def test_every_command_that_it_names_is_there():
    named = set(re.findall(r"manage\.py ([a-z_]+)", TEXT)) - {"check", "collectstatic", "demo"}
    ours = {name for name, app in get_commands().items() if app in ("console", "tenants", "conversations")}
    assert named == ours


def test_every_file_and_picture_that_it_names_is_there():
    named = re.findall(r"`((?:tests|console|conversations|tenants|demo)/[\w./]+)`", TEXT)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT)
    assert [path for path in (*named, *pictures) if not (ROOT / path).exists()] == []
