"""Nothing that was there before sign-in is the session after, and a token counts only as the cookie."""

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client

from console import clock, refs
from console.staff import sessions
from conversations.converting import reference_of
from tests.crawl.access.test_sessions_end import NAME, copy_of, is_signed_in, sign_in
from tests.people import COMPANY
from tests.scenario import PASSWORD, person
from tests.scenario.staff import session_id, session_item

AGENT, COLLEAGUE = "amira.haddad", "tom.becker"
PLANTED: dict[str, Callable[[], str]] = {
    "an invented token": lambda: "planted",
    "a sealed token of no session": lambda: refs.seal("session", AGENT, "planted"),
    "the attacker's own session": lambda: sign_in(Client(), COLLEAGUE),
    "an older session of the same person": lambda: sign_in(Client(), AGENT),
    "a sealed reference of another kind": lambda: reference_of("+447700900123", "x"),
    "the key of a stored session": lambda: session_id(AGENT),
}


@pytest.fixture(autouse=True)
def _people(store) -> None:
    for username in (AGENT, COLLEAGUE):
        person(username, "agent", [COMPANY])


@pytest.mark.parametrize("planted", PLANTED)
def test_no_cookie_from_before_sign_in_is_the_session_after(store, planted):
    store.put("STAFF_SESSIONS", session_item(AGENT, "Firefox on Linux", clock.now()))
    before = PLANTED[planted]()
    client = copy_of(before)
    after = sign_in(client, AGENT)
    assert after != before
    assert is_signed_in(client)
    assert not is_signed_in(copy_of(before))
    assert sessions.authenticate_request(before) is None
    assert sessions.authenticate_request(after).username == AGENT


def test_a_failed_sign_in_makes_no_session_of_what_was_planted(store):
    for planted in ("planted", refs.seal("session", AGENT, "planted")):
        client = copy_of(planted)
        answer = client.post("/sign-in/", {"username": AGENT, "password": "wrong password!!"})
        assert answer.status_code == 422
        assert not is_signed_in(client)
    assert store.all("STAFF_SESSIONS") == []


@pytest.mark.parametrize("where", ["query", "form", "header", "other cookies"])
def test_a_token_counts_only_as_the_cookie(store, where):
    token = sign_in(Client(), AGENT)
    client = Client()
    if where == "other cookies":
        for name in (NAME.upper(), f"{NAME}id", "sessionid", "token", "Authorization"):
            client.cookies[name] = token
    query = f"?{urlencode({NAME: token, 'token': token})}" if where == "query" else ""
    headers = {"Authorization": f"Bearer {token}", "X-Session": token} if where == "header" else {}
    answer = client.post(f"/queue/release-mine/{query}", {NAME: token} if where == "form" else {}, headers=headers)
    assert answer.status_code == 401
    assert client.get(f"/queue/{query}", headers=headers).status_code == 302


def form_token(answer) -> str:
    """The CSRF token of a page's form."""
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', answer.content.decode())[1]


@pytest.mark.parametrize("step", ["sign-in", "sign-out", "password"])
def test_a_form_from_before_is_not_one_after(store, step):
    client = Client(enforce_csrf_checks=True)

    def send(url: str, **form: str) -> tuple[str, str]:
        page = client.get("/sign-in/?x" if url == "/sign-in/" else "/account/")
        before = form_token(page), client.cookies[settings.CSRF_COOKIE_NAME].value
        assert client.post(url, form | {"csrfmiddlewaretoken": before[0]}).status_code == 302
        return before

    token, cookie = send("/sign-in/", username=AGENT, password=PASSWORD)
    if step == "sign-out":
        token, cookie = send("/sign-out/")
    if step == "password":
        new = "another fine passphrase"
        token, cookie = send("/account/password/", current_password=PASSWORD, new_password=new, repeated=new)
    assert client.cookies[settings.CSRF_COOKIE_NAME].value != cookie
    answer = client.post("/queue/release-mine/", {"csrfmiddlewaretoken": token})
    assert (answer.status_code, b"no longer valid" in answer.content) == (403, True)
