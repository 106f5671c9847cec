"""Reaching a webhook through a network that nobody can trust: what it answers, where its name leads, and who it is."""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any

import pytest
import requests.adapters
import urllib3.util.connection
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from console import clock
from conversations.notifications import notifier as notifying
from conversations.notifications import webhooks
from conversations.notifications.deliveries import NotDelivered, announce, due_deliveries, list_deliveries
from conversations.notifications.destinations import Destination
from demo.receiver import WebhookReceiver
from tests.support.conversations.notifications import add, add_at, answering, bring, happened, notifier

TOO_LONG = "It took too long to answer."
UNREACHED = "It could not be reached."
INSIDE = "Its address is not on the public internet."
UNTRUSTED = "Its certificate is not trusted."


def problem_of(made: Destination) -> str:
    """What became of one notification: "" where it arrived."""
    announce([happened()])
    bring()
    [one] = list_deliveries(made.id)
    assert (one.state == "delivered") == (not one.problem)
    return one.problem


# --- What it answers --------------------------------------------------------------------------------------------------


@pytest.fixture
def hangs() -> Iterator[threading.Event]:
    """What a receiver waits for that never answers: the end of the test."""
    ends = threading.Event()
    yield ends
    ends.set()


def raw(*pieces: bytes) -> Any:
    """An answer of these bytes as they are; then the connection is cut."""

    def answer(request: BaseHTTPRequestHandler, _: object) -> None:
        request.wfile.write(b"".join(pieces))
        request.wfile.flush()
        request.connection.shutdown(socket.SHUT_RDWR)
        request.close_connection = True

    return answer


OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "cut before an answer": (raw(), UNREACHED),
    "cut within the headers": (raw(OK, b"X-Half: "), ""),
    "cut within the body": (raw(OK, b"Content-Length: 99\r\n\r\nhalf"), ""),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), UNREACHED),
    "a status that is none": (raw(b"HTTP/1.1 abc\r\n\r\n"), UNREACHED),
    "a line of a megabyte": (raw(OK, b"X: ", b"x" * 1_000_000, b"\r\n\r\n"), UNREACHED),
    "a thousand headers": (raw(OK, b"X: y\r\n" * 1000, b"\r\n"), UNREACHED),
    "a gzip that is none": (raw(OK, b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), ""),
    "no body": (raw(OK, b"\r\n"), ""),
    "a strange status": (raw(b"HTTP/1.1 799 What\r\n\r\n"), "It answered with status 799."),
    "a redirect to nowhere": (
        raw(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"),
        "It answered with status 302, a redirect, which is never followed.",
    ),
    "a redirect to what is no address": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: https://[half\r\nContent-Length: 0\r\n\r\n"),
        "It answered with status 302, a redirect, which is never followed.",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_it_answers_is_words(store, receiver, name):
    made = add_at(receiver)
    receiver.answer, expected = ANSWERS[name]
    assert problem_of(made) == expected
    assert len(receiver.received) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(store, receiver, status):
    made = add_at(receiver)
    with WebhookReceiver() as target:
        receiver.answer = answering(status, Location=f"{target.endpoint}/inside")
        assert problem_of(made) == f"It answered with status {status}, a redirect, which is never followed."
        assert target.received == []
    assert len(receiver.received) == 1


@pytest.mark.slow
def test_one_that_does_not_answer_in_time(store, receiver, monkeypatch, hangs):
    monkeypatch.setattr(webhooks, "TIMEOUTS", (1.0, 0.2))
    made = add_at(receiver)
    receiver.answer = lambda *_: hangs.wait(20)
    assert problem_of(made) == TOO_LONG


@pytest.mark.slow
@pytest.mark.parametrize("begin", [b"", OK, OK + b"X-Drip: "], ids=["status", "names", "value"])
def test_one_whose_headers_drip_for_ever(store, receiver, monkeypatch, hangs, begin):
    """Each byte comes in time, and the last one never."""
    monkeypatch.setattr(notifying, "LONGEST_ANSWER_SECONDS", 0.4)
    made = add_at(receiver)

    def drip(request: BaseHTTPRequestHandler, _: object) -> None:
        request.wfile.write(begin)
        while not hangs.wait(0.02):
            request.wfile.write(b"H")

    receiver.answer = drip
    assert problem_of(made) == TOO_LONG


ENDLESS = 64 * 1024 * 1024


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (200, ""),
        (302, "It answered with status 302, a redirect, which is never followed."),
        (500, "It answered with status 500."),
    ],
)
@pytest.mark.parametrize("length", [10 * 1024 * 1024, None], ids=["10 MB", "endless"])
def test_a_body_is_never_read(store, receiver, status, problem, length):
    made, sent, ended = add_at(receiver), [0], threading.Event()

    def pour(request: BaseHTTPRequestHandler, _: object) -> None:
        request.send_response(status)
        request.send_header("Location", "/elsewhere")
        if length is not None:
            request.send_header("Content-Length", str(length))
        request.end_headers()
        try:
            while sent[0] < (length or ENDLESS):
                sent[0] += request.connection.send(b"x" * 65536)
        except OSError:
            pass
        request.close_connection = True
        ended.set()

    receiver.answer = pour
    assert problem_of(made) == problem
    assert ended.wait(20)
    # What the machine's own buffers take.
    assert sent[0] < (length or ENDLESS)


def test_nobody_there(store, receiver):
    made = add_at(receiver)
    receiver.stop()
    assert problem_of(made) == UNREACHED


# --- Who it is --------------------------------------------------------------------------------------------------------


def certificate(tmp_path: Any, name: str) -> str:
    """Path of a key and a certificate of that name, which it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    try:
        named: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        named = x509.DNSName(name)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([named]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path / f"{name}.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, *plain) + made.public_bytes(pem))
    return str(path)


@contextmanager
def tls_receiver(path: str) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """The port of a receiver with that certificate, and the headers that it got."""
    got: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            got.append(dict(self.headers.items()))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    # Each connection's own thread shakes hands: one that is refused is no business of the others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server.server_address[1], got
    finally:
        server.shutdown()
        server.server_close()


def test_a_certificate_that_nobody_vouches_for(store, settings, tmp_path):
    settings.NOTIFICATIONS_ALLOWED_HOSTS = ["127.0.0.1"]
    with tls_receiver(certificate(tmp_path, "127.0.0.1")) as (port, got):
        assert problem_of(add(address=f"https://127.0.0.1:{port}/hook")) == UNTRUSTED
    assert got == []


# --- Where its name leads ---------------------------------------------------------------------------------------------

NAME = "hooks.example.com"
# TEST-NET addresses are no public ones to Python; nothing is ever sent to this one.
PUBLIC = "93.184.215.14"


class Network:
    """The names and connections of this machine: `answers` of a name's servers, in turn; what was connected to.

    The public address leads to `port` of this machine, or nowhere. No connection leaves the machine.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: Any = cycle([[PUBLIC]])
        self.port = 0
        self.asked = 0
        self.connected: list[str] = []
        self._resolve, self._connect = socket.getaddrinfo, urllib3.util.connection.create_connection
        monkeypatch.setattr(socket, "getaddrinfo", self.resolve)
        monkeypatch.setattr(urllib3.util.connection, "create_connection", self.connect)

    def resolve(self, host: str, port: Any, *args: Any, **options: Any) -> list[Any]:
        if host != NAME:
            # Numbers only: no question about a name leaves the machine.
            options["flags"] = socket.AI_NUMERICHOST
            return list(self._resolve(host, port, *args, **options))
        self.asked += 1
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port or 443))
            for each in next(self.answers)
        ]

    def connect(self, address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        host = address[0].strip("[]")
        if host != PUBLIC:
            assert host == "127.0.0.1", f"connected to {host}"
            self.connected.append(host)
            return self._connect(address, *args, **options)
        self.connected.append(host)
        if not self.port:
            raise OSError("unreachable")
        return self._connect(("127.0.0.1", self.port), *args, **options)


@pytest.fixture
def network(store, monkeypatch) -> Network:
    return Network(monkeypatch)


@pytest.fixture
def made(network) -> Destination:
    made = add(address=f"https://{NAME}/hook")
    network.connected.clear()
    return made


def brought(made: Destination, network: Network) -> tuple[str, list[str]]:
    """What became of one notification, and what was connected to for it, but for the store."""
    announce([happened()])
    network.connected.clear()
    due = due_deliveries(clock.now(), 1)
    try:
        notifier()._send(made, due)
    except NotDelivered as error:
        return str(error), network.connected
    return "", network.connected


NOT_PUBLIC = [
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1"),
    *("169.254.169.254", "224.0.0.1", "255.255.255.255", "192.0.0.8", "198.18.0.1"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254"),
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_that_leads_inside_is_never_connected_to(made, network, address):
    network.answers = cycle([[address]])
    assert brought(made, network) == (INSIDE, [])


@pytest.mark.parametrize("later", ["127.0.0.1", "169.254.169.254", "::1"])
def test_a_name_that_leads_elsewhere_the_moment_after_it_was_checked(made, network, later):
    """It is asked once, and what was checked is what is connected to."""
    network.answers = cycle([[PUBLIC], [later]])
    assert brought(made, network) == (UNREACHED, [PUBLIC])
    assert network.asked == 1
    assert brought(made, network) == (INSIDE, [])


def test_of_several_addresses_the_one_that_was_checked_is_connected_to(made, network):
    network.answers = cycle([[PUBLIC, "127.0.0.1"]])
    assert brought(made, network) == (UNREACHED, [PUBLIC])


def test_a_name_that_nobody_knows(made, network, monkeypatch):
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(network, "resolve", unknown)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert brought(made, network) == (UNREACHED, [])


@pytest.mark.slow
def test_a_name_whose_servers_do_not_answer(made, network, monkeypatch, hangs):
    monkeypatch.setattr(notifying, "LONGEST_ANSWER_SECONDS", 0.2)
    announce([happened()])
    due = due_deliveries(clock.now(), 1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: hangs.wait(20) and [])
    with pytest.raises(NotDelivered, match=TOO_LONG):
        notifier()._send(made, due)


@pytest.mark.parametrize(("name", "problem"), [(NAME, ""), ("other.example.com", UNTRUSTED)])
def test_its_certificate_is_that_of_its_name(made, network, monkeypatch, tmp_path, name, problem):
    path = certificate(tmp_path, name)
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", path)
    with tls_receiver(path) as (network.port, got):
        assert brought(made, network) == (problem, [PUBLIC])
    assert [each["Host"] for each in got] == [NAME] * (not problem)


def test_the_proxies_and_passwords_of_the_machine_are_not_for_webhooks(made, network, monkeypatch, tmp_path):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    (tmp_path / "netrc").write_text(f"machine {NAME} login ana password canary")
    path = certificate(tmp_path, NAME)
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", path)
    with tls_receiver(path) as (network.port, got):
        assert brought(made, network) == ("", [PUBLIC])
    assert "Authorization" not in got[0]


def test_what_was_allowed_when_it_was_entered_is_judged_by_todays_settings(store, receiver, settings):
    made = add_at(receiver)
    settings.NOTIFICATIONS_ALLOWED_HOSTS = []
    assert problem_of(made) == "Its address is not allowed here any more."
    assert receiver.received == []


def test_without_a_secret_nothing_is_sent(store, receiver, settings):
    made = add_at(receiver)
    settings.SECRET_KEY = "another-key-that-is-long-enough-for-what-it-is-used-0123456789"
    assert problem_of(made) == "Its signing secret cannot be read any more. Make a new secret."
    assert receiver.received == []
