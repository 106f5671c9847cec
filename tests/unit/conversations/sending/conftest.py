"""A provider on a loopback port, and what both adapters have to stand."""

import traceback
from collections.abc import Iterator

import pytest

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


def says_nothing(error: BaseException, *more: str) -> None:
    """What is printed of an error, with its traceback, names no number, address, text or credential."""
    printed = f"{error} {error!r} {getattr(error, 'words', '')}" + "".join(
        line for line in traceback.format_exception(error) if not line.startswith("  File")
    )
    assert error.__cause__ is None
    assert not [each for each in (*SECRETS, *more) if each in printed]
