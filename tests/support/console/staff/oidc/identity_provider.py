"""An identity provider on loopback: real HTTP, real signatures, the code flow with PKCE, and every way to misbehave.

It keeps the rules that a provider keeps (registered redirect URIs, client secret, PKCE, single-use codes), so that the
console cannot pass its tests without keeping its own.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

ALGORITHMS = ["RS256", "PS256", "ES256"]


@cache
def rsa_key(kid: str) -> RSAKey:
    """A signing key of that name; the same one for as long as the tests run."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"}, private=True)


@dataclass
class Raw:
    """An answer as it is, instead of the honest one. With `held`, its end waits until the provider stops."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    held: bool = False
    drip: bool = False


@dataclass
class Code:
    """An authorization code that was given out."""

    params: dict[str, str]
    used: bool = False


class IdentityProvider:
    """The provider: `with IdentityProvider() as provider`. Change its attributes to change what it says."""

    def __init__(self) -> None:
        self.client_id, self.client_secret = "console", "s3cret~of-the.client"
        self.redirect_uris = {"http://testserver/sign-in/company/return/"}
        self.person: dict[str, Any] = {"sub": "248289761001", "preferred_username": "ada.lovelace"}
        self.key = rsa_key("first")
        self.published: list[dict[str, Any]] | None = None
        # Misbehaviour. None in a mapping takes a value away.
        self.asks = False
        self.document_changes: dict[str, Any] = {}
        self.claim_changes: dict[str, Any] = {}
        self.return_changes: dict[str, str | None] = {}
        self.token_changes: dict[str, Any] = {}
        self.sign: Callable[[dict[str, Any]], str] = self._sign
        self.raw: dict[str, Raw] = {}
        # What was asked for: paths, and the parameters of each.
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.authorizations: list[str] = []
        self.codes: dict[str, Code] = {}
        self.stopping = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "IdentityProvider":
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()

    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [path for path, _ in self.seen]

    # --- What it says ------------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The discovery document."""
        document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/end",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ALGORITHMS,
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }
        return changed(document, self.document_changes)

    def keys(self) -> dict[str, Any]:
        """The published keys: the public part of the signing key, or those of `published`."""
        return {"keys": [self.key.as_dict(private=False)] if self.published is None else self.published}

    def authorize(self, params: dict[str, str]) -> str:
        """Where the browser goes after the person agreed. Raises `ValueError` for what no provider accepts."""
        if params.get("client_id") != self.client_id or params.get("redirect_uri") not in self.redirect_uris:
            raise ValueError("unknown client or redirect URI")
        if params.get("response_type") != "code" or params.get("code_challenge_method") != "S256":
            raise ValueError("not the code flow with PKCE")
        if "openid" not in params["scope"].split() or not params.get("nonce") or not params.get("state"):
            raise ValueError("not OpenID Connect")
        code = secrets.token_urlsafe(16)
        self.codes[code] = Code(params)
        back = changed({"code": code, "state": params["state"]}, self.return_changes)
        return f"{params['redirect_uri']}?{urlencode(back)}"

    def exchange(self, params: dict[str, str], authorization: str) -> dict[str, Any]:
        """The tokens for a code. Raises `ValueError` with OAuth's error code."""
        if not self._is_client(params, authorization):
            raise ValueError("invalid_client")
        code = self.codes.get(params.get("code", ""))
        if code is None or code.used or params.get("grant_type") != "authorization_code":
            raise ValueError("invalid_grant")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(params.get("code_verifier", "").encode()).digest())
        if challenge.rstrip(b"=").decode() != code.params["code_challenge"]:
            raise ValueError("invalid_grant")
        if params.get("redirect_uri") != code.params["redirect_uri"]:
            raise ValueError("invalid_grant")
        code.used = True
        access_token = secrets.token_urlsafe(16)
        id_token = self.sign(self.claims(code.params["nonce"], access_token))
        tokens = {"access_token": access_token, "token_type": "Bearer", "expires_in": 300, "id_token": id_token}
        return changed(tokens, self.token_changes)

    def claims(self, nonce: str, access_token: str) -> dict[str, Any]:
        """The claims of an ID token."""
        now = int(time.time())
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        claims = {
            "iss": self.issuer,
            "aud": self.client_id,
            "exp": now + 300,
            "iat": now,
            "nonce": nonce,
            "at_hash": base64.urlsafe_b64encode(half).rstrip(b"=").decode(),
            **self.person,
        }
        return changed(claims, self.claim_changes)

    def logout_token(self, **changes: Any) -> str:
        """A signed logout token about the person; a change to None takes a claim away."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": self.client_id,
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_urlsafe(8),
            "sub": self.person["sub"],
            "sid": "08a5019c-17e1-4977-8f42-65a12843ea02",
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
        }
        return self.sign(changed(claims, changes))

    def _is_client(self, params: dict[str, str], authorization: str) -> bool:
        if authorization.startswith("Basic "):
            name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            return (unquote(name), unquote(secret)) == (self.client_id, self.client_secret)
        return (params.get("client_id"), params.get("client_secret", "")) == (self.client_id, self.client_secret)

    # --- Signing, honestly and otherwise -----------------------------------------------------------------------------

    def _sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def unsigned(self, claims: dict[str, Any]) -> str:
        """`alg: none`."""
        return f"{_part({'alg': 'none', 'kid': self.key.kid})}.{_part(claims)}."

    def signed_with_public_key(self, claims: dict[str, Any]) -> str:
        """HS256 with what everybody knows: the public key as the secret."""
        secret = OctKey.import_key(self.key.as_pem(private=False), {"kid": str(self.key.kid)})
        return jwt.encode({"alg": "HS256", "kid": self.key.kid}, claims, secret, algorithms=["HS256"])

    def signed_with_client_secret(self, claims: dict[str, Any]) -> str:
        """HS256 with the client's secret."""
        secret = OctKey.import_key(self.client_secret)
        return jwt.encode({"alg": "HS256", "kid": self.key.kid}, claims, secret, algorithms=["HS256"])

    def signed_by_another(self, claims: dict[str, Any]) -> str:
        """By a key that is not published, under the name of the one that is."""
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, rsa_key("another"))

    def signed_with_its_own_key(self, claims: dict[str, Any]) -> str:
        """By a key that the token itself brings along."""
        own = rsa_key("another")
        header = {"alg": "RS256", "kid": self.key.kid, "jwk": own.as_dict(private=False)}
        return jwt.encode(header, claims, own)

    def signed_on_a_curve(self, claims: dict[str, Any]) -> str:
        """By an elliptic curve, which is just as good."""
        key = ECKey.generate_key("P-256", {"kid": "curve"}, private=True)
        self.published = [self.key.as_dict(private=False), key.as_dict(private=False)]
        return jwt.encode({"alg": "ES256", "kid": "curve"}, claims, key)

    # --- HTTP --------------------------------------------------------------------------------------------------------

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing: the tests look at `seen`."""

            def do_GET(self) -> None:
                self.answer({name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(dict(parse_qsl(body.decode(), keep_blank_values=True)))

            def answer(self, params: dict[str, str]) -> None:
                path = urlsplit(self.path).path
                provider.seen.append((path, params))
                if path in provider.raw:
                    return self.send_raw(provider.raw[path])
                if path == "/.well-known/openid-configuration":
                    return self.send_json(provider.document())
                if path == "/keys":
                    return self.send_json(provider.keys())
                if path == "/authorize":
                    return self.authorize(params)
                if path == "/token":
                    return self.token(params)
                if path == "/end":
                    back = escape(params.get("post_logout_redirect_uri", ""))
                    return self.send_page(f'<h1>Signed out everywhere</h1><a href="{back}">Back</a>')
                return self.send_json({"error": "not found"}, 404)

            def authorize(self, params: dict[str, str]) -> None:
                if provider.asks and self.command == "GET":
                    fields = "".join(
                        f'<input type="hidden" name="{escape(k)}" value="{escape(v)}">' for k, v in params.items()
                    )
                    return self.send_page(
                        f'<h1>Company account</h1><form method="post">{fields}<button>Allow</button></form>'
                    )
                try:
                    location = provider.authorize(params)
                except ValueError as error:
                    return self.send_json({"error": str(error)}, 400)
                self.send_response(302)
                self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                return self.end_headers()

            def token(self, params: dict[str, str]) -> None:
                provider.authorizations.append(self.headers.get("Authorization", ""))
                try:
                    self.send_json(provider.exchange(params, self.headers.get("Authorization", "")))
                except ValueError as error:
                    self.send_json({"error": str(error), "error_description": "private words of the provider"}, 400)

            def send_json(self, content: Any, status: int = 200) -> None:
                self.send_raw(Raw(status, json.dumps(content).encode(), {"Content-Type": "application/json"}))

            def send_page(self, html: str) -> None:
                page = f"<!doctype html><html lang=en><title>Provider</title><body>{html}</body></html>"
                self.send_raw(Raw(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"}))

            def send_raw(self, raw: Raw) -> None:
                try:
                    self.send_response(raw.status)
                    headers = {"Content-Type": "application/json", "Content-Length": str(len(raw.body)), **raw.headers}
                    for name, value in headers.items():
                        self.send_header(name, value)
                    if raw.held:
                        provider.stopping.wait()
                    self.end_headers()
                    if raw.drip:
                        for byte in raw.body:
                            self.wfile.write(bytes([byte]))
                            if provider.stopping.wait(0.02):
                                return
                    else:
                        self.wfile.write(raw.body)
                except (BrokenPipeError, ConnectionResetError):
                    # The console had enough, as it should.
                    self.close_connection = True

        return Handler


def changed(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The values with the changes; what changes to None is taken away."""
    return {name: value for name, value in {**values, **changes}.items() if value is not None}


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()
