"""`Dockerfile`, `.dockerignore` and `compose.yaml`: what is in the image, what it starts, and what may touch it."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import PurePosixPath

import pytest
import yaml

from console.checks import MAKE_A_KEY
from console.schema.tables import TABLES
from demo.dynoxide import VERSION as DYNOXIDE
from tests.documentation import ROOT, settings
from tests.elasticmq import VERSION as ELASTICMQ
from tests.store.console.test_deployment import web_command

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
# Settings of botocore, which the console leaves to it.
CREDENTIALS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's, each as one line."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def arguments_of(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def is_sent(path: str) -> bool:
    """Whether a build gets the file: of the patterns that match it or a folder that it is in, the last one counts."""
    sent = True
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    for line in (each for each in lines if each and not each.startswith("#")):
        pattern = line.removeprefix("!")
        places = [path, *map(str, list(PurePosixPath(path).parents)[:-1])]
        if any(_is_match(place, pattern) for place in places):
            sent = line.startswith("!")
    return sent


def _is_match(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch(PurePosixPath(path).name, pattern.removeprefix("**/"))
    return path.count("/") == pattern.count("/") and fnmatch(path, pattern)


def test_image_starts_gunicorn_as_the_unit_does_for_all_addresses_of_the_container():
    command = json.loads(arguments_of("CMD")[-1])
    assert command == [*web_command(), "--bind", "0.0.0.0:8000"]
    assert arguments_of("EXPOSE") == ["8000"]
    assert "http://127.0.0.1:8000/healthz" in arguments_of("HEALTHCHECK")[-1]


def test_image_runs_as_a_user_without_rights_and_installs_only_what_is_pinned():
    assert arguments_of("FROM")[-1].endswith(" AS console")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", arguments_of("USER")[-1])
    installing = [each for each in arguments_of("RUN") if "pip install" in each]
    assert len(installing) == 1
    assert "--require-hashes" in installing[0]
    # A tag of this Python on this Debian, as the files of requirements are pinned for it.
    assert re.search(r"--python-version=(\S+)", (ROOT / ".ci" / "requirements").read_text())[1] == "3.11"
    assert "BASE=python:3.11-slim-bookworm" in arguments_of("ARG")
    assert not [each for each in arguments_of("FROM") if not each.startswith(("${BASE}", "runtime"))]


def test_image_says_which_version_it_is():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"VERSION={version}" in arguments_of("ARG")
    [labels] = arguments_of("LABEL")
    names = {name for name, _, _ in (each.partition("=") for each in shlex.split(labels))}
    assert {f"org.opencontainers.image.{each}" for each in ("licenses", "revision", "source", "version")} <= names


def test_no_key_is_in_the_image():
    kept = " ".join([*arguments_of("ENV"), *arguments_of("ARG")])
    assert "SECRET" not in kept
    assert "KEY" not in kept


def test_a_build_gets_what_is_copied_and_nothing_else():
    copied = [each.split()[:-1] for each in arguments_of("COPY") if "--from" not in each]
    sources = {name for names in copied for name in names} - {"${REQUIREMENTS}"}
    for name in (*sources, "requirements/prod.txt", "requirements/observability.txt"):
        assert (ROOT / name).exists()
        assert is_sent(name)
        assert is_sent(f"{name}/file.py") or not (ROOT / name).is_dir()
    places = (str(each.relative_to(ROOT)) for folder in (ROOT, ROOT / "requirements") for each in folder.iterdir())
    sent = {place for place in places if is_sent(place)}
    assert sent == sources | {"requirements/prod.txt", "requirements/observability.txt"}


PRIVATE = (
    *(".env", ".env.production", "console/.env", "demo/deep/.env.local", ".git/config", ".cache/dynoxide/bin/dynoxide"),
    *(".venv/bin/python", "console/__pycache__/apps.cpython-311.pyc", "demo/x.pyc", "tests/people.py", "compose.yaml"),
)


@pytest.mark.parametrize("path", PRIVATE)
def test_secrets_and_what_is_of_this_machine_stay_out(path):
    assert not is_sent(path)


def test_no_image_is_the_latest_one():
    images = {name: service["image"] for name, service in SERVICES.items() if "build" not in service}
    assert set(images) == {"proxy", "dynamodb", "elasticmq"}
    assert all(re.search(r":\d+\.\d+\.\d+", image) for image in images.values())
    # The same as the tests use.
    assert images["dynamodb"].endswith(f":{DYNOXIDE}")
    assert images["elasticmq"].endswith(f":{ELASTICMQ}")


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_do_more_than_its_work(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert "privileged" not in service
    assert not str(service.get("user", "10001:10001")).startswith(("0", "root"))


def test_only_the_proxy_is_reached_and_only_from_this_machine():
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"proxy": ["127.0.0.1:${CONSOLE_PORT:-8443}:443"]}
    assert {name for name, service in SERVICES.items() if service["networks"] != ["inside"]} == {"proxy"}


def test_proxy_has_the_tested_configuration_but_for_where_the_console_is():
    [replacing] = re.findall(r"sed s/(\S+?)/(\S+?)/ /console.conf", SERVICES["proxy"]["command"][-1])
    assert replacing == ("127.0.0.1:8000", "web:8000")
    assert "./deploy/nginx.conf:/console.conf:ro" in SERVICES["proxy"]["volumes"]
    configuration = (ROOT / "deploy" / "nginx.conf").read_text()
    assert configuration.count(replacing[0]) == 1
    folders = set(re.findall(r"ssl_certificate\S* (\S+)/\w+\.pem;", configuration))
    assert folders == {volume.split(":")[1] for volume in SERVICES["proxy"]["volumes"] if volume.startswith("tls:")}


def test_every_service_is_waited_for_until_it_is_ready():
    for service in SERVICES.values():
        for other, awaited in service.get("depends_on", {}).items():
            is_once = "restart" not in SERVICES[other]
            assert awaited["condition"] == ("service_completed_successfully" if is_once else "service_healthy")
            assert is_once or other == "web" or SERVICES[other]["healthcheck"]["test"]
    assert SERVICES["proxy"]["depends_on"]["web"]["restart"] is True
    # The image's own check asks the web server.
    assert "healthcheck" not in SERVICES["web"]
    port = SERVICES["work"]["environment"]["METRICS_PORT"]
    assert f"http://127.0.0.1:{port}/metrics" in SERVICES["work"]["healthcheck"]["test"][-1]


def test_work_and_web_have_the_time_that_their_units_give_them():
    for name in ("web", "work"):
        unit = (ROOT / "deploy" / f"console-{name}.service").read_text()
        assert f"TimeoutStopSec={SERVICES[name]['stop_grace_period'].removesuffix('s')}\n" in unit
    assert SERVICES["work"]["command"] == ["python", "manage.py", "work"]
    assert "command" not in SERVICES["web"]


def test_every_setting_of_compose_is_one():
    known = {each.name for each in settings()} | {f"TABLE_{key}" for key in TABLES} | CREDENTIALS
    for name in ("web", "work", "seed"):
        given = SERVICES[name]["environment"]
        assert {**given, **SERVICES["web"]["environment"]} == given
        assert {each.removesuffix("_FILE") for each in given} <= known
        assert {each for each in given if "KEY" in each} - CREDENTIALS == {"SECRET_KEY_FILE"}


def test_every_queue_of_compose_is_made():
    made = set(re.findall(r"^  \"?([a-z.-]+)\"? \{", (ROOT / "deploy" / "elasticmq.conf").read_text(), re.MULTILINE))
    named = {name: value for name, value in SERVICES["web"]["environment"].items() if name.endswith("_QUEUE_URL")}
    assert {value.rpartition("/")[2] for value in named.values()} == made
    assert set(named) == {each.name for each in settings() if each.name.endswith("_QUEUE_URL")}


@pytest.mark.slow
def test_console_starts_with_the_settings_of_compose_and_its_key_in_a_file(tmp_path):
    key = tmp_path / "secret_key"
    making = shlex.split(MAKE_A_KEY.partition(": ")[2])
    key.write_text(subprocess.run(making, capture_output=True, text=True, check=True).stdout.strip())
    given = {**SERVICES["web"]["environment"], "SECRET_KEY_FILE": str(key)}
    given = {name: value.replace("${CONSOLE_PORT:-8443}", "8443") for name, value in given.items()}
    # The image has the static files collected.
    given |= {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"STATIC_MANIFEST": "false"}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    ran = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    key.write_text("")
    ran = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True)
    assert "SECRET_KEY must be set." in ran.stderr
