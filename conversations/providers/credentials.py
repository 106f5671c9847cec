"""The companies' credentials at providers, from AWS Secrets Manager. Only the sender reads them; no page shows them.

A problem with a secret is noted for the system page, under the secret's name.
"""

import json
import logging
import threading
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from cachetools import TTLCache, cached
from django.conf import settings
from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console import clock
from console.errors import ConsoleError
from console.redaction import cut, redact
from console.schema.secret_names import is_secret_of
from console.store.models import ConsoleItem
from conversations.providers import CredentialsRejected, NotReached
from conversations.providers.choice import OUTBOX_ONLY, provider_name

logger = logging.getLogger(__name__)

# Partition of the problems with secrets.
PROBLEMS, PROBLEMS_KEPT, SHOWN_AT_MOST = "SECRET-PROBLEMS", timedelta(days=7), 20
KEPT_SECONDS, KEPT = 300, 1_000
# Secrets Manager's codes for a secret that does not exist, and for one that the sender may not read.
_ABSENT = ("ResourceNotFoundException", "InvalidRequestException", "InvalidParameterException", "ValidationException")
_DENIED = ("AccessDeniedException", "DecryptionFailure")
LONGEST_NAME = 200

# The code of a secret that cannot be read.
UNUSABLE = "credentials"
# Names of the secrets for which this process noted a problem.
_noted: set[str] = set()
_lock = threading.Lock()
_secrets: TTLCache[Any, dict[str, Any]] = TTLCache(KEPT, KEPT_SECONDS)


def secret_for(channel: str, name: str, company_id: str) -> dict[str, Any]:
    """Return the credentials for a channel's provider, cached for five minutes; {} if a company's own service sends.

    Raises `CredentialsRejected`, with words for the agent, if the secret is not the company's by its name, missing,
    unreadable or no JSON object; `NotReached` if Secrets Manager does not answer.
    """
    if provider_name(channel) == OUTBOX_ONLY:
        return {}
    # The name is from the conversation's item, which other services write.
    if not is_secret_of(name, company_id):
        raise _unusable(name, f"SECRET_NAMES does not allow it for the company {company_id or 'without an id'}")
    return _secret(settings.SECRETS_ENDPOINT, name)


# Not `cached_for`: callers must not wait for each other while Secrets Manager does not answer.
@cached(_secrets, lock=_lock)
def _secret(_endpoint: str, name: str) -> dict[str, Any]:
    """Return the content of a secret; `_endpoint` is part of the cache key."""
    try:
        answer = client().get_secret_value(SecretId=name)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _ABSENT:
            raise _unusable(name, "it does not exist") from None
        if code in _DENIED:
            raise _unusable(name, "the sender may not read it") from None
        raise NotReached("Secrets Manager did not answer.") from None
    except BotoCoreError:
        raise NotReached("Secrets Manager did not answer.") from None
    try:
        content = json.loads(answer.get("SecretString") or "")
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise _unusable(name, "it is not a JSON object")
    return content


def forget_secret(name: str) -> None:
    """Drop a secret from the cache, after the provider rejected it."""
    with _lock:
        _secrets.pop(_secret.cache_key(settings.SECRETS_ENDPOINT, name), None)


class SecretProblem(ConsoleItem):
    """A problem with a secret, stored under its name until the secret works or a week has passed."""

    problem = UnicodeAttribute(null=True)
    noted_at = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)


def note_problem(name: str, problem: str) -> None:
    """Note a problem with a secret for administrators, under the secret's name. Never raises."""
    shown, now = cut(name, LONGEST_NAME), clock.now()
    logger.error("The secret %s cannot be used: %s.", redact(shown), problem)
    noted = SecretProblem(PROBLEMS, shown, problem=problem, noted_at=clock.to_iso(now))
    noted.expires_at = clock.to_epoch(now + PROBLEMS_KEPT)
    try:
        noted.save()
    except ConsoleError as error:
        logger.warning("What is wrong with a secret could not be noted: %s", type(error).__name__)
    else:
        _noted.add(shown)


def note_works(name: str) -> None:
    """Delete the problem that this process noted for a secret, as the secret works. Never raises."""
    shown = cut(name, LONGEST_NAME)
    if shown in _noted:
        with suppress(ConsoleError):
            SecretProblem(PROBLEMS, shown).delete()
            _noted.discard(shown)


def problems() -> list[SecretProblem]:
    """Return the current problems with secrets, by name. One Query; raises the store's errors."""
    return list(SecretProblem.query(PROBLEMS, limit=SHOWN_AT_MOST))


def forget_all() -> None:
    """Drop all cached secrets, between tests."""
    _secret.cache_clear()
    _noted.clear()


def _unusable(name: str, problem: str) -> CredentialsRejected:
    note_problem(name, problem)
    return CredentialsRejected(
        UNUSABLE, "The credentials for this company cannot be read, so nothing was sent. Tell an administrator."
    )


def client() -> Any:
    """Return the shared client, created again if region or endpoint changed (tests, demo)."""
    with _lock:
        return _client_for(settings.AWS_REGION, settings.SECRETS_ENDPOINT)


@lru_cache(maxsize=1)
def _client_for(region: str, endpoint: str) -> Any:
    config = Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    return botocore.session.get_session().create_client(
        "secretsmanager", region_name=region, endpoint_url=endpoint or None, config=config
    )
