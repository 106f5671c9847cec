"""Labels of browsers."""

import pytest

from console.staff.browsers import browser_label

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
