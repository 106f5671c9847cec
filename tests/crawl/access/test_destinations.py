"""Whatever `next` says, signing in leads to a page of this site."""

import re
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from django.test import Client

from tests.people import COMPANY
from tests.scenario import PASSWORD, person

AGENT = "amira.haddad"
HOST = "http://testserver"
# Spellings of another site, some of which browsers take for one though libraries do not.
ELSEWHERE = (
    "//evil.example",
    "///evil.example",
    "////evil.example/",
    "https://evil.example",
    "https:evil.example",
    "https:/evil.example",
    "http:///evil.example",
    "HTTPS://EVIL.EXAMPLE",
    "\\\\evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "/\\/evil.example",
    "/\\\\evil.example",
    "//evil.example\\@testserver/",
    "//testserver@evil.example/",
    "//testserver.evil.example/",
    "http://testserver@evil.example/",
    "http://testserver:80@evil.example/",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "mailto:someone",
    "%2f%2fevil.example",
    "%5c%5cevil.example",
    "/%09/evil.example",
    "/\t/evil.example",
    "\t//evil.example",
    "/\n/evil.example",
    "/\r\n/evil.example",
    "/\x00/evil.example",
    "\x00//evil.example",
    "\x01//evil.example",
    " //evil.example",
    "\u00a0//evil.example",
    "\u3000//evil.example",
    "\ufeff//evil.example",
    "\u200b//evil.example",
    "//\u2024evil.example",
    "/\u200b/evil.example",
    "\uff0f\uff0fevil.example",
    "/\uff0fevil.example",
    "\u2044\u2044evil.example",
    "\u2215\u2215evil.example",
    "\u29f5\u29f5evil.example",
    "/\u2028/evil.example",
    "/\x85/evil.example",
    "/\x7f/evil.example",
    "//[::1]/",
    "//[evil",
    "//evil.example:99999999/",
    "///",
    "//",
    "/..//evil.example",
    "/.//evil.example",
    "/queue/\r\nSet-Cookie: session=planted",
    "/queue/\r\n\r\n<script>alert(1)</script>",
    "?next=//evil.example",
    "#//evil.example",
    "evil.example",
    "",
    "/" + "a" * 9_000,
)


@pytest.fixture
def account(store):
    """Somebody who can sign in."""
    return person(AGENT, "agent", [COMPANY])


def as_a_browser_goes(location: str) -> str:
    """Where a browser goes from the sign-in page for a Location, by the rules of the WHATWG URL standard."""
    cleaned = re.sub(r"[\t\r\n]", "", location.strip("".join(map(chr, range(33))))).replace("\\", "/")
    return urljoin(f"{HOST}/sign-in/", re.sub(r"^(https?:)/*", r"\1//", cleaned, flags=re.IGNORECASE))


def stays_here(location: str) -> bool:
    """Whether that is a page of this site. What is no URL at all is not."""
    try:
        where = urlsplit(as_a_browser_goes(location))
    except ValueError:
        return False
    return (where.scheme, where.netloc, where.username) == ("http", "testserver", None)


def destinations(client: Client, wanted: str) -> list[str]:
    """Where each way of signing in with that `next` leads: first what the page's form would send on."""
    found = []
    page = client.get("/sign-in/", {"next": wanted})
    hidden = re.search(r'name="next" value="([^"]*)"', page.content.decode())
    found.append(hidden[1] if hidden else "")
    form = {"username": AGENT, "password": PASSWORD, "next": wanted}
    for _ in ("signed out", "signed in"):
        answer = client.post("/sign-in/", form)
        assert answer.status_code == 302
        found.append(answer["Location"])
    found.append(client.get("/sign-in/", {"next": wanted})["Location"])
    # In the address, where the form says nothing, and in both with the other one harmless.
    found.append(client.post(f"/sign-in/?{urlencode({'next': wanted})}", form | {"next": ""})["Location"])
    found.append(client.get(f"/sign-in/?{urlencode([('next', '/queue/'), ('next', wanted)])}")["Location"])
    return found


@pytest.mark.parametrize("wanted", ELSEWHERE, ids=[ascii(each)[:40] for each in ELSEWHERE])
def test_sign_in_leads_to_no_other_site(account, wanted):
    for location in destinations(Client(), wanted):
        assert stays_here(location), location
        assert not re.search(r"[\x00-\x20\x7f\\]", location), location
        # Nothing that is foreign is followed a part of the way: it leads home.
        if not stays_here(wanted):
            assert location in ("", "/"), location


def test_sign_in_leads_to_the_page_that_was_wanted(account):
    wanted = "/conversations/companies/ci-aaa-001/?status=reply_sent&channel=whatsapp"
    for location in destinations(Client(), wanted)[1:4]:
        assert location == wanted


def test_what_a_browser_would_take_for_another_site_is_known_here():
    foreign = [each for each in ELSEWHERE if not stays_here(each)]
    assert len(foreign) > 20
    assert stays_here("/queue/?tab=mine")
    for spelling in ("/\\evil.example", "/\t/evil.example", "https:evil.example", "\x01//evil.example"):
        assert spelling in foreign
