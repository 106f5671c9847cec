"""Requests that no browser sends, and how to send them: each one is made from a seed, a role and a number alone.

A request is a WSGI environ built by hand, so that what a test client would tidy up gets through as it is. It starts
from a real URL or form of the console (or one made up from a route's pattern) and is then damaged in one to four ways.
"""

import io
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes, urlencode

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from tests.crawl.hostile.junk import CSRF_TOKEN, HEADERS, MARKER, NAMES, Random, broken, junk, text

MIB = 1_048_576
# What no route of the console answers.
OTHERS = ("/static/console.js", "/static/css/", "/healthz", "/readyz", "/nowhere/")

Form = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Start:
    """A request as it should be: what the damage is done to. `form` is None for what is read."""

    url: str
    form: Form | None = None

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The form's fields as they are sent: one that may have several values once for each."""
        pairs = ((name, value if isinstance(value, list) else [value]) for name, value in (self.form or {}).items())
        return [(name, each) for name, values in pairs for each in values]


@dataclass(slots=True)
class Request:
    """A request on the wire. `target` is path and query as sent, `length` the Content-Length that it claims."""

    method: str
    target: bytes
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    body: bytes = b""
    length: bytes | None = None
    form: list[tuple[str, str]] | None = None

    def __str__(self) -> str:
        """One line on what is sent; what is long by its beginning and its length."""
        headers = {name: _short(value) for name, value in self.headers}
        return f"{self.method} {_short(self.target, 600)} {headers} length={self.length!r} body={_short(self.body)}"

    def environ(self) -> dict[str, Any]:
        """As gunicorn would hand it over: header values as latin-1, repeated headers joined with commas.

        NUL and line ends in headers never come so far: gunicorn answers 400.
        """
        path, _, query = self.target.partition(b"?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "RAW_URI": self.target.decode("latin-1"),
            "QUERY_STRING": query.decode("latin-1"),
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(self.body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        if self.length is not None:
            environ["CONTENT_LENGTH"] = self.length.decode("latin-1")
        for name, value in self.headers:
            key = name.upper().replace("-", "_")
            key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
            given = value.translate(None, b"\x00\r\n").decode("latin-1")
            environ[key] = f"{environ[key]},{given}" if key in environ else given
        environ.setdefault("HTTP_HOST", "testserver")
        return environ


def _short(value: bytes, limit: int = 200) -> str:
    return f"{value[:limit]!r}" + (f"… ({len(value)} bytes)" if len(value) > limit else "")


def routes() -> dict[str, str]:
    """Every route of the console: its pattern by its name."""
    return dict(_walk(get_resolver().url_patterns, ""))


def _walk(patterns: Iterable[URLPattern | URLResolver], prefix: str) -> Iterable[tuple[str, str]]:
    for each in patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _walk(each.url_patterns, route)
        else:
            yield each.name or route, route


class Maker:
    """Makes requests. `starts` are what is damaged; `tokens` are sealed values of every kind, to be put elsewhere."""

    def __init__(self, seed: str, starts: Sequence[Start], tokens: Sequence[str]) -> None:
        self.seed = seed
        self.starts = [*starts, *(Start("/" + route) for route in routes().values())]
        self.starts += [
            Start(url) for url in ("/static/console.js", "/static/css/", "/healthz", "/readyz", "/nowhere/")
        ]
        self.tokens = tokens

    def make(self, number: int, cookie: str) -> Request:
        """The request of that number, as sent by whoever has that session cookie ("" for nobody)."""
        chance = random.Random(f"{self.seed}/{number}")
        start = self.starts[number % len(self.starts)]
        request = self._sound(start, chance)
        damages = set(chance.choices(list(DAMAGES), list(DAMAGES.values()), k=chance.choice((1, 1, 1, 2, 3, 4))))
        for damage in DAMAGES:
            if damage in damages:
                damage(request, chance, self.tokens)
        if request.form is not None and not request.body:
            _encode(request, "application/x-www-form-urlencoded", urlencode(request.form, errors="surrogatepass"))
        _cookies(request, chance, cookie)
        return request

    def _sound(self, start: Start, chance: Random) -> Request:
        request = Request("GET" if start.form is None else "POST", _filled(start.url, chance, self.tokens))
        if start.form is not None:
            request.form = [*start.fields, ("csrfmiddlewaretoken", CSRF_TOKEN)]
        elif chance.random() < 0.1:
            request.method = "HEAD"
        if chance.random() < 0.3:
            request.headers.append(("HX-Request", b"true"))
        return request


def _filled(url: str, chance: Random, tokens: Sequence[str]) -> bytes:
    """A route's pattern with its parameters made up; a URL as it is."""
    while "<" in url:
        before, _, rest = url.partition("<")
        value = chance.choice(tokens) if chance.random() < 0.5 else quote_from_bytes(junk(chance), safe="%")
        url = before + value + rest.partition(">")[2]
    return url.encode()


# --- Damage ----------------------------------------------------------------------------------------------------------


def _path_segment(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    """One segment replaced: by junk (escaped or as it is), by a reference of another kind, or broken."""
    path, mark, query = request.target.partition(b"?")
    segments = path.split(b"/")
    at = chance.randrange(1, len(segments))
    as_it_is = junk(chance).replace(b"?", b"")
    segments[at] = chance.choice(
        (
            quote_from_bytes(junk(chance), safe="").encode(),
            as_it_is,
            chance.choice(tokens).encode(),
            broken(segments[at] or b"a", chance),
            segments[at] + b"%2f" + segments[at],
            segments[at] + chance.choice((b"%", b"%zz", b"%c0%af", b"%ed%a0%80", b"%00", b"%2e%2e", b"%23", b";a=b")),
            b"",
        )
    )
    request.target = b"/".join(segments) + mark + query


def _path_shape(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    path, mark, query = request.target.partition(b"?")
    path = chance.choice(
        (
            path.rstrip(b"/"),
            path + b"/",
            b"/" + path,
            b"/." + path,
            path + b"..%2f..",
            path.replace(b"/", b"//"),
            path.upper(),
            b"/static/" + path,
            b"http://testserver" + path,
            b"*",
            path.replace(b"/", b"\\"),
        )
    )
    request.target = path + mark + query


def _query(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    """Parameters missing, repeated, junk, of another list or huge."""
    path, _, query = request.target.partition(b"?")
    pairs = [each for each in query.split(b"&") if each and chance.random() < 0.7]
    for _ in range(chance.choice((1, 1, 2, 5))):
        name = _escaped(chance.choice(NAMES))
        value = chance.choice((_escaped(text(chance)), chance.choice(tokens), "%", "%zz%", "\u00ff", MARKER[:6] + "%"))
        pairs += [f"{name}={value}".encode("utf-8", "surrogateescape")] * chance.choice((1, 1, 1, 2))
    if pairs and chance.random() < 0.3:
        pairs.append(broken(chance.choice(pairs), chance))
    if chance.random() < 0.03:
        pairs += [b"company=x"] * 700
    request.target = path + b"?" + b"&".join(pairs)


def _escaped(value: str) -> str:
    return quote(value, safe="", errors="surrogateescape")


def _fields(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    """Fields of a form missing, repeated, junk, or of another form."""
    fields = [pair for pair in request.form or () if pair[0] == "csrfmiddlewaretoken" or chance.random() < 0.7]
    for name, value in list(fields):
        if name != "csrfmiddlewaretoken" and chance.random() < 0.4:
            fields.append((name, broken(value.encode("utf-8", "replace"), chance).decode("latin-1")))
    for _ in range(chance.choice((1, 2, 3))):
        known = [name for name, _ in request.form or ()] or ["note"]
        value = chance.choice(tokens) if chance.random() < 0.3 else text(chance)
        fields.append((chance.choice(chance.choice((NAMES, known))), value.encode("utf-8", "replace").decode()))
    if chance.random() < 0.1:
        fields = [pair for pair in fields if pair[0] != "csrfmiddlewaretoken"]
    request.form = fields
    request.method = "POST"


def _body(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    """A body of another kind, in another encoding, too large, or broken off."""
    pairs = request.form or [("csrfmiddlewaretoken", CSRF_TOKEN), ("note", MARKER)]
    typed = urlencode(pairs, errors="replace")
    request.method = chance.choice(("POST", "POST", "POST", "PUT", "GET"))
    boundary = "fuzz"
    make: Callable[[], tuple[str, str | bytes]] = chance.choice(
        (
            lambda: (f"multipart/form-data; boundary={boundary}", _multipart(pairs, boundary)),
            lambda: (f"multipart/form-data; boundary={boundary}", _multipart(pairs, boundary)[: chance.randrange(300)]),
            lambda: (f"multipart/form-data; boundary={boundary}", _multipart(pairs, boundary).replace(b"\r\n", b"\n")),
            lambda: (f"multipart/form-data; boundary={boundary}", _multipart(pairs * 200, boundary)),
            lambda: ("multipart/form-data", _multipart(pairs, boundary)),
            lambda: ("multipart/form-data; boundary=" + "b" * 300, _multipart(pairs, boundary)),
            lambda: ("multipart/form-data; boundary=\xff", _multipart(pairs, boundary)),
            lambda: (f"multipart/form-data; boundary={boundary}; charset=base64", _multipart(pairs, boundary)),
            lambda: ("multipart/mixed; boundary=fuzz", _multipart(pairs, boundary)),
            lambda: ("application/json", '{"intent": [' * 2_000),
            lambda: ("application/x-www-form-urlencoded; charset=utf-16", typed.encode("utf-16")),
            lambda: ("application/x-www-form-urlencoded", typed.encode("utf-16")),
            lambda: (f"application/x-www-form-urlencoded; charset={_charset(chance)}", typed),
            lambda: (f"text/plain; charset={_charset(chance)}", typed),
            lambda: ("application/x-www-form-urlencoded", typed + "&" + "&".join(["note=x"] * 501)),
            lambda: ("application/x-www-form-urlencoded", "&" * 2_000 + typed),
            lambda: ("application/x-www-form-urlencoded", typed + "&note=%zz%ff%ed%a0%80%00%"),
            lambda: ("application/x-www-form-urlencoded", typed.encode() + b"&note=\xff\xfe\x00\xc0\xaf"),
            lambda: (chance.choice(("", ";", "a/b/c", "\xff", "text/html; charset*=nope''x", "x" * 3_000)), typed),
        )
    )
    _encode(request, *make())
    if chance.random() < 0.04:
        size = MIB + chance.choice((-len(typed) - 1, 1, -len(typed) - 6))
        _encode(request, "application/x-www-form-urlencoded", typed + "&note=" + "n" * size)
    if chance.random() < 0.25:
        lies = (
            b"",
            b"-1",
            b"abc",
            b"1e3",
            b"9" * 30,
            b"0",
            b"+5",
            b" 7 ",
            b"\xb2",
            str(len(request.body) * 2).encode(),
        )
        request.length = chance.choice((*lies, str(len(request.body) // 2).encode()))


def _charset(chance: Random) -> str:
    """Charsets that Python knows, several of which are no encodings of text, and some that nobody knows."""
    known = ("base64", "rot13", "zlib", "hex", "idna", "punycode", "undefined", "unicode_escape", "utf-7", "utf-16")
    return chance.choice(
        (*known, "utf-32", "latin-1", "shift_jis", "cp037", "none", "\x00", "utf-8;q=1", "x" * 400, "")
    )


def _multipart(pairs: Iterable[tuple[str, str]], boundary: str) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in pairs
    ]
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="../{MARKER}\x00.svg"\r\n'
        f"Content-Type: image/svg+xml\r\nContent-Transfer-Encoding: base64\r\n\r\n!not base64!\r\n--{boundary}--\r\n"
    )
    return "".join(parts).encode("utf-8", "replace")


def _encode(request: Request, content_type: str, body: str | bytes) -> None:
    request.body = body.encode("utf-8", "replace") if isinstance(body, str) else body
    request.length = str(len(request.body)).encode()
    request.headers = [each for each in request.headers if each[0] != "Content-Type"]
    request.headers.append(("Content-Type", content_type.encode("latin-1", "replace")))


def _method(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    odd = ("OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get", "G" * 60, "", "POST", "HEAD")
    request.method = chance.choice(odd)


def _headers(request: Request, chance: Random, tokens: Sequence[str]) -> None:
    for _ in range(chance.choice((1, 1, 2, 3))):
        name, values = chance.choice(HEADERS)
        value = chance.choice(values)
        request.headers += [(name, value)] * chance.choice((1, 1, 1, 2))


# How often each is done. What changes path or method seldom gets past the resolver, so that it is done less.
DAMAGES = {_path_segment: 3, _path_shape: 1, _query: 6, _fields: 2, _body: 2, _method: 1, _headers: 5}


def _cookies(request: Request, chance: Random, cookie: str) -> None:
    """Most often the person's own; sometimes broken, doubled, or with junk beside it."""
    name, token = settings.SESSION_COOKIE_NAME.encode(), cookie.encode()
    own = [name + b"=" + token] if cookie else []
    csrf = [settings.CSRF_COOKIE_NAME.encode() + b"=" + CSRF_TOKEN.encode()]
    value = junk(chance)
    given = chance.choices(
        (
            own + csrf,
            own,
            [*csrf, name + b"=" + broken(token or b"a", chance)],
            [*own, *csrf, name + b"=" + value],
            [name + b"=" + value, *own, *csrf],
            [*own, *csrf, b"notices=" + value, b"browser=" + value, value + b"=" + value, b"=", b";;", b"$Version=1"],
            [*own, b"csrf=" + value],
            [*own, *csrf, b"junk=" + b"j" * 8_000],
        ),
        weights=(60, 8, 6, 4, 4, 8, 4, 2),
    )[0]
    separator = b"; " if chance.random() < 0.95 else b","
    if given:
        request.headers.append(("Cookie", separator.join(given)))
