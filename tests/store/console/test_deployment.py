"""What `deploy/` has: units start what docs/install.md says, and nginx keeps from gunicorn what would stop it."""

import http.client
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings

from console import clock
from console.staff.throttling import _Count
from tests.dynamodb import Store
from tests.support.processes import ending

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
SOON = 3.0
HOST = "console.example.com"
needs_nginx = pytest.mark.skipif(NGINX is None, reason="needs nginx (Debian: apt install nginx-light)")


PROTECTING = {
    **{"bind": "['127.0.0.1:8000']", "worker_class": "gthread", "workers": "2", "threads": "8"},
    **{"limit_request_line": "8190", "forwarder_headers": "[]", "control_socket_disable": "True"},
}


def web_command(root: Path = ROOT) -> list[str]:
    """What the unit starts, without the path of its environment."""
    unit = (root / "deploy" / "console-web.service").read_text()
    [line] = re.findall(r"^ExecStart=\S+/(gunicorn .*)$", unit, re.MULTILINE)
    return shlex.split(line)


def test_installation_starts_gunicorn_as_the_unit_does():
    page = ROOT / "docs" / "install.md"
    [line] = re.findall(r"^gunicorn console\.wsgi .*$", page.read_text(), re.MULTILINE)
    assert shlex.split(line, comments=True) == web_command()


@pytest.mark.slow
def test_gunicorn_is_started_with_what_protects_it():
    """Long addresses, threads, no header of a client that says where the console is, and no control socket."""
    command = [sys.executable, "-m", *web_command(), "--print-config"]
    environment = {**os.environ, "STATIC_MANIFEST": "false", "DJANGO_SETTINGS_MODULE": "console.settings"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = dict(re.split(r"\s+= ", line, maxsplit=1) for line in done.stdout.splitlines() if re.search(r"\s+= ", line))
    assert {name: found[name] for name in PROTECTING} == PROTECTING


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", sorted(DEPLOY.glob("*.service")), ids=lambda each: each.stem)
def test_a_unit_is_hardly_exposed(unit):
    """From 0 to 10; without hardening, a service is at 9.6."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=17", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr


def test_the_unit_of_a_part_differs_from_that_of_all_work_in_the_part_alone():
    one, every = ((DEPLOY / f"console-work{at}.service").read_text().splitlines() for at in ("@", ""))
    [_, _, settings_file, command] = [line for line in one if line not in every]
    assert settings_file == "EnvironmentFile=-/etc/console-%i.env"
    assert command == "ExecStart=/opt/console/.venv/bin/python manage.py work --only %i"
    assert [line for line in every if line not in one][1:] == [command.removesuffix(" --only %i")]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """Something that listens on this machine; with `trust`, by TLS."""

    port: int
    trust: ssl.SSLContext | None = None
    # nginx's other port, which only redirects.
    plain_port: int = 0

    def connect(self) -> socket.socket:
        """A connection that is ready for a request."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        return self.trust.wrap_socket(connection, server_hostname=HOST) if self.trust else connection

    def ask(self, method: str, path: str, body: str = "", *, source: str = "127.0.0.1", **headers: str) -> Any:
        """The answer to one request from an address of this machine, with its `content`. Raises `OSError`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON, source_address=(source, 0))
        connection.connect()
        if self.trust:
            connection.sock = self.trust.wrap_socket(connection.sock, server_hostname=HOST)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"Host": HOST, **given})
            answer = connection.getresponse()
            answer.content = answer.read().decode()  # type: ignore[attr-defined]
            return answer
        finally:
            connection.close()


def answers(server: Server) -> bool:
    """Whether the sign-in page comes soon. Asked by itself, gunicorn is told what nginx would tell it."""
    said = {} if server.trust else {"X_Forwarded_Proto": "https"}
    try:
        return server.ask("GET", "/sign-in/", **said).status == 200
    except OSError:
        return False


@contextmanager
def running(
    command: list[str], server: Server, environment: Mapping[str, str] | None = None, root: Path = ROOT
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=root, env={**os.environ, **(environment or {})})
    with ending(process):
        assert any(answers(server) or time.sleep(0.2) for _ in range(150)), command
        yield process


@contextmanager
def gunicorn(environment: dict[str, str], *more: str) -> Iterator[Server]:
    """The console as the unit starts it, with the settings for a proxy in front."""
    server = Server(free_port())
    command = [sys.executable, "-m", *web_command(), "--bind", f"127.0.0.1:{server.port}", *more]
    with running(command, server, behind_proxy(environment)):
        yield server


def behind_proxy(environment: dict[str, str]) -> dict[str, str]:
    return {
        **environment,
        "ALLOWED_HOSTS": HOST,
        "PLAIN_HTTP": "false",
        "BEHIND_TLS_PROXY": "true",
        "TRUSTED_PROXIES": "1",
        "STATIC_MANIFEST": "false",
    }


def certificate(folder: Path) -> ssl.SSLContext:
    """Make a self-signed certificate and its key in two files; what a client needs to trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(clock.now() - timedelta(days=1))
        .not_valid_after(clock.now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "privkey.pem").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return ssl.create_default_context(cafile=str(folder / "fullchain.pem"))


@contextmanager
def nginx(upstream: Server, folder: Path, *others: Server) -> Iterator[Server]:
    """nginx with `deploy/nginx.conf`, but for its ports and where its files are, in front of one console or more."""
    server = Server(free_port(), certificate(folder), free_port())
    written = (DEPLOY / "nginx.conf").read_text()
    for there, here in (
        ("server 127.0.0.1:8000;", "".join(f"server 127.0.0.1:{each.port};" for each in (upstream, *others))),
        ("listen 80;", f"listen 127.0.0.1:{server.plain_port};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{server.port} ssl;"),
        ("/etc/ssl/console/fullchain.pem", f"{folder}/fullchain.pem"),
        ("/etc/ssl/console/privkey.pem", f"{folder}/privkey.pem"),
    ):
        assert there in written
        written = written.replace(there, here)
    paths = "".join(
        f"{each}_temp_path {folder}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"user root;\npid {folder}/pid;\ndaemon off;\nworker_processes 1;\nevents {{ worker_connections 1024; }}\n"
        f"http {{\naccess_log off;\n{paths}{written}\n}}\n"
    )
    with running([str(NGINX), "-e", "stderr", "-p", str(folder), "-c", str(configuration)], server):
        yield server


@contextmanager
def nginx_beside(upstream: Server, folder: Path) -> Iterator[Server]:
    """nginx with `deploy/aws/nginx.conf`, all of it, but for its ports and its place."""
    server = Server(free_port())
    written = (DEPLOY / "aws" / "nginx.conf").read_text()
    for there, here in (
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{upstream.port};"),
        ("listen 8080;", f"listen 127.0.0.1:{server.port};"),
        ("/tmp/", f"{folder}/"),
        ("daemon off;", "daemon off; user root;"),
    ):
        assert there in written
        written = written.replace(there, here)
    configuration = folder / "nginx.conf"
    configuration.write_text(written)
    with running([str(NGINX), "-e", "stderr", "-c", str(configuration)], server):
        yield server


@pytest.fixture
def environment(store: Store) -> dict[str, str]:
    """Of a gunicorn on the test's store."""
    return {**store.environment(), "SECRET_KEY": settings.SECRET_KEY}


@contextmanager
def stalled(count: int, said: bytes, connect: Callable[[], socket.socket]) -> Iterator[None]:
    """So many connections that say this much and no more."""
    with ExitStack() as opened:
        for _ in range(count):
            opened.enter_context(connect()).sendall(said)
        time.sleep(1)
        yield


# With what a browser sends, so that the console reads the form before it can refuse it.
BODY = (
    b"POST /sign-in/ HTTP/1.1\r\nHost: console.example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Referer: https://console.example.com/sign-in/\r\nCookie: __Host-csrf=" + b"a" * 32 + b"\r\n"
    b"X-Forwarded-Proto: https\r\nContent-Length: 100000\r\n\r\nusername="
)


@pytest.mark.slow
@needs_nginx
def test_nginx_keeps_stalled_bodies_and_silent_connections_from_gunicorn(environment, tmp_path):
    with gunicorn(environment) as upstream, nginx(upstream, tmp_path) as server:
        without_handshake = Server(server.port).connect
        for stall in (30, BODY, server.connect), (200, b"", server.connect), (200, b"", without_handshake):
            with stalled(*stall):
                assert all(answers(server) for _ in range(5))


@pytest.mark.slow
@needs_nginx
def test_nginx_behind_a_load_balancer_does_the_same_and_passes_on_what_it_said(environment, store, tmp_path):
    """The load balancer ends TLS, and appends the client to what the client claims."""
    client, claimed = "203.0.113.9", "198.51.100.1"
    body = BODY.replace(b"Content-Length", b"X-Forwarded-For: 203.0.113.9\r\nContent-Length")
    with gunicorn(environment) as upstream, nginx_beside(upstream, tmp_path) as server:
        for stall in (30, body, server.connect), (200, b"", server.connect):
            with stalled(*stall):
                assert all(answers(server) for _ in range(5))
        said = {"X_Forwarded_Proto": "http", "X_Forwarded_For": f"{claimed}, {client}"}
        page = server.ask("GET", "/sign-in/", **said)
        assert page.status == 200
        cookie = page.getheader("Set-Cookie").partition(";")[0]
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.content)[:1]
        form = urlencode({"csrfmiddlewaretoken": token, "username": "nobody.here", "password": "not a password"})
        said |= {"Cookie": cookie, "Content_Type": "application/x-www-form-urlencoded"}
        assert server.ask("POST", "/sign-in/", form, Referer=f"https://{HOST}/sign-in/", **said).status == 422
    counted = {item["pk"] for item in store.all("CONSOLE") if item["pk"].startswith("THROTTLE#address#")}
    assert counted == {_Count("address", client, 1).key["pk"]["S"]}


@pytest.mark.slow
def test_without_a_proxy_the_same_bodies_take_every_thread(environment):
    """As many threads as the unit has, in one worker: which of several takes a connection is the kernel's choice."""
    threads = int(PROTECTING["workers"]) * int(PROTECTING["threads"])
    with gunicorn(environment, "--workers", "1", "--threads", str(threads)) as bare:
        with stalled(30, BODY, bare.connect):
            assert not any(answers(bare) for _ in range(3))
        assert answers(bare)


@pytest.mark.slow
@needs_nginx
def test_nginx_tells_the_console_by_what_scheme_and_from_where_a_request_came(environment, store, tmp_path):
    address, claimed = "127.0.0.7", "203.0.113.9"
    with gunicorn(environment) as upstream, nginx(upstream, tmp_path) as server:
        # Plain http leads to https, whatever the client says, and nothing of it comes to the console.
        plain = Server(server.plain_port).ask("GET", "/sign-in/?next=/queue/", X_Forwarded_Proto="https")
        assert (plain.status, plain.getheader("Location")) == (301, f"https://{HOST}/sign-in/?next=/queue/")
        # The console would lead who came by http to https, and once more, for ever.
        said = {"X_Forwarded_Proto": "http", "X_Forwarded_For": claimed, "Referer": f"https://{HOST}/sign-in/"}
        page = server.ask("GET", "/sign-in/", **said, X_Request_ID="0" * 32)
        # The proxy's id, not one that the client made up: by itself, gunicorn is told the latter.
        assert re.fullmatch("[0-9a-f]{32}", page.getheader("X-Request-ID"))
        assert page.getheader("X-Request-ID") != "0" * 32
        bare = upstream.ask("GET", "/sign-in/", X_Forwarded_Proto="https", X_Request_ID="0" * 32)
        assert bare.getheader("X-Request-ID") == "0" * 32
        assert page.status == 200
        assert page.getheader("Strict-Transport-Security")
        cookie = page.getheader("Set-Cookie").partition(";")[0]
        assert cookie.startswith("__Host-")
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.content)[:1]
        form = urlencode({"csrfmiddlewaretoken": token, "username": "nobody.here", "password": "not a password"})
        kind = "application/x-www-form-urlencoded"
        refused = server.ask("POST", "/sign-in/", form, source=address, Cookie=cookie, Content_Type=kind, **said)
    assert refused.status == 422
    # Attempts are counted by address: by the client's own, and not by nginx's or by what the client claimed.
    counted = {item["pk"] for item in store.all("CONSOLE") if item["pk"].startswith("THROTTLE#address#")}
    assert counted == {_Count("address", address, 1).key["pk"]["S"]}
