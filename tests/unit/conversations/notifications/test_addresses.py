"""Which addresses can be entered for a webhook, a topic and an email, and with which settings the console starts."""

import pytest

from console.provisioning.policies import document
from conversations.notifications.addresses import LONGEST_ADDRESS, DestinationKind, address_problem
from conversations.notifications.destinations import kinds
from tests.refusals import refused
from tests.support.conversations.notifications import HOOK, TOPIC

K = DestinationKind
NO_ADDRESS = "Enter an address such as https://hooks.example.com/console."
NO_TLS = "Enter an address that begins with https://."
NO_USER = "Enter the address without a user, password or fragment."
INSIDE = "This address is not on the public internet."
WEBHOOKS = {
    HOOK: "",
    "https://hooks.example.com:443/a?b=c": "",
    "https://hooks.example.com:8443/": "Use the port 443.",
    "https://hooks.example.com:22/": "Use the port 443.",
    "https://203.0.113.9.example.com/": "",
    "https://8.8.8.8/": "",
    "https://[2606:4700::1111]/": "",
    "HTTPS://HOOKS.EXAMPLE.COM/": "",
    "https://bücher.example/": "",
    "http://hooks.example.com/": NO_TLS,
    "http://8.8.8.8/": NO_TLS,
    "ftp://hooks.example.com/": NO_ADDRESS,
    "javascript:alert(1)": NO_ADDRESS,
    "hooks.example.com/console": NO_ADDRESS,
    "//hooks.example.com/": NO_ADDRESS,
    "": NO_ADDRESS,
    "https://": NO_ADDRESS,
    "https://[half": NO_ADDRESS,
    "https://hooks.example.com:99999/": NO_ADDRESS,
    "https://hooks.example.com/\r\nX: y": NO_ADDRESS,
    "https://hooks.example.com:0/": NO_USER,
    "https://ana@hooks.example.com/": NO_USER,
    "https://ana:secret@hooks.example.com/": NO_USER,
    "https://hooks.example.com/#top": NO_USER,
    "https://helpdesk\\@hooks.example.com/": NO_USER,
    "https://127.0.0.1/": INSIDE,
    "https://127.8.9.10/": INSIDE,
    "https://0.0.0.0/": INSIDE,
    "https://10.1.2.3/": INSIDE,
    "https://172.16.0.1/": INSIDE,
    "https://192.168.1.1/": INSIDE,
    "https://100.64.0.1/": INSIDE,
    "https://169.254.169.254/latest/meta-data/": INSIDE,
    "https://198.51.100.1/": INSIDE,
    "https://[::1]/": INSIDE,
    "https://[::]/": INSIDE,
    "https://[::ffff:127.0.0.1]/": INSIDE,
    "https://[::ffff:10.0.0.1]/": INSIDE,
    "https://[fe80::1]/": INSIDE,
    "https://[fd00:ec2::254]/": INSIDE,
    "https://localhost/": INSIDE,
    "https://LOCALHOST/": INSIDE,
    "https://192.0.0.8/": INSIDE,
    "https://192.0.0.170/": INSIDE,
    "https://[fec0::1]/": INSIDE,
    # 10.0.0.1 by way of NAT64, 6to4 and Teredo.
    "https://[64:ff9b::a00:1]/": INSIDE,
    "https://[64:ff9b:1::a00:1]/": INSIDE,
    "https://[2002:a00:1::]/": INSIDE,
    "https://[2001:0:a00:1::]/": INSIDE,
    "https://app.localhost/": INSIDE,
    "https://printer.local/": INSIDE,
    "https://printer.local./": INSIDE,
    "https://ip-10-0-0-1.eu-west-2.compute.internal/": INSIDE,
    # Other spellings of 127.0.0.1.
    "https://2130706433/": NO_ADDRESS,
    "https://0x7f000001/": NO_ADDRESS,
    "https://0177.0.0.1/": NO_ADDRESS,
    "https://127.1/": NO_ADDRESS,
}


@pytest.mark.parametrize("address", WEBHOOKS)
def test_addresses_of_webhooks(address):
    assert address_problem(K.WEBHOOK, address) == WEBHOOKS[address]


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("http://helpdesk.internal:8080/hook", ""),
        ("https://HELPDESK.internal/", ""),
        ("http://10.0.0.5/hook", ""),
        ("http://10.0.0.6/hook", NO_TLS),
        ("https://other.internal/", INSIDE),
        ("http://ana@helpdesk.internal/", NO_USER),
        ("http://helpdesk.internal.example.com/", NO_TLS),
        ("https://helpdesk.internal@169.254.169.254/", NO_USER),
    ],
)
def test_hosts_that_are_allowed_inside(settings, address, problem):
    settings.NOTIFICATIONS_ALLOWED_HOSTS = [" Helpdesk.internal ", "10.0.0.5"]
    assert address_problem(K.WEBHOOK, address) == problem


NO_TOPIC = "Enter the ARN of a topic, such as arn:aws:sns:eu-west-2:123456789012:console-events."


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        (TOPIC, ""),
        (f"{TOPIC}.fifo", ""),
        ("arn:aws-cn:sns:cn-north-1:123456789012:console-events", ""),
        ("arn:aws:sns:eu-west-2:123456789012:payroll", "Enter a topic whose name begins with console-."),
        ("arn:aws:sqs:eu-west-2:123456789012:console-events", NO_TOPIC),
        ("arn:aws:sns:eu-west-2:1234:console-events", NO_TOPIC),
        (f"{TOPIC}:more", NO_TOPIC),
        (HOOK, NO_TOPIC),
        ("", NO_TOPIC),
    ],
)
def test_addresses_of_topics(address, problem):
    assert address_problem(K.SNS, address) == problem


@pytest.mark.parametrize("address", ["", "team", "a@example.com, b@example.com", "a@example.com\nBcc: b@example.com"])
def test_addresses_of_emails(address):
    assert address_problem(K.EMAIL, address) == "Enter one email address."
    assert address_problem(K.EMAIL, "team@example.com") == ""


@pytest.mark.parametrize("kind", K)
def test_addresses_have_a_length(kind):
    address = "https://hooks.example.com/" + "x" * LONGEST_ADDRESS
    assert address_problem(kind, address) == f"Enter an address of up to {LONGEST_ADDRESS} characters."


def test_emails_are_offered_where_they_can_be_sent(settings):
    assert kinds() == [K.WEBHOOK, K.SNS]
    settings.NOTIFICATIONS_FROM_EMAIL = "console@example.com"
    assert kinds() == list(K)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONSOLE_URL", "console.example.com"),
        ("CONSOLE_URL", "ftp://console.example.com"),
        ("CONSOLE_URL", "https:///path"),
        ("CONSOLE_URL", "https://[path"),
        ("NOTIFICATIONS_FROM_EMAIL", "Console <console@example.com>"),
    ],
)
def test_settings_that_would_lead_nowhere_are_refused(settings, name, value):
    assert refused() == ""
    setattr(settings, name, value)
    assert name in refused()


def test_only_topics_of_listed_accounts_can_be_entered_and_published_to(settings):
    settings.NOTIFICATIONS_TOPIC_ACCOUNTS = ["111122223333"]
    topic = "arn:aws:sns:eu-west-2:{}:console-events"
    assert address_problem(K.SNS, topic.format("123456789012")) == "Enter a topic of 111122223333."
    assert address_problem(K.SNS, topic.format("111122223333")) == ""
    [resource] = _topics("123456789012")
    assert resource == "arn:aws:sns:*:111122223333:console-*"
    settings.NOTIFICATIONS_TOPIC_ACCOUNTS = []
    [resource] = _topics("123456789012")
    assert resource == "arn:aws:sns:*:123456789012:console-*"


def _topics(account: str) -> list[str]:
    [found] = [each for each in document("notifier", account)["Statement"] if each["Sid"] == "Topics"]
    return found["Resource"]


def test_a_listed_port_of_a_webhook_can_be_entered(settings):
    settings.NOTIFICATIONS_PORTS = ["443", "8443"]
    assert address_problem(K.WEBHOOK, "https://hooks.example.com:8443/") == ""
    assert address_problem(K.WEBHOOK, "https://hooks.example.com:9/") == "Use the port 443 or 8443."
