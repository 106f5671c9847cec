"""A provider on a loopback port, and what both adapters have to stand."""

import datetime
import socket
import ssl
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from console import clock
from demo.provider import DemoProvider

CUSTOMER, OPTED_OUT, LANDLINE, LATE = "+447700900123", "+447700900610", "+447700900006", "+447700900016"
SECRETS = ("447700900", "customer@", "harbour")
FAILING = {LANDLINE: 30006, LATE: 63016, "late@example.com": 550}
REFUSING = {OPTED_OUT: 21610, "refused@example.com": 400}


@pytest.fixture
def provider(settings) -> Iterator[DemoProvider]:
    with DemoProvider(FAILING, REFUSING) as demo:
        settings.TWILIO_API_URL = settings.SENDGRID_API_URL = demo.endpoint
        yield demo


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[str]:
    """The address of a server whose certificate nobody trusts."""
    key, day = ec.generate_private_key(ec.SECP256R1()), datetime.timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, clock.now() - day, clock.now() + day)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "pem").write_bytes(written + made.sign(key, hashes.SHA256()).public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")

    def shake(server: socket.socket) -> None:
        with suppress(OSError):
            context.wrap_socket(server.accept()[0], server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=shake, args=(server,), daemon=True).start()
        yield f"https://localhost:{server.getsockname()[1]}"


def says_nothing(error: BaseException, *more: str) -> None:
    """What is printed of an error, with its traceback, names no number, address, text or credential."""
    printed = f"{error} {error!r} {getattr(error, 'words', '')}" + "".join(
        line for line in traceback.format_exception(error) if not line.startswith("  File")
    )
    assert error.__cause__ is None
    assert not [each for each in (*SECRETS, *more) if each in printed]
