"""What `deploy/` has: units start what docs/operations.md says, and nginx keeps from gunicorn what would stop it."""

import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
SOON = 3.0


def web_command() -> list[str]:
    """What the unit starts, without the path of its environment."""
    [line] = re.findall(r"^ExecStart=\S+/(gunicorn .*)$", (DEPLOY / "console-web.service").read_text(), re.MULTILINE)
    return shlex.split(line)


def test_readme_starts_gunicorn_as_the_unit_does_without_its_control_socket():
    [line] = re.findall(r"^gunicorn console\.wsgi .*$", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    assert shlex.split(line) == web_command()
    assert "--no-control-socket" in web_command()


def test_every_unit_starts_a_command_that_there_is():
    units = [each.read_text() for each in DEPLOY.glob("*.service")]
    started = [line for each in units for line in re.findall("^ExecStart=(.*)$", each, re.MULTILINE)]
    assert len(started) == 3
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")}
    assert {line.split("manage.py ")[1] for line in started if "manage.py" in line} <= commands
    assert {each.stem for each in DEPLOY.glob("*.timer")} == {"console-reconcile"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def answers(port: int, seconds: float = SOON) -> bool:
    """Whether the sign-in page comes within so many seconds."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/sign-in/", headers={"Host": "console.example.com"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        assert any(answers(port) or time.sleep(0.2) for _ in range(150)), command
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def gunicorn() -> Iterator[int]:
    """The console as the unit starts it, on plain http; its port."""
    port = free_port()
    command = [sys.executable, "-m", *web_command()]
    command[command.index("--bind") + 1] = f"127.0.0.1:{port}"
    environment = {
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "ALLOWED_HOSTS": "console.example.com",
        "PLAIN_HTTP": "true",
        "STATIC_MANIFEST": "false",
        "DYNAMODB_ENDPOINT": "http://127.0.0.1:9",
    }
    with running(command, port, **environment):
        yield port


@contextmanager
def nginx(upstream: int, folder: Path) -> Iterator[int]:
    """nginx with `deploy/nginx.conf`, but for its ports, its certificate and where its files are; its port."""
    port = free_port()
    server = (DEPLOY / "nginx.conf").read_text()
    for there, here in (
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{upstream};"),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
    ):
        assert there in server
        server = server.replace(there, here)
    server = re.sub(r"^ *ssl_certificate.*$", "", server, flags=re.MULTILINE)
    paths = "".join(
        f"{each}_temp_path {folder}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"user root;\npid {folder}/pid;\ndaemon off;\nworker_processes 1;\nevents {{ worker_connections 1024; }}\n"
        f"http {{\naccess_log off;\n{paths}{server}\n}}\n"
    )
    with running([str(NGINX), "-e", "stderr", "-p", str(folder), "-c", str(configuration)], port):
        yield port


@contextmanager
def stalled(port: int, count: int, said: bytes) -> Iterator[None]:
    """So many connections that say this much and no more."""
    with ExitStack() as opened:
        for _ in range(count):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            connection.sendall(said)
        time.sleep(1)
        yield


BODY = (
    b"POST /sign-in/ HTTP/1.1\r\nHost: console.example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 100000\r\n\r\nusername="
)
STALLS = {"30 bodies that never end": (30, BODY), "200 connections that say nothing": (200, b"")}


@pytest.mark.slow
@pytest.mark.skipif(NGINX is None, reason="needs nginx (Debian: apt install nginx-light)")
def test_nginx_keeps_stalled_bodies_and_silent_connections_from_gunicorn(tmp_path):
    with gunicorn() as bare, nginx(bare, tmp_path) as port:
        for count, said in STALLS.values():
            with stalled(port, count, said):
                assert all(answers(port) for _ in range(5))
        # What it is kept from: without nginx, the same bodies take every thread.
        with stalled(bare, *STALLS["30 bodies that never end"]):
            # One of its workers may still have threads; who asks cannot choose.
            assert not all(answers(bare) for _ in range(40))
