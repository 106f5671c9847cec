"""System checks of the settings for conversations, run before anything starts: see `console.checks`."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from console.checks import is_web_address
from console.schema.secret_names import is_narrow
from console.startup import SAFETY, StartRefusal
from conversations.handoff.stored import HELD, OFF, WAITING, has_inbound_source
from conversations.insight.prices import problems_of_prices
from conversations.outbox.replying import MAX_CHARACTERS
from conversations.providers.choice import NAMES, OUTBOX_ONLY

Messages = Iterable[checks.CheckMessage]


@checks.register(SAFETY)
def check_routing(app_configs: Any, **_: Any) -> Messages:
    """Refuse an unknown HAND_OFF_ROUTING, and one that sends messages to people without an inbound source."""
    if settings.HAND_OFF_ROUTING not in (OFF, HELD, WAITING):
        yield StartRefusal(
            f"HAND_OFF_ROUTING must be {OFF}, {HELD} or {WAITING}.",
            hint="docs/configuration.md says what each does.",
            id="conversations.E001",
        )
    elif settings.HAND_OFF_ROUTING != OFF and not has_inbound_source():
        yield StartRefusal(
            f"HAND_OFF_ROUTING={settings.HAND_OFF_ROUTING} sends customers' messages to people, but no source of "
            "messages is set.",
            hint="Set HANDOFF_QUEUE_URL or TABLE_CONVERSATIONS_STAGE, or set HAND_OFF_ROUTING=off.",
            id="conversations.E002",
        )


@checks.register(SAFETY)
def check_replies(app_configs: Any, **_: Any) -> Messages:
    """Refuse reply settings with unknown providers, missing or non-FIFO queues, or values out of range."""
    for channel, name in settings.REPLY_PROVIDERS.items():
        if channel not in MAX_CHARACTERS or name not in NAMES:
            yield StartRefusal(
                f"REPLY_PROVIDERS names {channel}:{name}.",
                hint=f"Channels are {', '.join(MAX_CHARACTERS)}; providers are {', '.join(NAMES)}.",
                id="conversations.E003",
            )
    if OUTBOX_ONLY in settings.REPLY_PROVIDERS.values() and settings.OUTBOX_QUEUE_URL:
        for setting in ("SENDING_SERVICE_QUEUE_URL", "RECEIPTS_QUEUE_URL"):
            if not getattr(settings, setting):
                yield StartRefusal(
                    f"REPLY_PROVIDERS has {OUTBOX_ONLY}, which needs {setting}.",
                    hint="Set it to your sending service's queue: docs/providers.md says more.",
                    id="conversations.E004",
                )
    for setting in ("OUTBOX_QUEUE_URL", "SENDING_SERVICE_QUEUE_URL"):
        if (url := getattr(settings, setting)) and not url.endswith(".fifo"):
            yield StartRefusal(
                f"{setting} must be a FIFO queue.",
                hint="Create one: its name and its address end in .fifo.",
                id="conversations.E005",
            )
    for setting, is_right, bound in (
        ("REPLIES_PER_SECOND", settings.REPLIES_PER_SECOND > 0, "more than 0"),
        ("REPLIES_PER_MINUTE", settings.REPLIES_PER_MINUTE > 0, "more than 0"),
        ("REPLY_UNDO_SECONDS", settings.REPLY_UNDO_SECONDS >= 0, "not less than 0"),
    ):
        if not is_right:
            yield StartRefusal(
                f"{setting} must be {bound}.", hint="Correct it, or remove it for its default.", id="conversations.E006"
            )


@checks.register(SAFETY)
def check_secret_names(app_configs: Any, **_: Any) -> Messages:
    """Refuse patterns of secrets that match everything, and replies through a provider without any."""
    wrong = [f"has {each}, which is too wide or no name" for each in settings.SECRET_NAMES if not is_narrow(each)]
    if settings.OUTBOX_QUEUE_URL and set(settings.REPLY_PROVIDERS.values()) - {OUTBOX_ONLY}:
        wrong += [] if settings.SECRET_NAMES else ["is empty, but replies need the companies' secrets"]
    for each in wrong:
        hint = "Use patterns such as whatsapp/{company}/*: docs/replies.md says what they may be."
        yield StartRefusal(f"SECRET_NAMES {each}.", hint=hint, id="conversations.E010")


@checks.register(SAFETY)
def check_notifications(app_configs: Any, **_: Any) -> Messages:
    """Refuse an invalid CONSOLE_URL or NOTIFICATIONS_FROM_EMAIL."""
    if settings.CONSOLE_URL and not is_web_address(settings.CONSOLE_URL):
        yield StartRefusal(
            "CONSOLE_URL must be the console's address.",
            hint="Set it to one such as https://console.example.com, or leave it empty.",
            id="conversations.E007",
        )
    if settings.NOTIFICATIONS_FROM_EMAIL:
        try:
            validate_email(settings.NOTIFICATIONS_FROM_EMAIL)
        except ValidationError:
            yield StartRefusal(
                "NOTIFICATIONS_FROM_EMAIL must be one email address.",
                hint="Set it to the bare address, without a name, or leave it empty: nothing is sent by email then.",
                id="conversations.E008",
            )


@checks.register(SAFETY)
def check_prices(app_configs: Any, **_: Any) -> Messages:
    """Refuse INSIGHT_PRICES that cannot be read."""
    for problem in problems_of_prices(settings.INSIGHT_PRICES):
        yield StartRefusal(
            problem, hint="docs/insight.md has an example of prices of your own.", id="conversations.E009"
        )
