"""The settings of the console's processes, from the stack's parameters and resources."""

from typing import Any

from console.stack.intrinsics import fn_sub, ref, when
from console.stack.parameters import CHANNELS, OTHER_TABLES, title_of

# The settings of every process.
SETTINGS: dict[str, Any] = {
    "CONSOLE_ENV": ref("Environment"),
    "SETTINGS_SECRET": fn_sub("console-${Environment}"),
    "ALLOWED_HOSTS": ref("HostName"),
    "CONSOLE_URL": when("HasHost", fn_sub("https://${HostName}"), ""),
    **{f"TABLE_{key}": ref(f"{title_of(key)}Table") for key in OTHER_TABLES},
    "HAND_OFF_ROUTING": ref("HandOffRouting"),
    "HANDOFF_QUEUE_URL": ref("HandoffQueueUrl"),
    **{f"{channel.upper()}_QUEUE_URL": ref(f"{channel}QueueUrl") for channel in CHANNELS},
    "OUTBOX_QUEUE_URL": when("SendsReplies", ref("OutboxQueue"), ""),
    "SENDING_SERVICE_QUEUE_URL": when("OwnSendingService", ref("ServiceQueue"), ""),
    "RECEIPTS_QUEUE_URL": when("OwnSendingService", ref("ReceiptsQueue"), ""),
    "REPLY_PROVIDERS": ref("ReplyProviders"),
    "SECRET_NAMES": {"Fn::Join": [",", [ref(f"{channel}SecretNames") for channel in CHANNELS]]},
    "NOTIFICATIONS_FROM_EMAIL": ref("NotificationsFromEmail"),
    "NOTIFICATIONS_TOPIC_PREFIX": ref("NotificationsTopicPrefix"),
}
# For containers only: Lambda sets this one itself and allows no other value.
REGION = {"AWS_REGION": ref("AWS::Region")}
# Only the load balancer appends to X-Forwarded-For: nginx next to the web server passes it on unchanged.
WEB = {"BEHIND_TLS_PROXY": "true", "TRUSTED_PROXIES": "1"}
# For a container whose root is read-only.
SCRATCH = {"TMPDIR": "/dev/shm"}  # noqa: S108  # nosec B108
