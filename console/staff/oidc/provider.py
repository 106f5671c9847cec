"""Requests to the identity provider: its discovery document, its keys, and tokens for a code.

Answers are checked before use. Document and keys are cached in this process for some minutes.
"""

import json
import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar, cast

from authlib.common.errors import AuthlibBaseError
from authlib.common.urls import add_params_to_uri
from authlib.integrations.requests_client import OAuth2Session
from django.views.decorators.debug import sensitive_variables

from console.staff.oidc import transport
from console.staff.oidc.attempts import Attempt
from console.staff.oidc.configuration import Configuration, is_safe_url
from console.staff.oidc.refusals import ProviderFailed, ReturnUnusable

logger = logging.getLogger(__name__)
T = TypeVar("T")

DISCOVERY = "/.well-known/openid-configuration"
CACHED_SECONDS = 600
# A failure is cached too, so that others do not wait for the same.
FAILURE_CACHED_SECONDS = 3


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """The parts of the discovery document that the console needs; optional ones are "" or empty if absent."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str
    algorithms: tuple[str, ...]
    token_auth_methods: tuple[str, ...]
    names_itself: bool


def discover(configuration: Configuration) -> OidcProvider:
    """Return the provider's endpoints, cached. Raises `ProviderFailed`."""
    url = configuration.issuer.rstrip("/") + DISCOVERY
    return _cached(("discovery", url), lambda: _read_document(_get(url, configuration), configuration))


def keys(provider: OidcProvider, configuration: Configuration, *, fresh: bool = False) -> list[dict[str, Any]]:
    """Return the provider's public keys as JWKs; `fresh` skips the cache. Raises `ProviderFailed`."""
    url = provider.jwks_uri
    return _cached(("keys", url), lambda: _read_keys(_get(url, configuration)), fresh=fresh)


@sensitive_variables()
def exchange(
    provider: OidcProvider, configuration: Configuration, *, code: str, verifier: str, redirect_uri: str
) -> tuple[str, str]:
    """Exchange a code for ID token and access token, both unverified. Raises `ProviderFailed`, `ReturnUnusable`."""
    in_body = configuration.client_secret and "client_secret_post" in provider.token_auth_methods
    try:
        with transport.session(configuration, "client_secret_post" if in_body else None) as session:
            answer = session.fetch_token(
                provider.token_endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=verifier,
                redirect_uri=redirect_uri,
                allow_redirects=False,
            )
            id_token, access_token = answer["id_token"], answer["access_token"]
    except AuthlibBaseError as error:
        if error.error == "invalid_grant":
            raise ReturnUnusable("the provider refused the code") from None
        raise _failed("token", f"it refused the request ({_error_code(error.error)})") from None
    except transport.FAILURES as error:
        # Not chained: the exception refers to the request, with code and secret.
        raise _failed("token", type(error).__name__) from None
    if not isinstance(id_token, str) or not isinstance(access_token, str):
        raise _failed("token", "tokens that are not text")
    return id_token, access_token


def authorization_url(
    provider: OidcProvider, configuration: Configuration, attempt: Attempt, *, redirect_uri: str, again: bool = False
) -> str:
    """Return the URL to sign in at: code flow, PKCE with S256. `again` asks the person to choose an account."""
    session = OAuth2Session(
        configuration.client_id,
        scope=list(configuration.scopes),
        redirect_uri=redirect_uri,
        code_challenge_method="S256",
    )
    more = {"prompt": "select_account"} if again else {}
    url, _state = session.create_authorization_url(
        provider.authorization_endpoint,
        state=attempt.state,
        code_verifier=attempt.verifier,
        nonce=attempt.nonce,
        **more,
    )
    return str(url)


def end_session_url(provider: OidcProvider, configuration: Configuration, *, return_to: str) -> str:
    """Return the URL to sign out at the provider, which contains no token; "" if it offers none."""
    if not provider.end_session_endpoint:
        return ""
    query = {"client_id": configuration.client_id, "post_logout_redirect_uri": return_to}
    return str(add_params_to_uri(provider.end_session_endpoint, list(query.items())))


def forget() -> None:
    """Clear the cache."""
    with _lock:
        _memory.clear()


# --- Cache -------------------------------------------------------------------------------------------------------

_lock = threading.Lock()
# By name: the expiry in monotonic seconds, and a value or the failure to get one.
_memory: dict[tuple[str, str], tuple[float, Any]] = {}


def _cached(name: tuple[str, str], fetch: Callable[[], T], *, fresh: bool = False) -> T:
    with _lock:
        until, known = _memory.get(name, (0.0, None))
    is_good = time.monotonic() < until
    if is_good and isinstance(known, ProviderFailed):
        raise ProviderFailed(known.reason)
    if is_good and not fresh:
        return cast(T, known)
    try:
        found = fetch()
    except ProviderFailed as failure:
        # A failure must not replace a value that is still valid.
        if not is_good:
            _remember(name, failure, FAILURE_CACHED_SECONDS)
        raise
    _remember(name, found, CACHED_SECONDS)
    return found


def _remember(name: tuple[str, str], found: object, seconds: float) -> None:
    with _lock:
        _memory[name] = (time.monotonic() + seconds, found)


# --- Reading answers -------------------------------------------------------------------------------------------------


def _read_document(document: Any, configuration: Configuration) -> OidcProvider:
    if not isinstance(document, dict):
        raise _failed("discovery", "not an object")
    if document.get("issuer") != configuration.issuer:
        raise _failed("discovery", "another issuer than OIDC_ISSUER")
    return OidcProvider(
        issuer=configuration.issuer,
        authorization_endpoint=_url_in(document, "authorization_endpoint", configuration),
        token_endpoint=_url_in(document, "token_endpoint", configuration),
        jwks_uri=_url_in(document, "jwks_uri", configuration),
        end_session_endpoint=_url_in(document, "end_session_endpoint", configuration, optional=True),
        algorithms=_texts(document.get("id_token_signing_alg_values_supported")),
        token_auth_methods=_texts(document.get("token_endpoint_auth_methods_supported")),
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _url_in(document: dict[str, Any], name: str, configuration: Configuration, *, optional: bool = False) -> str:
    url = document.get(name)
    if optional and not url:
        return ""
    if not is_safe_url(url, loopback=configuration.is_on_loopback):
        raise _failed("discovery", f"{name} is missing or not https")
    return str(url)


def _read_keys(document: Any) -> list[dict[str, Any]]:
    found = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise _failed("keys", "no list of keys")
    return [key for key in found if isinstance(key, dict)]


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _error_code(error: object) -> str:
    """Return the provider's error code if it is well-formed: it is untrusted and goes to the log."""
    return error if isinstance(error, str) and re.fullmatch(r"[a-z_]{1,40}", error, re.ASCII) else "no error code"


def _failed(what: str, why: str) -> ProviderFailed:
    # The reason is for the operator's log; the page and the trail only say that it failed.
    logger.warning("The identity provider's %s could not be used: %s", what, why)
    return ProviderFailed(f"the provider's {what} could not be used")


def _get(url: str, configuration: Configuration) -> Any:
    what = "discovery" if url.endswith(DISCOVERY) else "keys"
    try:
        response = transport.get(url, configuration)
        if response.status_code != HTTPStatus.OK:
            raise _failed(what, f"status {response.status_code}")
        return json.loads(response.content)
    except transport.FAILURES as error:
        raise _failed(what, type(error).__name__) from error
