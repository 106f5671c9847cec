"""The environment of `manage.py demo`: plain HTTP on loopback, new secrets, its own DynamoDB and SQS."""

import os
import secrets


def apply() -> None:
    """Set the demo's environment variables, overriding those of a developer's shell.

    Only the demo command calls this, before settings load. Credentials are dummies and every table name is the default
    of the environment "demo", so that a demo can never reach a real account.
    """
    for name in [name for name in os.environ if name.startswith("TABLE_")]:
        del os.environ[name]
    os.environ.update(
        DJANGO_SETTINGS_MODULE="demo.settings",
        CONSOLE_ENV="demo",
        SECRET_KEY=secrets.token_urlsafe(48),
        SECRET_KEY_FALLBACKS="",
        ALLOWED_HOSTS="127.0.0.1,localhost",
        CSRF_TRUSTED_ORIGINS="",
        DEBUG="false",
        PLAIN_HTTP="true",
        AWS_REGION="eu-west-2",
        AWS_ACCESS_KEY_ID="demo",
        AWS_SECRET_ACCESS_KEY="demo",  # any will do for a DynamoDB of its own  # noqa: S106  # nosec B106
        DYNAMODB_ENDPOINT="http://127.0.0.1:0",
        # The embedded store handles one call at a time and takes seconds for an item with 10,000 messages.
        DYNAMODB_READ_TIMEOUT_SECONDS="20",
        REQUEST_DEADLINE_SECONDS="40",
        STATIC_MANIFEST="false",
        HAND_OFF_ROUTING="held",
        TABLE_CONVERSATIONS_STAGE="conversations-stage-demo",
        TABLE_CONVERSATIONS_TRIGGER_LOCK="conversations-trigger-lock-demo",
        **dict.fromkeys(("HANDOFF_QUEUE_URL", "WHATSAPP_QUEUE_URL", "SMS_QUEUE_URL", "EMAIL_QUEUE_URL"), ""),
        **dict.fromkeys(("OUTBOX_QUEUE_URL", "RECEIPTS_QUEUE_URL", "SENDING_SERVICE_QUEUE_URL"), ""),
        REPLY_PROVIDERS="whatsapp:twilio,sms:twilio,email:sendgrid",
        REPLY_UNDO_SECONDS="10",
        CONSOLE_URL="",
        NOTIFICATIONS_FROM_EMAIL="",
        NOTIFICATIONS_TOPIC_PREFIX="console-",
        NOTIFICATIONS_ALLOWED_HOSTS="127.0.0.1",
        NOTIFICATIONS_ENDPOINT="",
        REPLY_WITHOUT_CONSENT="false",
        # For reading in a terminal, even through a pipe.
        LOG_FORMAT="text",
        METRICS_PORT="0",
        **dict.fromkeys(("METRICS_TOKEN", "OTEL_EXPORTER_OTLP_ENDPOINT", "SENTRY_DSN"), ""),
    )
    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE"):
        os.environ.pop(name, None)
