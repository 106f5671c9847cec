"""Settings from one secret of AWS Secrets Manager, so that no key needs to be in a process's own environment."""

import json
from collections.abc import MutableMapping
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 4})


def load_settings(name: str, environ: MutableMapping[str, str], region: str) -> None:
    """Add the settings of a secret to the environment, without replacing any that are set.

    The secret is a JSON object of strings. Raises `ValueError` with the problem, but none of the content.
    """
    client: Any = botocore.session.get_session().create_client(
        "secretsmanager",
        region_name=region,
        endpoint_url=environ.get("SECRETS_ENDPOINT") or None,
        config=_CONFIG,
    )
    try:
        content = json.loads(client.get_secret_value(SecretId=name).get("SecretString") or "")
    except ClientError as error:
        code = error.response["Error"]["Code"]
        raise ValueError(f"names {name}, which cannot be read ({code})") from None
    except BotoCoreError as error:
        raise ValueError(f"names {name}, which cannot be read ({type(error).__name__})") from None
    except ValueError:
        content = None
    if not isinstance(content, dict) or not all(isinstance(each, str) for each in content.values()):
        raise ValueError(f"names {name}, which must be a JSON object whose values are texts")
    for setting, value in content.items():
        environ.setdefault(setting, value)
