"""Which adapter a channel gets, and that nobody imports one who needs none."""

import subprocess
import sys

import pytest

from conversations.providers import choice
from conversations.providers.outbox_only import OutboxOnly
from conversations.providers.sendgrid import SendGrid
from conversations.providers.twilio import Twilio

SECRETS = {"twilio_account_sid": "AC1", "twilio_auth_token": "t", "sendgrid_auth_value": "k"}


def test_each_channel_has_its_provider_unless_it_is_set():
    assert [choice.provider_name(each) for each in ("whatsapp", "sms", "email", "slack")] == [
        "twilio",
        "twilio",
        "sendgrid",
        "",
    ]
    assert [type(choice.make(each, SECRETS)) for each in ("whatsapp", "sms", "email")] == [Twilio, Twilio, SendGrid]


def test_a_channel_can_have_another(settings):
    settings.REPLY_PROVIDERS = {"email": "outbox-only", "sms": "no such one"}
    assert isinstance(choice.make("email", {}), OutboxOnly)
    for channel in ("sms", "whatsapp"):
        with pytest.raises(LookupError):
            choice.make(channel, SECRETS)


def test_every_name_is_of_an_adapter(settings):
    for name in choice.NAMES:
        settings.REPLY_PROVIDERS = {"sms": name}
        made = choice.make("sms", SECRETS)
        assert all(callable(getattr(made, each)) for each in ("send", "find", "delivery", "template"))


def test_choosing_imports_no_library():
    code = (
        "import sys, tests.settings; from conversations.providers import choice;"
        "print([each for each in ('twilio', 'sendgrid', 'requests') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
