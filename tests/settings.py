"""Settings of the tests: the console's own, in the environment "test", on an endpoint that does not answer.

The `store` fixture points DYNAMODB_ENDPOINT at a DynamoDB; a test that forgets it fails at once.
"""

import os

for _name in [name for name in os.environ if name.startswith("TABLE_")]:
    del os.environ[_name]
os.environ.update(
    CONSOLE_ENV="test",
    SECRET_KEY="Zk3vQ9mT-x7Lr2Wb_8HcYd5NfUe0SgJa4PiXo6KqBt1MnRw",
    ALLOWED_HOSTS="testserver,127.0.0.1,localhost",
    PLAIN_HTTP="true",
    AWS_REGION="eu-west-2",
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    DYNAMODB_ENDPOINT="http://127.0.0.1:9",
    SQS_ENDPOINT="http://127.0.0.1:9",
    STATIC_MANIFEST="false",
    SECRET_KEY_FALLBACKS="",
    LOG_FORMAT="text",
    SECRET_NAMES="whatsapp/{company}/*,sms/{company}/*,email/{company}/*",
    **dict.fromkeys(("METRICS_TOKEN", "OTEL_EXPORTER_OTLP_ENDPOINT", "SENTRY_DSN"), ""),
    METRICS_PORT="0",
)

from console.settings import *  # noqa: E402, F403

# A slow machine must not look like a store that does not answer; tests of the deadline set their own.
REQUEST_DEADLINE_SECONDS = 120.0

# Who crawls every page asks for more than a person does in a minute or a day; tests of that set their own.
PERSONAL_SEARCHES_PER_HOUR = REVEALS_PER_DAY = REPLIES_PER_MINUTE = 100_000

# Argon2 takes a quarter of a second on purpose; one test checks that the console's own settings ask for it.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Each browser of a test has middlewares of its own, and WhiteNoise would look for all static files when it is made:
# a tenth of the suite's processor time (34.4 s instead of 30.8 for a ninth of it). So it looks when one is asked for.
WHITENOISE_AUTOREFRESH = True
