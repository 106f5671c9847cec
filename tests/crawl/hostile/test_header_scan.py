"""The scorer of headers and the eye for inline code see what they are there for, and count as the Observatory does."""

import pytest

from tests.crawl.hostile import header_scan
from tests.crawl.hostile.header_scan import MODIFIERS, Answer, findings, policy_of, score
from tests.crawl.hostile.inline import inline_code

HOST = "console.example.com"
ORIGIN = "https://elsewhere.example"

GOOD = Answer(
    url=f"https://{HOST}/",
    status=200,
    headers={
        "content-type": "text/html",
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "strict-transport-security": "max-age=63072000; includeSubDomains; preload",
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
    },
    cookies=("__Host-session=a; Secure; HttpOnly; SameSite=Lax; Path=/",),
    body='<script src="/static/console.js"></script>',
    origin=ORIGIN,
)


def with_policy(**directives: str | None) -> Answer:
    """GOOD with some directives of its policy changed, or left out."""
    policy: dict[str, str | None] = {
        name: " ".join(sources) for name, sources in (policy_of(GOOD.headers["content-security-policy"]) or {}).items()
    }
    policy |= {name.replace("_", "-"): sources for name, sources in directives.items()}
    return GOOD.but(
        content_security_policy="; ".join(
            f"{name} {sources}" for name, sources in policy.items() if sources is not None
        )
    )


def with_cookie(raw: str, **headers: str | None) -> Answer:
    """GOOD with that cookie in place of its own."""
    return Answer(**{**vars(GOOD.but(**headers)), "cookies": (raw,)})


def with_body(body: str) -> Answer:
    """GOOD with that HTML."""
    return Answer(**{**vars(GOOD), "body": body})


FLAWED = [
    (GOOD.but(content_security_policy=None), "csp: none", 75),
    (GOOD.but(content_security_policy=""), "csp: cannot be read", 75),
    (GOOD.but(content_security_policy="default-src 'none'; default-src 'self'"), "csp: cannot be read", 75),
    (with_policy(script_src="'self' 'unsafe-inline'"), "csp: unsafe or missing script sources", 80),
    (with_policy(script_src="'self' data:"), "csp: unsafe or missing script sources", 80),
    (with_policy(script_src="https:"), "csp: unsafe or missing script sources", 80),
    (with_policy(default_src=None), "csp: unsafe or missing script sources", 80),
    (with_policy(object_src="*"), "csp: unsafe or missing script sources", 80),
    (with_policy(connect_src="http://cdn.example"), "csp: sources over http", 80),
    (with_policy(script_src="'self' 'unsafe-eval'"), "csp: unsafe-eval", 115),
    (with_policy(img_src="http://cdn.example"), "csp: images over http", 115),
    (with_policy(style_src="'self' 'unsafe-inline'"), "csp: unsafe styles", 125),
    (with_policy(default_src="'self'"), "csp: nothing unsafe", 130),
    (with_policy(script_src="'nonce-abc' 'unsafe-inline'"), "csp: nothing by default, nothing unsafe", 135),
    (with_policy(frame_ancestors=None), "framing: by X-Frame-Options", 130),
    (with_policy(frame_ancestors=None).but(x_frame_options=None), "framing: not restricted", 80),
    (with_policy(frame_ancestors=None).but(x_frame_options="maybe"), "framing: cannot be read", 80),
    (GOOD.but(strict_transport_security=None), "hsts: none", 80),
    (GOOD.but(strict_transport_security="max-age=86400"), "hsts: less than six months", 125),
    (GOOD.but(strict_transport_security="max-age=soon"), "hsts: cannot be read", 80),
    (GOOD.but(referrer_policy=None), "referrer: none", 130),
    (GOOD.but(referrer_policy="unsafe-url"), "referrer: unsafe", 125),
    (GOOD.but(referrer_policy="same-origin, nonsense"), "referrer: private", 135),
    (GOOD.but(referrer_policy="nonsense"), "referrer: cannot be read", 125),
    (GOOD.but(x_content_type_options=None), "nosniff: none", 130),
    (GOOD.but(x_content_type_options="sniff"), "nosniff: cannot be read", 130),
    (GOOD.but(cross_origin_resource_policy=None), "corp: none", 125),
    (GOOD.but(cross_origin_resource_policy="cross-origin"), "corp: cross-origin", 125),
    (GOOD.but(cross_origin_resource_policy="all"), "corp: cannot be read", 120),
    (GOOD.but(access_control_allow_origin="*"), "cors: public", 135),
    (GOOD.but(access_control_allow_origin=ORIGIN), "cors: restricted", 135),
    (
        GOOD.but(access_control_allow_origin=ORIGIN, access_control_allow_credentials="true"),
        "cors: any origin, with credentials",
        50,
    ),
    (with_cookie("a=b; Secure; HttpOnly"), "cookies: Secure, HttpOnly", 130),
    (with_cookie("a=b; SameSite=Lax"), "cookies: without Secure, behind HSTS", 125),
    (with_cookie("a=b; SameSite=Lax", strict_transport_security=None), "cookies: without Secure", 60),
    (with_cookie("session=b; HttpOnly"), "cookies: session without Secure, behind HSTS", 120),
    (
        with_cookie("session=b; HttpOnly", strict_transport_security=None),
        "cookies: session without Secure",
        40,
    ),
    (with_cookie("session=b; Secure"), "cookies: session without HttpOnly", 70),
    (with_cookie("csrf=b; Secure; HttpOnly"), "cookies: anti-CSRF without SameSite", 80),
    (with_cookie("a=b; Secure; SameSite=Sometimes"), "cookies: SameSite cannot be read", 80),
    (with_cookie("a=b; SameSite=None"), "cookies: SameSite cannot be read", 80),
    (with_body(""), "sri: no scripts", 135),
    (
        with_body('<script src="/a.js" integrity="sha384-x"></script>'),
        "sri: all scripts of this origin, with integrity",
        140,
    ),
    (
        with_body('<script src="https://cdn.example/a.js"></script>'),
        "sri: scripts of other origins without integrity",
        130,
    ),
    (
        with_body('<script src="https://cdn.example/a.js" integrity="sha384-x"></script>'),
        "sri: scripts of other origins, with integrity",
        140,
    ),
    (with_body('<script src="//cdn.example/a.js"></script>'), "sri: scripts over http", 50),
    (
        with_body('<script src="http://cdn.example/a.js" integrity="sha384-x"></script>'),
        "sri: scripts over http, with integrity",
        80,
    ),
]


def test_scorer_gives_a_good_answer_its_extra_points():
    assert score(findings(GOOD)) == 135
    assert not [word for word, modifier in findings(GOOD).items() if modifier < 0]


@pytest.mark.parametrize(
    ("answer", "word", "points"), FLAWED, ids=[f"{word} {n}" for n, (_, word, _) in enumerate(FLAWED)]
)
def test_scorer_finds_each_flaw(answer, word, points):
    found = findings(answer)
    assert word in found
    assert score(found) == points


def test_scorer_knows_every_word_of_its_table():
    told = {word for _, word, _ in FLAWED} | set(findings(GOOD)) | {"sri: not HTML", "cookies: none"}
    assert {word for word in MODIFIERS if not word.startswith("redirection")} == told
    assert "sri: not HTML" in findings(GOOD.but(content_type="text/css"))
    assert "cookies: none" in findings(Answer(**{**vars(GOOD), "cookies": ()}))


@pytest.mark.parametrize(
    ("route", "word"),
    [
        (["http://a/", "https://a/"], "to https"),
        (["http://a/", "https://a/", "https://b/"], "to https"),
        (["http://a/", "https://b/"], "to another host first"),
        (["http://a/", "http://b/", "https://b/"], "to http first"),
        (["http://a/", "http://a/in"], "ends in http"),
        (["http://a/"], "none"),
    ],
)
def test_scorer_follows_the_way_to_https(route, word):
    assert header_scan.redirection(route) == f"redirection: {word}"


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>",
        '<script src="https://cdn.example/a.js"></script>',
        "<style>p{}</style>",
        '<p style="color:red">',
        '<p onclick="x()">',
        '<p hx-on:click="x()">',
        '<a href=" JavaScript:x()">',
        '<a href="data:text/html,x">',
        '<form action="//elsewhere.example/">',
        '<base href="/x/">',
        '<meta http-equiv="refresh" content="0">',
        "<iframe></iframe>",
    ],
)
def test_eye_for_inline_code_sees(html):
    assert inline_code(f'<p class="a" id="b">text</p>{html}')
