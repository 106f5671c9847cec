"""While SECRET_KEY is rotated, addresses and open pages of the key before go on working, whichever machine answers."""

from collections import Counter

import pytest

from console.permissions import Role
from console.staff.models import StaffAccount
from tests.answers import body_of
from tests.crawl.access.routes import BY_NAME, in_order
from tests.crawl.hostile.crawl import Crawler, Visit
from tests.people import signed_in
from tests.scenario import Scenario, posts, urls

NEW = "qk2Zt9-Vb7w_Rj4mXs8eLd1hYc6uPf3aGn5oTi0B-another-key"


@pytest.fixture(params=["new key, old one as fallback", "old key, new one as fallback"])
def rotate(request, settings):
    """Answer from now on as a machine with the other key, which knows this one as a fallback.

    While keys are rotated in two phases machines of both kinds answer: what one gives out, the other is asked for.
    """
    known = settings.SECRET_KEY, NEW
    given, asked = known if request.param.startswith("new") else known[::-1]
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = given, []

    def rotate() -> None:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = asked, [given]

    return rotate


@pytest.fixture
def scenario(rotate, store) -> Scenario:
    from tests.scenario import build

    return build(store)


def _kinds(visits: list[Visit]) -> dict[tuple[str, str, bool], int]:
    return {(each.method, each.url, each.is_htmx): each.status for each in visits}


def test_every_address_of_every_page_answers_as_before(scenario, rotate):
    admin = signed_in(scenario.people["admin"])
    # All addresses of the scenario, with every kind of reference; of what pages lead to besides, one of each kind.
    browser = Crawler(admin, limit=1500)
    seeds = [url for name, found in urls(scenario.ours, scenario, scenario.people["admin"]).items() for url in found]
    before = [each for each in browser.crawl(seeds) if each.route != "sign-out"]
    rotate()
    differ = []
    for each in before:
        now = browser.get(each.url, htmx=each.is_htmx)
        if now.status != each.status:
            differ.append((str(each), now.status))
        lost = [
            words
            for words in ("The linked line no longer exists", "start anew")
            if words in now.body and words not in each.body
        ]
        differ += [(str(each), words) for words in lost]
    assert not differ
    assert len({each.route for each in before if each.status == 200}) > 40


@pytest.mark.parametrize("role", ["agent", "admin"])
def test_every_form_of_an_open_page_works(scenario, rotate, role):
    person = scenario.people[role]
    forms = posts(scenario.ours, scenario, person)
    client = signed_in(person)
    rotate()
    sent: Counter[str] = Counter()
    for route in in_order(role):
        for url, form in forms[route.name]:
            answer = client.post(url, form, follow=True)
            if answer.redirect_chain and answer.redirect_chain[-1][0].startswith("/sign-in"):
                client = signed_in(StaffAccount.get(person.username, consistent_read=True))
            content = body_of(answer).decode()
            assert answer.status_code == 200, (route.name, url, content)
            assert "errorlist" not in content, route.name
            sent[route.name] += 1
    assert sent["conversation-hand-off"] >= 6
    assert len(sent) > 15


def test_the_session_holds(scenario, rotate):
    client = signed_in(scenario.people["agent"])
    assert client.get("/queue/").status_code == 200
    rotate()
    assert client.get("/queue/").status_code == 200


def test_an_open_conversation_has_no_news_because_of_the_key(scenario, rotate):
    client = signed_in(scenario.people["agent"])
    news = urls(scenario.ours, scenario)["conversation-updates"][1]
    assert client.get(news).status_code == 204
    rotate()
    assert client.get(news).status_code == 204


def test_every_route_of_the_scenario_is_asked(scenario):
    assert {name for name, route in BY_NAME.items() if Role.ADMIN in route.roles} - set(
        urls(scenario.ours, scenario)
    ) <= {name for name, route in BY_NAME.items() if "GET" not in route.accepts}
