"""What start-up refuses: each refusal has an id, all are listed at once, and nothing starts while there is one."""

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from django.conf import settings
from django.core import checks
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import SystemCheckError
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from console.env import StrictEnv
from console.startup import ConsoleCommand, StartRefusal
from console.telemetry import starting
from tests.documentation import SETTINGS
from tests.documentation import settings as documented_settings

ROOT = Path(__file__).resolve().parents[3]
APPS = ("console", "tenants", "conversations")
SAFE = {
    "CONSOLE_ENV": "prod",
    "SECRET_KEY": "Zk3vQ9mT-x7Lr2Wb_8HcYd5NfUe0SgJa4PiXo6KqBt1MnRw",
    "ALLOWED_HOSTS": "console.example.com",
    "STATIC_MANIFEST": "false",
}
ISSUER = {"OIDC_ISSUER": "https://login.example.com", "OIDC_CLIENT_ID": "console"}
# Not of a setting alone: see tests/store/console/test_key_record.py.
READ_THE_STORE = {"console.E019", "console.W004"}
# What the environment changes nothing of.
SAME = ("INSTALLED_APPS", "DATABASES")
# Of each id a setting, in the environment, that is refused or warned of under it.
WRONG = {
    "console.E001": {"REPLY_UNDO_SECONDS": "ten"},
    "console.E002": {"SECRET_KEY": "guess"},
    "console.E003": {"PLAIN_HTTP": "true"},
    "console.E004": {"CONSOLE_ENV": "The Moon"},
    "console.E005": {"TABLE_CONVERSATION": "conversations-prod"},
    "console.E006": {"TABLE_AUDIT": "one", "TABLE_STAFF": "one"},
    "console.E007": {"TABLE_AUDIT": "a b"},
    "console.E008": {"TABLE_AUDIT": "audit-dev"},
    "console.E009": {"DYNAMODB_ENDPOINT": "http://localhost:8000"},
    "console.E010": {"REQUIRE_SECOND_FACTOR": "boss"},
    "console.E011": ISSUER | {"OIDC_SCOPES": "profile", "REQUIRE_SECOND_FACTOR": "none"},
    "console.E012": {"STATIC_MANIFEST": "true"},
    "console.E013": {"METRICS_TOKEN": "x" * 40},
    # Where its packages are not installed.
    "console.E014": {"SENTRY_DSN": "https://key@sentry.example.com/1"},
    "console.E015": {"REQUEST_DEADLINE_SECONDS": "4"},
    "console.E016": {"SQS_ENDPOINT": "localhost:9324"},
    "console.E017": {"SENTRY_DSN": "zzz"},
    "console.E018": {"AUDIT_ARCHIVE_KEY": "short"},
    "console.W001": {"BEHIND_TLS_PROXY": "true"},
    "console.W002": {"SECRET_KEY_FALLBACKS": "guess"},
    "console.W003": ISSUER | {"REQUIRE_SECOND_FACTOR": "all"},
    "conversations.E001": {"HAND_OFF_ROUTING": "yes"},
    "conversations.E002": {"HAND_OFF_ROUTING": "held"},
    "conversations.E003": {"REPLY_PROVIDERS": "fax:twilio"},
    "conversations.E004": {
        "REPLY_PROVIDERS": "sms:outbox-only",
        "OUTBOX_QUEUE_URL": "https://sqs/1/out.fifo",
        "SECRET_NAMES": "sms/*",
        "RECEIPTS_QUEUE_URL": "https://sqs/1/receipts",
    },
    "conversations.E005": {"OUTBOX_QUEUE_URL": "https://sqs/1/out", "SECRET_NAMES": "sms/*"},
    "conversations.E006": {"REPLIES_PER_MINUTE": "0"},
    "conversations.E007": {"CONSOLE_URL": "console.example.com"},
    "conversations.E008": {"NOTIFICATIONS_FROM_EMAIL": "Console"},
    "conversations.E009": {"INSIGHT_PRICES": "[{}]"},
    "conversations.E010": {"OUTBOX_QUEUE_URL": "https://sqs/1/out.fifo"},
}
# Several at once, of which Django's own would hide each behind the one before.
SEVERAL = ("console.E001", "console.E002", "console.E003", "conversations.E001", "conversations.E009")
PROCESSES = {
    "the web server": ("-c", "import console.wsgi"),
    "a worker": ("manage.py", "work"),
    "a worker that is to skip checks": ("manage.py", "work", "--skip-checks"),
    "a command": ("manage.py", "staff", "list"),
    "Django's shell": ("manage.py", "shell", "-c", "print('began')"),
    **{
        f"the Lambda {name}": ("-c", f"from conversations.work.lambdas import {name} as begin; begin({{}})")
        for name in ("handle_conversations_stream", "handle_stage_stream", "handle_handoff_queue", "handle_outbox")
    },
    "the Lambda run_part": ("-c", "from conversations.work.lambdas import run_part; run_part({'part': 'timers'})"),
}


@contextmanager
def environment_of(tmp_path: Path, **environment: str) -> Iterator[None]:
    """The console's own settings, as this environment makes them."""
    with mock.patch.dict(os.environ, SAFE | environment, clear=True):
        made = runpy.run_path(str(SETTINGS))
    changed = {
        name: value
        for name, value in made.items()
        if name.isupper() and name not in SAME and value != getattr(settings, name, None)
    }
    with override_settings(**changed | {"STATIC_ROOT": tmp_path}):
        yield


def found() -> list[checks.CheckMessage]:
    """What of the console's own checks is listed with the settings as they are, a deployment's included."""
    told = checks.run_checks(tags=["safety", "web", "security"], include_deployment_checks=True)
    return [each for each in told if str(each.id).startswith(("console.", "conversations."))]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these settings and no others."""
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


# --- each id ----------------------------------------------------------------------------------------------------------


def test_with_safe_settings_nothing_is_refused_and_nothing_warned_of(tmp_path):
    with environment_of(tmp_path):
        assert found() == []


@pytest.mark.parametrize("key", WRONG)
def test_each_id_is_told_of_its_own_mistake_alone_and_says_how_to_mend_it(tmp_path, monkeypatch, key):
    if key == "console.E014":
        monkeypatch.setattr(starting, "find_spec", lambda name: None)
    with environment_of(tmp_path, **WRONG[key]):
        told = found()
    assert [each.id for each in told] == [key]
    assert told[0].msg
    assert told[0].hint
    assert isinstance(told[0], StartRefusal) == (".E" in key)


@pytest.mark.parametrize(
    "name",
    ["ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "NOTIFICATIONS_ALLOWED_HOSTS", "AUDIT_ACTION_TYPES", "SECRET_NAMES"],
)
def test_blanks_beside_commas_are_no_part_of_a_list(tmp_path, name):
    with environment_of(tmp_path, **{name: "a.example, b.example "}):
        assert getattr(settings, name) == ["a.example", "b.example"]


def test_every_id_of_the_code_is_tried_and_documented_and_no_other():
    code = "".join(path.read_text() for app in APPS for path in (ROOT / app).rglob("*.py"))
    ids = set(re.findall(r'id="(\w+\.[EW]\d+)"', code))
    assert ids == set(WRONG) | READ_THE_STORE
    rows = re.findall(r"^\| `(\w+\.[EW]\d+)` \| (.+) \| (.+) \|$", (ROOT / "docs" / "checks.md").read_text(), re.M)
    assert [key for key, *_ in rows] == sorted(ids)


def test_all_that_is_wrong_is_listed_at_once(tmp_path):
    every = {name: value for key in SEVERAL for name, value in WRONG[key].items()}
    with environment_of(tmp_path, **every):
        assert {each.id for each in found()} == set(SEVERAL)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(sorted(each.name for each in documented_settings())),
        st.sampled_from(["http://[", "$X"])
        | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
        max_size=6,
    )
)
def test_whatever_the_environment_holds_the_checks_list_it_and_never_fail(environment):
    with environment_of(ROOT, **environment):
        assert all(each.id and each.msg and each.hint for each in found())


# --- what cannot be read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "wrong"),
    [
        ("int", "", "must be a whole number"),
        ("int", "1.5", "must be a whole number"),
        ("float", "3s", "must be a number"),
        ("float", "1,5", "must be a number"),
        ("float", "nan", "must be a number"),
        ("bool", "treu", "must be true or false"),
    ],
)
def test_what_is_malformed_is_named_and_has_its_default_meanwhile(monkeypatch, kind, value, wrong):
    monkeypatch.setenv("SETTING", value)
    env = StrictEnv()
    assert getattr(env, kind)("SETTING", default=7) == 7
    assert env.unreadable == {"SETTING": wrong}


@pytest.mark.parametrize(
    ("kind", "value", "bounds", "wrong"),
    [
        ("int", "0", {"least": 1}, "must be 1 or more"),
        ("float", "-2", {"least": 0.1}, "must be 0.1 or more"),
        ("int", "65536", {"least": 0, "most": 65_535}, "must be 65535 or less"),
    ],
)
def test_a_number_out_of_its_range_is_named_and_has_its_default_meanwhile(monkeypatch, kind, value, bounds, wrong):
    monkeypatch.setenv("SETTING", value)
    env = StrictEnv()
    assert getattr(env, kind)("SETTING", default=7, **bounds) == 7
    assert env.unreadable == {"SETTING": wrong}


@pytest.mark.parametrize(
    ("environment", "setting", "required"),
    [("dev", "", ["none"]), ("prod", "", ["admin"]), ("staging", "", ["admin"]), ("prod", "none", ["none"])],
)
def test_administrators_need_a_second_factor_outside_development(tmp_path, environment, setting, required):
    with environment_of(tmp_path, CONSOLE_ENV=environment, REQUIRE_SECOND_FACTOR=setting):
        assert required == settings.REQUIRE_SECOND_FACTOR
        assert found() == []


@pytest.mark.parametrize("name", ["AUDIT_RETENTION_DAYS", "SESSION_IDLE_MINUTES", "DYNAMODB_MAX_ATTEMPTS"])
def test_no_limit_of_the_console_may_be_nothing(tmp_path, name):
    with environment_of(tmp_path, **{name: "0"}):
        assert [(each.id, each.msg) for each in found()] == [("console.E001", f"{name} must be 1 or more.")]


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("int", " 12 ", 12),
        ("float", "0.5", 0.5),
        ("bool", "On", True),
        ("bool", "0", False),
        ("bool", "", False),
        ("list", "a,b", ["a", "b"]),
        ("str", "$HOME", "$HOME"),
    ],
)
def test_what_is_well_formed_is_read(monkeypatch, kind, value, read):
    monkeypatch.setenv("SETTING", value)
    env = StrictEnv()
    assert getattr(env, kind)("SETTING", default=None) == read
    assert env.unreadable == {}


def test_a_word_that_is_none_of_those_there_are_is_named(monkeypatch):
    monkeypatch.setenv("SETTING", "loud")
    env = StrictEnv()
    assert env.str("SETTING", default="INFO", choices=("INFO", "ERROR")) == "INFO"
    assert env.unreadable == {"SETTING": "must be one of INFO, ERROR"}


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {"SECRET_KEY": ""}])
def test_a_missing_key_is_named_with_how_to_make_one(environment):
    ran = run("manage.py", "check", CONSOLE_ENV="prod", **environment)
    assert ran.returncode == 1
    assert "(console.E001) SECRET_KEY must be set." in ran.stderr
    assert "token_urlsafe" in ran.stderr
    assert "Traceback" not in ran.stderr


# --- nothing starts ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_no_process_starts_and_each_lists_all_that_is_wrong(process):
    every = {name: value for key in SEVERAL for name, value in WRONG[key].items()}
    ran = run(*PROCESSES[process], **SAFE | every)
    assert ran.returncode != 0
    assert ran.stdout == ""
    assert all(key in ran.stderr for key in SEVERAL)
    # Lambda reports the exception itself.
    assert ("Traceback" in ran.stderr) == ("Lambda" in process)


@pytest.mark.slow
def test_the_web_server_asks_for_its_static_files_too():
    begin = "from django.conf import settings; settings.STATIC_ROOT = 'nowhere'; import console.wsgi"
    ran = run("-c", begin, **SAFE | {"DJANGO_SETTINGS_MODULE": "console.settings", "STATIC_MANIFEST": "true"})
    assert ran.returncode == 3
    assert "console.E012" in ran.stderr


def test_no_silencing_lets_anything_start(tmp_path):
    with environment_of(tmp_path, SECRET_KEY="guess", SILENCED_SYSTEM_CHECKS="console.E002, console.W001"):
        assert [each.is_silenced() for each in found()] == [False]
        with pytest.raises(SystemCheckError, match=r"console\.E002"):
            call_command("check")
        with pytest.raises(SystemCheckError, match=r"console\.E002"):
            call_command("staff", "list")


def test_a_warning_that_somebody_has_answered_can_be_silenced(tmp_path):
    with environment_of(tmp_path, BEHIND_TLS_PROXY="true", SILENCED_SYSTEM_CHECKS="security.W001, console.W001"):
        assert [(each.id, each.is_silenced()) for each in found()] == [("console.W001", True)]


def test_every_command_asks_first():
    for name, app in get_commands().items():
        if app in APPS or name in ("demo", "shell"):
            assert isinstance(load_command_class(app, name), ConsoleCommand), name


@pytest.mark.slow
def test_the_files_of_an_image_are_collected_before_it_has_its_settings(tmp_path):
    ran = run("manage.py", "collectstatic", "--dry-run", "--noinput", CONSOLE_ENV="prod")
    assert ran.returncode == 0, ran.stderr
