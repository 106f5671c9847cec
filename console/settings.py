"""Settings, all from the environment (see docs/configuration.md for every name, its default and purpose).

A setting can be read from a file, like a container secret: `SECRET_KEY_FILE` names the file with SECRET_KEY.
"""

import os
import sys
from pathlib import Path

from csp.constants import NONE, SELF

from console.env import StrictEnv
from console.schema.environments import DEVELOPMENT
from console.settings_secret import load_settings

BASE_DIR = Path(__file__).resolve().parent.parent

env = StrictEnv()
# Filled from here on as settings are read; console.checks lists it, and nothing starts while it has entries.
UNREADABLE_SETTINGS = env.unreadable
if (BASE_DIR / ".env").is_file():
    env.read_env(str(BASE_DIR / ".env"))

# --- Environment and secrets -------------------------------------------------------------------------------------
AWS_REGION = env.str("AWS_REGION", default="eu-west-2") or "eu-west-2"
SETTINGS_SECRET = env.str("SETTINGS_SECRET", default="")
if SETTINGS_SECRET:
    try:
        load_settings(SETTINGS_SECRET, env.ENVIRON, AWS_REGION)
    except ValueError as error:
        UNREADABLE_SETTINGS["SETTINGS_SECRET"] = str(error)
CONSOLE_ENV = env.str("CONSOLE_ENV", default="dev")
SECRET_KEY = env.str("SECRET_KEY")
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", str.strip, default=[])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", str.strip, default=[])

# Warnings of `manage.py check --deploy` that have been dealt with. Refusals to start cannot be silenced.
# Django warns about a SECRET_KEY below 50 characters; console.E002 is stricter in other ways, and 32 are enough.
SILENCED_SYSTEM_CHECKS = ["security.W009", *env.list("SILENCED_SYSTEM_CHECKS", str.strip, default=[])]

# --- DynamoDB ----------------------------------------------------------------------------------------------------
DYNAMODB_ENDPOINT = env.str("DYNAMODB_ENDPOINT", default="")
DYNAMODB_CONNECT_TIMEOUT_SECONDS = env.float("DYNAMODB_CONNECT_TIMEOUT_SECONDS", default=1.0, least=0.1)
DYNAMODB_READ_TIMEOUT_SECONDS = env.float("DYNAMODB_READ_TIMEOUT_SECONDS", default=3.0, least=0.1)
DYNAMODB_MAX_ATTEMPTS = env.int("DYNAMODB_MAX_ATTEMPTS", default=3, least=1)
DYNAMODB_MAX_CONNECTIONS = env.int("DYNAMODB_MAX_CONNECTIONS", default=32, least=1)
REQUEST_DEADLINE_SECONDS = env.float("REQUEST_DEADLINE_SECONDS", default=20.0)
# TABLE_CONVERSATIONS=… and so on; console.schema.tables has the keys and the default names.
TABLE_NAMES = {
    name.removeprefix("TABLE_"): value for name, value in os.environ.items() if name.startswith("TABLE_") and value
}
# When the platform routes customers' messages to people: off, held, waiting.
HAND_OFF_ROUTING = env.str("HAND_OFF_ROUTING", default="off")
# By how many seconds the platform's clock may differ from the console's.
PLATFORM_CLOCK_SKEW_SECONDS = env.int("PLATFORM_CLOCK_SKEW_SECONDS", default=5)
# After how many minutes a worker of the platform that still holds a conversation is dead.
PLATFORM_WORKER_MINUTES = env.int("PLATFORM_WORKER_MINUTES", default=16, least=1)
# The queue to which the platform sends messages for people.
SQS_ENDPOINT = env.str("SQS_ENDPOINT", default="")
HANDOFF_QUEUE_URL = env.str("HANDOFF_QUEUE_URL", default="")
# The queues from which the platform sends first messages and lets its AI reply, by channel.
_CHANNEL_QUEUES = {
    "whatsapp": env.str("WHATSAPP_QUEUE_URL", default=""),
    "sms": env.str("SMS_QUEUE_URL", default=""),
    "email": env.str("EMAIL_QUEUE_URL", default=""),
}
CHANNEL_QUEUE_URLS = {channel: url for channel, url in _CHANNEL_QUEUES.items() if url}
# The provider of replies by channel (conversations.providers.choice).
REPLY_PROVIDERS = {
    channel.strip(): name.strip()
    for channel, _, name in (
        each.partition(":")
        for each in env.list("REPLY_PROVIDERS", default=["whatsapp:twilio", "sms:twilio", "email:sendgrid"])
    )
}
# The providers' API endpoints; empty: their own.
TWILIO_API_URL = env.str("TWILIO_API_URL", default="")
SENDGRID_API_URL = env.str("SENDGRID_API_URL", default="")
# The FIFO queue of a company's own sending service, and the queue on which it reports deliveries.
SENDING_SERVICE_QUEUE_URL = env.str("SENDING_SERVICE_QUEUE_URL", default="")
RECEIPTS_QUEUE_URL = env.str("RECEIPTS_QUEUE_URL", default="")
# The FIFO queue from people's replies to the sender. Empty: people answer with their own applications.
OUTBOX_QUEUE_URL = env.str("OUTBOX_QUEUE_URL", default="")
# After how many seconds a message comes again whose process died; work on it prolongs them. 0: as each queue says.
QUEUE_VISIBILITY_SECONDS = env.int("QUEUE_VISIBILITY_SECONDS", default=60, least=0, most=43_200)
# How long a reply can be undone before it leaves.
REPLY_UNDO_SECONDS = env.int("REPLY_UNDO_SECONDS", default=10)
# Whether a customer who has not agreed to be contacted may be answered, after a warning.
REPLY_WITHOUT_CONSENT = env.bool("REPLY_WITHOUT_CONSENT", default=False)
# Limits: replies of one person per minute, and of one company number or address per second.
REPLIES_PER_MINUTE = env.int("REPLIES_PER_MINUTE", default=30)
REPLIES_PER_SECOND = env.float("REPLIES_PER_SECOND", default=80.0)
# Whether the sender asks the provider what customers wrote, as the platform drops some of it.
PROVIDER_WITNESS = env.bool("PROVIDER_WITNESS", default=True)
# The endpoint of the companies' credentials at providers; empty: AWS Secrets Manager.
SECRETS_ENDPOINT = env.str("SECRETS_ENDPOINT", default="")
# Name patterns of these secrets (console.schema.secret_names): whatsapp/{company}/*.
SECRET_NAMES = env.list("SECRET_NAMES", str.strip, default=[])
# The console's public URL, for links in notifications: https://console.example.com
CONSOLE_URL = env.str("CONSOLE_URL", default="")
# The sender address of email notifications, in Amazon SES; empty: no emails.
NOTIFICATIONS_FROM_EMAIL = env.str("NOTIFICATIONS_FROM_EMAIL", default="")
# The prefix of topic names that notifications may be sent to.
NOTIFICATIONS_TOPIC_PREFIX = env.str("NOTIFICATIONS_TOPIC_PREFIX", default="console-")
# AWS accounts with topics that notifications may be sent to; empty: the account for which the policy was printed.
NOTIFICATIONS_TOPIC_ACCOUNTS = env.list("NOTIFICATIONS_TOPIC_ACCOUNTS", str.strip, default=[])
# Ports of webhooks, except on hosts of NOTIFICATIONS_ALLOWED_HOSTS.
NOTIFICATIONS_PORTS = env.list("NOTIFICATIONS_PORTS", str.strip, default=["443"])
# Webhook hosts that may be on a private network and without TLS.
NOTIFICATIONS_ALLOWED_HOSTS = env.list("NOTIFICATIONS_ALLOWED_HOSTS", str.strip, default=[])
# The endpoint of Amazon SNS and SES, if not AWS.
NOTIFICATIONS_ENDPOINT = env.str("NOTIFICATIONS_ENDPOINT", default="")
# How long customers' messages stay in the console's own table.
MESSAGE_RETENTION_DAYS = env.int("MESSAGE_RETENTION_DAYS", default=180, least=1)
AUDIT_RETENTION_DAYS = env.int("AUDIT_RETENTION_DAYS", default=60, least=1)
INSIGHT_RETENTION_DAYS = env.int("INSIGHT_RETENTION_DAYS", default=730, least=1)
# The pause between two walks over threads, chats, the middleware's records and tenants' conversations.
INSIGHT_WALK_HOURS = env.float("INSIGHT_WALK_HOURS", default=6, least=0.1)
IDEMPOTENCY_RETENTION_DAYS = env.int("IDEMPOTENCY_RETENTION_DAYS", default=30, least=1)
AUDIT_ACTION_TYPES = env.list("AUDIT_ACTION_TYPES", str.strip, default=[])
# The most conversations in one download of a list; the first ones.
CONVERSATION_EXPORT_LIMIT = env.int("CONVERSATION_EXPORT_LIMIT", default=5_000, least=1)
# The most entries in one download of the review; the newest ones.
AUDIT_EXPORT_LIMIT = env.int("AUDIT_EXPORT_LIMIT", default=50_000, least=1)
# Token prices that override the library's (conversations.insight.prices): a JSON list.
INSIGHT_PRICES = env.str("INSIGHT_PRICES", default="")
# The signing key of archives (console.audit.archive.keys); if empty, derived from SECRET_KEY.
AUDIT_ARCHIVE_KEY = env.str("AUDIT_ARCHIVE_KEY", default="")
AUDIT_ARCHIVE_KEY_FALLBACKS = env.list("AUDIT_ARCHIVE_KEY_FALLBACKS", default=[])

# The secret that the chatbot appends to a phone number before hashing it to a user id; empty: the number alone.
CHATBOT_USER_ID_SECRET = env.str("CHATBOT_USER_ID_SECRET", default="")

# --- Django without a SQL database -------------------------------------------------------------------------------
DATABASES: dict[str, dict[str, str]] = {}
INSTALLED_APPS = [
    "whitenoise.runserver_nostatic",
    "django.forms",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "csp",
    "django_htmx",
    "console",
    "tenants",
    "conversations",
]
MIDDLEWARE = [
    # Outermost: every response is logged and counted.
    "console.middleware.observed",
    # Outside the rest, so that probes, redirects, static files and refusals have the headers too.
    "console.middleware.response_headers",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "console.middleware.probes",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.middleware.RequestBudgetMiddleware",
    "console.middleware.StaffMiddleware",
]
ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "console.context.page",
            ],
            "builtins": ["console.templatetags.components"],
        },
    }
]
MESSAGE_STORAGE = "console.staff.cookies.NoticeStorage"
FORM_RENDERER = "console.templatetags.components.ConsoleRenderer"
# Conversation keys, notes and queries are short; nothing legitimate comes near these limits.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500
FILE_UPLOAD_HANDLERS = ["console.middleware.NoFiles"]
LANGUAGE_CODE = "en-gb"
USE_I18N = False
TIME_ZONE = "UTC"

# --- Sign-in -----------------------------------------------------------------------------------------------------
PASSWORD_HASHERS = ["console.staff.passwords.Argon2Hasher"]
PASSWORD_MIN_LENGTH = 12
SESSION_IDLE_MINUTES = env.int("SESSION_IDLE_MINUTES", default=60, least=1)
SESSION_ABSOLUTE_HOURS = env.int("SESSION_ABSOLUTE_HOURS", default=12, least=1)

# Attempts per quarter of an hour, by account and by network address (see console.staff.throttling).
SIGN_IN_ATTEMPTS_PER_ACCOUNT = env.int("SIGN_IN_ATTEMPTS_PER_ACCOUNT", default=10, least=1)
SIGN_IN_ATTEMPTS_PER_ADDRESS = env.int("SIGN_IN_ATTEMPTS_PER_ADDRESS", default=100, least=1)
# Per person: searches for personal data by roles that may not reveal it, and reveals by everybody else. Each number is
# the limit of a burst, and how many refill in the period.
PERSONAL_SEARCHES_PER_HOUR = env.int("PERSONAL_SEARCHES_PER_HOUR", default=20, least=1)
REVEALS_PER_DAY = env.int("REVEALS_PER_DAY", default=200, least=1)
# The number of our own proxies that append to X-Forwarded-For; with 0 the header is never read.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0, least=0)
PASSWORD_LINK_HOURS = env.int("PASSWORD_LINK_HOURS", default=24, least=1)
# Who needs a second factor to sign in: none, all, or roles (see console.staff.second_factor). In development nobody,
# and administrators elsewhere, unless it says so.
REQUIRE_SECOND_FACTOR = env.list("REQUIRE_SECOND_FACTOR", str.strip, default=[]) or [
    "none" if CONSOLE_ENV in DEVELOPMENT else "admin"
]

# --- Sign-in with the company's own identity provider (OpenID Connect); off without an issuer ----------------------
OIDC_ISSUER = env.str("OIDC_ISSUER", default="")
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
OIDC_NAME = env.str("OIDC_NAME", default="your company account")
OIDC_SCOPES = env.list("OIDC_SCOPES", str.strip, default=["openid", "profile", "email"])
OIDC_ALLOWED_DOMAINS = env.list("OIDC_ALLOWED_DOMAINS", str.strip, default=[])
OIDC_USERNAME_CLAIM = env.str("OIDC_USERNAME_CLAIM", default="preferred_username")
# The claim that lists groups or roles, and the role of each: OIDC_ROLES=console-admins=admin,console-agents=agent.
# The first one that a person has applies.
OIDC_ROLE_CLAIM = env.str("OIDC_ROLE_CLAIM", default="")
OIDC_ROLES = {
    name.strip(): role.strip()
    for name, _, role in (each.rpartition("=") for each in env.list("OIDC_ROLES", default=[]))
}
# The claim that lists `company:ID` and `tenant:ID`, or `*`.
OIDC_SCOPE_CLAIM = env.str("OIDC_SCOPE_CLAIM", default="")
# Values of the ID token's `amr` and `acr` that mean a second factor; one of them is enough.
OIDC_SECOND_FACTOR_AMR = env.list("OIDC_SECOND_FACTOR_AMR", str.strip, default=[])
OIDC_SECOND_FACTOR_ACR = env.list("OIDC_SECOND_FACTOR_ACR", str.strip, default=[])

# --- Transport and cookies: strict, except for the demo's plain http on loopback -----------------------------------
PLAIN_HTTP = env.bool("PLAIN_HTTP", default=False)
SESSION_COOKIE_NAME = "session" if PLAIN_HTTP else "__Host-session"
SESSION_COOKIE_SECURE = not PLAIN_HTTP
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_PATH = "/"
BROWSER_COOKIE_NAME = "browser" if PLAIN_HTTP else "__Host-browser"
NOTICE_COOKIE_NAME = "notices" if PLAIN_HTTP else "__Host-notices"
COMPANY_SIGN_IN_COOKIE_NAME = "company-sign-in" if PLAIN_HTTP else "__Host-company-sign-in"
CSRF_COOKIE_NAME = "csrf" if PLAIN_HTTP else "__Host-csrf"
CSRF_COOKIE_SECURE = not PLAIN_HTTP
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "console.views.csrf_failure"
SECURE_SSL_REDIRECT = not PLAIN_HTTP
# Load balancers probe over http, and Prometheus may scrape over http.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else 63_072_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = not PLAIN_HTTP
SECURE_HSTS_PRELOAD = not PLAIN_HTTP
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
BEHIND_TLS_PROXY = env.bool("BEHIND_TLS_PROXY", default=False)
if BEHIND_TLS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# --- Static files ------------------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Production serves what `collectstatic` gathered, under hashed names; the demo serves static/.
STATIC_MANIFEST = env.bool("STATIC_MANIFEST", default=not DEBUG)
STATIC_ROOT = BASE_DIR / "staticfiles" if STATIC_MANIFEST else None
WHITENOISE_USE_FINDERS = not STATIC_MANIFEST
# No other site needs our files.
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_MANIFEST
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- Metrics, traces, error reports: each is off unless configured (docs/monitoring.md) ---------------------------
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
METRICS_PORT = env.int("METRICS_PORT", default=0, least=0, most=65_535)
METRICS_ADDRESS = env.str("METRICS_ADDRESS", default="127.0.0.1")
# The libraries read further OTEL_… variables themselves; see OpenTelemetry.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")
OTEL_SERVICE_NAME = env.str("OTEL_SERVICE_NAME", default="conversation-console")
SENTRY_DSN = env.str("SENTRY_DSN", default="")

# --- Logging: one line per event on stderr, with personal data masked -------------------------------------------------
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# Text for people, JSON for machines.
LOG_FORMAT = env.str("LOG_FORMAT", default="", choices=("text", "json")) or ("text" if sys.stderr.isatty() else "json")
_FORMATTER = "json" if LOG_FORMAT == "json" else "line"
DEFAULT_EXCEPTION_REPORTER = "console.error_pages.RedactingReporter"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "console.logs.RedactingFormatter", "format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "console.logs.RedactingJsonFormatter"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": _FORMATTER},
        "security": {"class": "logging.StreamHandler", "formatter": _FORMATTER, "filters": ["a few a minute"]},
    },
    "filters": {
        "a few a minute": {"()": "console.logs.RateLimitFilter"},
        "failures by route": {"()": "console.logs.ServerErrorFilter"},
    },
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="INFO", choices=LOG_LEVELS)},
    "loggers": {
        # The console's own error pages and audit trail handle these; `console.request` logs every request.
        "django.request": {"level": "ERROR", "filters": ["failures by route"]},
        # Malformed requests: anybody can send any number of them, and each would log a traceback.
        "django.security": {"handlers": ["security"], "propagate": False},
        # At debug level these libraries print whole items, messages, addresses and credentials.
        "botocore": {"level": "WARNING"},
        "pynamodb": {"level": "WARNING"},
        "python_http_client": {"level": "WARNING"},
        "twilio": {"level": "WARNING"},
        # Its warnings quote URLs, and the path of a webhook can be a credential.
        "urllib3": {"level": "ERROR"},
        # Formatted like all other lines, not by gunicorn.
        "gunicorn.error": {"propagate": True},
    },
}
