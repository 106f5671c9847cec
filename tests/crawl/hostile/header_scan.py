"""How a public scanner of headers grades an answer: the criteria of the HTTP Observatory, version 5 (MDN), for tests.

Each criterion says in a word what it found, and the word has its modifier in `MODIFIERS`, as in the Observatory's
public scoring table. A score starts from 100; extra points count only while fewer than ten were lost. The Observatory
looks at a site's front page; here every answer of the console is looked at, whatever its status.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http.cookies import Morsel, SimpleCookie
from urllib.parse import urlsplit

from tests.crawl.hostile.markup import Markup

MODIFIERS = {
    # Content-Security-Policy
    "csp: nothing by default, nothing unsafe": 10,
    "csp: nothing unsafe": 5,
    "csp: unsafe styles": 0,
    "csp: images over http": -10,
    "csp: unsafe-eval": -10,
    "csp: unsafe or missing script sources": -20,
    "csp: sources over http": -20,
    "csp: cannot be read": -25,
    "csp: none": -25,
    # Cookies
    "cookies: Secure, HttpOnly, SameSite": 5,
    "cookies: Secure, HttpOnly": 0,
    "cookies: none": 0,
    "cookies: without Secure, behind HSTS": -5,
    "cookies: session without Secure, behind HSTS": -10,
    "cookies: without Secure": -20,
    "cookies: SameSite cannot be read": -20,
    "cookies: anti-CSRF without SameSite": -20,
    "cookies: session without HttpOnly": -30,
    "cookies: session without Secure": -40,
    # Cross-origin resource sharing
    "cors: none": 0,
    "cors: public": 0,
    "cors: restricted": 0,
    "cors: any origin, with credentials": -50,
    # Redirection from http
    "redirection: to https": 0,
    "redirection: to another host first": -5,
    "redirection: to http first": -10,
    "redirection: ends in http": -20,
    "redirection: none": -20,
    # Referrer-Policy
    "referrer: private": 5,
    "referrer: none": 0,
    "referrer: unsafe": -5,
    "referrer: cannot be read": -5,
    # Strict-Transport-Security
    "hsts: six months or more": 0,
    "hsts: less than six months": -10,
    "hsts: none": -20,
    "hsts: cannot be read": -20,
    # Subresource integrity
    "sri: all scripts of this origin, with integrity": 5,
    "sri: scripts of other origins, with integrity": 5,
    "sri: not HTML": 0,
    "sri: no scripts": 0,
    "sri: scripts of this origin": 0,
    "sri: scripts of other origins without integrity": -5,
    "sri: scripts over http, with integrity": -20,
    "sri: scripts over http": -50,
    # X-Content-Type-Options
    "nosniff: set": 0,
    "nosniff: none": -5,
    "nosniff: cannot be read": -5,
    # Framing
    "framing: by the policy": 5,
    "framing: by X-Frame-Options": 0,
    "framing: not restricted": -20,
    "framing: cannot be read": -20,
    # Cross-Origin-Resource-Policy
    "corp: same origin or site": 10,
    "corp: cross-origin": 0,
    "corp: none": 0,
    "corp: cannot be read": -5,
}
# Extra points count while the score without them is at least this.
EXTRA_FROM = 90
# The scanner takes the 180 days that many sites set for six months.
SIX_MONTHS_SECONDS = 15_552_000

_BROAD = {"*", "http:", "https:", "ftp:", "http://*", "https://*", "http://*.*", "https://*.*"}
_UNSAFE_INLINE = {"'unsafe-inline'", "data:"}
_PRIVATE_REFERRERS = {"no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"}
_UNSAFE_REFERRERS = {"origin", "origin-when-cross-origin", "unsafe-url", "no-referrer-when-downgrade"}
_SAME_SITES = {"lax", "strict", "none"}


@dataclass(frozen=True)
class Answer:
    """One answer: its URL, status, headers (lower-case names; repeated ones joined by ", ") and raw Set-Cookie lines.

    `origin`: the Origin that the request named. `body`: the text of an HTML answer.
    """

    url: str
    status: int
    headers: dict[str, str]
    cookies: tuple[str, ...] = ()
    body: str = ""
    origin: str = ""

    def but(self, **headers: str | None) -> "Answer":
        """The same answer with some headers changed (`_` for `-`), or without those that are None."""
        changed = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={name: value for name, value in changed.items() if value is not None})

    @property
    def is_secure(self) -> bool:
        """Whether it came over https."""
        return self.url.startswith("https:")


def findings(answer: Answer) -> dict[str, int]:
    """What each criterion but the redirection found, with its modifier."""
    # Strict-Transport-Security means nothing over http, and must not be judged there.
    criteria = (csp, cookies, cors, referrer, sri, nosniff, framing, corp, *((hsts,) if answer.is_secure else ()))
    return {word: MODIFIERS[word] for word in (criterion(answer) for criterion in criteria)}


def score(found: dict[str, int]) -> int:
    """The score of these findings; 100 and more is the best grade."""
    plain = 100 + sum(modifier for modifier in found.values() if modifier < 0)
    return max(0, plain if plain < EXTRA_FROM else 100 + sum(found.values()))


def csp(answer: Answer) -> str:
    """What the content security policy leaves open."""
    header = answer.headers.get("content-security-policy")
    if header is None:
        return "csp: none"
    policy = policy_of(header)
    if policy is None:
        return "csp: cannot be read"
    default = policy.get("default-src", {"*"})
    scripts, objects, styles = (policy.get(f"{kind}-src", default) for kind in ("script", "object", "style"))
    passive = policy.get("img-src", default) | policy.get("media-src", default)
    active = set().union(*(sources for name, sources in policy.items() if name not in ("img-src", "media-src")))
    scripts, styles = _without_what_nonces_replace(scripts), _without_what_nonces_replace(styles)
    over_http = ("http:", "ftp:") if answer.is_secure else ()
    checks = (
        (scripts & (_BROAD | _UNSAFE_INLINE) or objects & _BROAD, "csp: unsafe or missing script sources"),
        (any(source.startswith(over_http) for source in active), "csp: sources over http"),
        ("'unsafe-eval'" in scripts | styles, "csp: unsafe-eval"),
        (any(source.startswith(over_http) for source in passive), "csp: images over http"),
        (styles & (_BROAD | _UNSAFE_INLINE), "csp: unsafe styles"),
        (policy.get("default-src") == {"'none'"}, "csp: nothing by default, nothing unsafe"),
    )
    return next((word for applies, word in checks if applies), "csp: nothing unsafe")


def policy_of(header: str) -> dict[str, set[str]] | None:
    """A policy's sources by directive; None for what cannot be read: none, several, or a directive twice."""
    if "," in header or not header.strip():
        return None
    policy: dict[str, set[str]] = {}
    for name, *sources in (part.split() for part in header.lower().split(";") if part.strip()):
        if name in policy:
            return None
        policy[name] = set(sources) or ({"'none'"} if name.endswith("-src") else set())
    return policy


def cookies(answer: Answer) -> str:
    """The worst that is wrong with any cookie."""
    if not answer.cookies:
        return "cookies: none"
    words = {
        word for raw in answer.cookies for word in _flaws_of_cookie(raw, hsts(answer) == "hsts: six months or more")
    }
    if words:
        return min(words, key=lambda word: MODIFIERS[word])
    every = all(morsel["samesite"] for raw in answer.cookies for morsel in morsels(raw))
    return "cookies: Secure, HttpOnly, SameSite" if every else "cookies: Secure, HttpOnly"


def morsels(raw: str) -> list["Morsel[str]"]:
    """The cookie of a Set-Cookie line."""
    return list(SimpleCookie(raw).values())


def _flaws_of_cookie(raw: str, behind_hsts: bool) -> list[str]:
    words = []
    for morsel in morsels(raw):
        name, same_site = morsel.key.lower(), str(morsel["samesite"]).lower()
        is_session = "sess" in name or "login" in name
        if "samesite" in raw.lower() and (
            same_site not in _SAME_SITES or (same_site == "none" and not morsel["secure"])
        ):
            words.append("cookies: SameSite cannot be read")
        if not morsel["secure"]:
            words.append(f"cookies: {'session ' if is_session else ''}without Secure{', behind HSTS' * behind_hsts}")
        if "csrf" in name and not same_site:
            words.append("cookies: anti-CSRF without SameSite")
        # A deletion carries nothing to steal; the scanner's jar never holds it.
        if is_session and not morsel["httponly"] and morsel["max-age"] != "0":
            words.append("cookies: session without HttpOnly")
    return words


def cors(answer: Answer) -> str:
    """Who of another origin may read the answer."""
    allowed = answer.headers.get("access-control-allow-origin", "")
    if not allowed:
        return "cors: none"
    if allowed == "*":
        return "cors: public"
    with_credentials = answer.headers.get("access-control-allow-credentials", "").strip().lower() == "true"
    return "cors: any origin, with credentials" if allowed == answer.origin and with_credentials else "cors: restricted"


def redirection(route: Sequence[str]) -> str:
    """The way from an http address: its URL, then each that was redirected to."""
    first, *rest = [urlsplit(url) for url in route]
    if not rest:
        return "redirection: none"
    if rest[-1].scheme != "https":
        return "redirection: ends in http"
    if rest[0].scheme != "https":
        return "redirection: to http first"
    return "redirection: to https" if rest[0].hostname == first.hostname else "redirection: to another host first"


def referrer(answer: Answer) -> str:
    """What other sites learn of the address; of several policies the last known one counts."""
    header = answer.headers.get("referrer-policy")
    if header is None:
        return "referrer: none"
    known = [
        word for part in header.split(",") if (word := part.strip().lower()) in _PRIVATE_REFERRERS | _UNSAFE_REFERRERS
    ]
    if not known:
        return "referrer: cannot be read"
    return "referrer: private" if known[-1] in _PRIVATE_REFERRERS else "referrer: unsafe"


def hsts(answer: Answer) -> str:
    """For how long a browser will insist on https."""
    header = answer.headers.get("strict-transport-security")
    if header is None:
        return "hsts: none"
    ages = [part.strip()[8:] for part in header.lower().split(";") if part.strip().startswith("max-age=")]
    if "," in header or not ages or not ages[-1].isdigit():
        return "hsts: cannot be read"
    return "hsts: six months or more" if int(ages[-1]) >= SIX_MONTHS_SECONDS else "hsts: less than six months"


def sri(answer: Answer) -> str:
    """Whether scripts are this origin's, or are held to a digest."""
    if answer.headers.get("content-type", "text/html").split(";")[0] not in ("text/html", "application/xhtml+xml"):
        return "sri: not HTML"
    scripts = _Scripts()
    scripts.feed(answer.body)
    if not scripts.found:
        return "sri: no scripts"
    sources = [(script["src"], bool(script.get("integrity"))) for script in scripts.found if script.get("src")]
    foreign = [(source, held) for source, held in sources if not _is_of_origin(source, answer.url)]
    words = [
        "sri: scripts of other origins, with integrity"
        if held and source.startswith("https:")
        else "sri: scripts of other origins without integrity"
        if source.startswith("https:")
        else f"sri: scripts over http{', with integrity' * held}"
        for source, held in foreign
    ]
    if words:
        return min(words, key=lambda word: MODIFIERS[word])
    all_held = bool(sources) and all(held for _, held in sources)
    return "sri: all scripts of this origin, with integrity" if all_held else "sri: scripts of this origin"


def nosniff(answer: Answer) -> str:
    """Whether a browser is kept from guessing types."""
    header = answer.headers.get("x-content-type-options")
    if header is None:
        return "nosniff: none"
    return "nosniff: set" if header.strip().lower() == "nosniff" else "nosniff: cannot be read"


def framing(answer: Answer) -> str:
    """Whether others may frame it."""
    policy = policy_of(answer.headers.get("content-security-policy", "")) or {}
    if "frame-ancestors" in policy:
        return "framing: by the policy"
    header = answer.headers.get("x-frame-options")
    if header is None:
        return "framing: not restricted"
    known = header.strip().lower() in ("deny", "sameorigin") or header.strip().lower().startswith("allow-from")
    return "framing: by X-Frame-Options" if known else "framing: cannot be read"


def corp(answer: Answer) -> str:
    """Who may load it as a resource."""
    header = answer.headers.get("cross-origin-resource-policy")
    if header is None:
        return "corp: none"
    words = {"same-origin": "same origin or site", "same-site": "same origin or site", "cross-origin": "cross-origin"}
    return f"corp: {words.get(header.strip().lower(), 'cannot be read')}"


class _Scripts(Markup):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.found.append(dict(attrs))


def _is_of_origin(source: str | None, url: str) -> bool:
    there, here = urlsplit(source or ""), urlsplit(url)
    return not there.netloc or (bool(there.scheme) and there.hostname == here.hostname)


def _without_what_nonces_replace(sources: set[str]) -> set[str]:
    held = any(source.startswith(("'nonce-", "'sha256-", "'sha384-", "'sha512-")) for source in sources)
    return sources - {"'unsafe-inline'"} if held else sources
