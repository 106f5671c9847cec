"""What must be right about replies before the console starts."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from conversations.replying import LONGEST
from conversations.sending.providers.choice import NAMES, OUTBOX_ONLY


def assert_replies() -> None:
    """Raise `ImproperlyConfigured` for settings with which replies would go nowhere."""
    for channel, name in settings.REPLY_PROVIDERS.items():
        if channel not in LONGEST or name not in NAMES:
            raise ImproperlyConfigured(
                f"REPLY_PROVIDERS names {channel}:{name}. Channels are {', '.join(LONGEST)}; providers are "
                f"{', '.join(NAMES)}."
            )
    if OUTBOX_ONLY in settings.REPLY_PROVIDERS.values() and settings.OUTBOX_QUEUE_URL:
        for setting in ("SENDING_SERVICE_QUEUE_URL", "RECEIPTS_QUEUE_URL"):
            if not getattr(settings, setting):
                raise ImproperlyConfigured(f"REPLY_PROVIDERS has {OUTBOX_ONLY}, which needs {setting}.")
    for setting in ("OUTBOX_QUEUE_URL", "SENDING_SERVICE_QUEUE_URL"):
        if (url := getattr(settings, setting)) and not url.endswith(".fifo"):
            raise ImproperlyConfigured(f"{setting} must be a FIFO queue: its address ends in .fifo.")
    if settings.REPLIES_PER_SECOND <= 0 or settings.REPLIES_PER_MINUTE <= 0 or settings.REPLY_UNDO_SECONDS < 0:
        raise ImproperlyConfigured(
            "REPLIES_PER_SECOND and REPLIES_PER_MINUTE must be more than 0, and REPLY_UNDO_SECONDS not less than 0."
        )
