"""`SETTINGS_SECRET`: settings from Secrets Manager; the environment comes first, and no failure shows content."""

import json

import pytest
from botocore.config import Config
from botocore.session import get_session

from console.settings_secret import load_settings
from demo.server_process import free_port
from tests.store.conversations.sending.conftest import _secrets_endpoint  # noqa: F401

NAME = "console-test"


@pytest.fixture
def environ(_secrets_endpoint) -> dict[str, str]:  # noqa: F811
    return {"SECRETS_ENDPOINT": _secrets_endpoint}


@pytest.fixture
def holds(environ):
    """Put content into the secret."""
    client = get_session().create_client(
        "secretsmanager", region_name="eu-west-2", endpoint_url=environ["SECRETS_ENDPOINT"]
    )
    yield lambda content: client.create_secret(Name=NAME, SecretString=content)
    client.delete_secret(SecretId=NAME, ForceDeleteWithoutRecovery=True)


def test_what_the_environment_has_itself_comes_first(environ, holds):
    holds(json.dumps({"SECRET_KEY": "sealed", "OIDC_CLIENT_SECRET": "shared"}))
    environ["OIDC_CLIENT_SECRET"] = "mine"
    load_settings(NAME, environ, "eu-west-2")
    assert (environ["SECRET_KEY"], environ["OIDC_CLIENT_SECRET"]) == ("sealed", "mine")


@pytest.mark.parametrize("content", ["sealed", '["sealed"]', '{"SECRET_KEY": ["sealed"]}'])
def test_what_is_no_object_of_texts_is_refused_without_showing_it(environ, holds, content):
    holds(content)
    with pytest.raises(ValueError, match=f"{NAME}, which must be a JSON object whose values are texts") as caught:
        load_settings(NAME, environ, "eu-west-2")
    assert "sealed" not in str(caught.value)
    assert "SECRET_KEY" not in environ


def test_a_secret_that_is_not_there_is_named(environ):
    with pytest.raises(ValueError, match=r"other-secret, which cannot be read \(ResourceNotFoundException\)"):
        load_settings("other-secret", environ, "eu-west-2")


def test_where_nobody_answers_it_says_so(environ, monkeypatch):
    monkeypatch.setattr("console.settings_secret._CONFIG", Config(retries={"total_max_attempts": 1}))
    environ["SECRETS_ENDPOINT"] = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ValueError, match=f"{NAME}, which cannot be read"):
        load_settings(NAME, environ, "eu-west-2")
