"""The choice of a channel's provider. Adapters are imported when one is made: web servers never need them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from django.conf import settings

from conversations.providers import Provider

OUTBOX_ONLY = "outbox-only"
NAMES = {"twilio": "twilio.Twilio", "sendgrid": "sendgrid.SendGrid", OUTBOX_ONLY: "outbox_only.OutboxOnly"}


def provider_name(channel: str) -> str:
    """Return the name of a channel's provider, "" if nothing sends on that channel."""
    return str(settings.REPLY_PROVIDERS.get(channel, ""))


def make(channel: str, secret: Mapping[str, Any]) -> Provider:
    """Return the adapter of a channel with a company's credentials.

    Raises `CredentialsRejected`, and `LookupError` if the channel has no provider or an unknown one.
    """
    module, _, adapter = NAMES[provider_name(channel)].partition(".")
    made: Provider = getattr(import_module(f"conversations.providers.{module}"), adapter)(secret)
    return made
