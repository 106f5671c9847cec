"""Addresses of destinations: the kinds there are, and which addresses of each are valid."""

import re
from enum import StrEnum
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator, validate_email

LONGEST_ADDRESS = 500
_TOPIC = re.compile(
    r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):(?P<name>[A-Za-z0-9_-]{1,250}(?:\.fifo)?)"
)
# For protocols, not hosts; site-local; and IPv6 that leads to an IPv4 address, perhaps inside: NAT64, 6to4, Teredo.
_NOT_PUBLIC = tuple(
    map(ip_network, ("192.0.0.0/24", "fec0::/10", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"))
)


class DestinationKind(StrEnum):
    """How to reach a destination."""

    WEBHOOK = "webhook"
    SNS = "sns"
    EMAIL = "email"

    @property
    def label(self) -> str:
        """The kind in words."""
        return {"webhook": "Webhook", "sns": "Amazon SNS topic", "email": "Email"}[self.value]


def is_allowed_inside(host: str) -> bool:
    """Return whether NOTIFICATIONS_ALLOWED_HOSTS allows a host, even if it is internal or without TLS."""
    return host.lower() in {each.strip().lower() for each in settings.NOTIFICATIONS_ALLOWED_HOSTS}


def region_of(topic: str) -> str:
    """Return the region of a topic's ARN, "" if it is invalid."""
    found = _TOPIC.fullmatch(topic)
    return found["region"] if found else ""


def address_problem(kind: DestinationKind, address: str) -> str:
    """Return what is wrong with an address, for people; "" if it is valid."""
    if len(address) > LONGEST_ADDRESS:
        return f"Enter an address of up to {LONGEST_ADDRESS} characters."
    return _PROBLEMS[kind](address)


def _webhook_problem(address: str) -> str:
    """Return why a webhook's address is invalid, "" if it is valid. Where its name resolves to is checked per call."""
    try:
        URLValidator(schemes=["http", "https"])(address)
        there = urlsplit(address)
        host, port = there.hostname or "", there.port
    except (ValidationError, ValueError):
        return "Enter an address such as https://hooks.example.com/console."
    if there.username or there.password or there.fragment or port == 0:
        return "Enter the address without a user, password or fragment."
    if is_allowed_inside(host):
        return ""
    if there.scheme != "https":
        return "Enter an address that begins with https://."
    if str(port or 443) not in settings.NOTIFICATIONS_PORTS:
        return f"Use the port {' or '.join(settings.NOTIFICATIONS_PORTS)}."
    try:
        is_inside = not _is_public(host)
    except ValueError:
        name = host.removesuffix(".")
        is_inside = name == "localhost" or name.endswith((".localhost", ".local", ".internal"))
    return "This address is not on the public internet." if is_inside else ""


def _is_public(host: str) -> bool:
    """Return whether an IP address is on the public internet, and not inside by way of it. Raises `ValueError`."""
    found = ip_address(host)
    return found.is_global and not any(found in each for each in _NOT_PUBLIC if found.version == each.version)


def _topic_problem(address: str) -> str:
    found = _TOPIC.fullmatch(address)
    if found is None:
        return "Enter the ARN of a topic, such as arn:aws:sns:eu-west-2:123456789012:console-events."
    prefix = settings.NOTIFICATIONS_TOPIC_PREFIX
    if not found["name"].startswith(prefix):
        return f"Enter a topic whose name begins with {prefix}."
    accounts = settings.NOTIFICATIONS_TOPIC_ACCOUNTS
    return "" if not accounts or found["account"] in accounts else f"Enter a topic of {' or '.join(accounts)}."


def _email_problem(address: str) -> str:
    try:
        validate_email(address)
    except ValidationError:
        return "Enter one email address."
    return ""


_PROBLEMS = {
    DestinationKind.WEBHOOK: _webhook_problem,
    DestinationKind.SNS: _topic_problem,
    DestinationKind.EMAIL: _email_problem,
}
