"""Where a request comes from: a header that anybody can write must not decide it, and browsers have short labels."""

import pytest
from django.test import RequestFactory

from console.staff.clients import UNKNOWN, browser_label, client_address

CONNECTED = "192.0.2.7"


def address(settings, proxies: int, forwarded: str | None = None, connected: str = CONNECTED) -> str:
    settings.TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=connected))


def test_header_is_not_read_without_proxies_of_ours(settings):
    assert address(settings, 0, "198.51.100.1") == CONNECTED


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "203.0.113.5, 198.51.100.1", "198.51.100.1"),
        (1, "198.51.100.1:49152", "198.51.100.1"),
        (1, "[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        (1, "junk,,, ,203.0.113.5 , 198.51.100.1 ", "198.51.100.1"),
        (2, "203.0.113.5, 198.51.100.1, 10.0.0.1", "198.51.100.1"),
        (3, "203.0.113.5, 198.51.100.1, 10.0.0.1", "203.0.113.5"),
    ],
)
def test_place_from_the_right_counts_whatever_the_client_claims_before_it(settings, proxies, forwarded, expected):
    assert address(settings, proxies, forwarded) == expected


@pytest.mark.parametrize(
    ("proxies", "forwarded"),
    [
        (1, None),
        (1, ""),
        (1, "198.51.100.1,"),
        (1, "198.51.100.1, unknown"),
        (1, "198.51.100.1, 1.2.3"),
        (1, "198.51.100.1, 0x7f000001"),
        (1, "198.51.100.1, " + "9" * 5000),
        (2, "198.51.100.1"),
        (2, "198.51.100.1, <script>, 10.0.0.1"),
        (9, "198.51.100.1, 10.0.0.1"),
    ],
)
def test_missing_or_junk_there_falls_back_to_who_is_connected(settings, proxies, forwarded):
    assert address(settings, proxies, forwarded) == CONNECTED


@pytest.mark.parametrize(
    ("connected", "expected"),
    [
        ("2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", UNKNOWN),
        ("unix:", UNKNOWN),
    ],
)
def test_one_network_is_one_address(settings, connected, expected):
    assert address(settings, 0, connected=connected) == expected


CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"


@pytest.mark.parametrize(
    ("header", "label"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36", "Chrome on Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36 Edg/140.0.0.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 10; K) {CHROME} Mobile Safari/537.36", "Chrome on Android"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/19.0 Safari/605.1.15",
            "Safari on macOS",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Safari/604.1",
            "Chrome on iPhone",
        ),
        ("curl/8.5.0", "Another browser"),
        ("", "Another browser"),
        ("x" * 100_000, "Another browser"),
    ],
)
def test_label_names_browser_and_system_only(header, label):
    assert browser_label(header) == label
