"""The scenario is what it says: every address answers, every form succeeds, and it holds what the suites look for."""

import pytest

from console.permissions import Role
from console.redaction import redact
from console.staff.models import StaffAccount
from tests.answers import body_of
from tests.crawl.access.routes import BY_NAME, ROUTES, in_order
from tests.people import signed_in
from tests.scenario import HTMX, build, posts, urls


@pytest.mark.smoke
def test_every_address_answers_someone(scenario):
    admin = signed_in(scenario.people["admin"])
    for side in (scenario.ours, scenario.theirs):
        for name, addresses in urls(side, scenario, scenario.people["admin"]).items():
            if BY_NAME[name].absent:
                continue
            assert admin.get(addresses[0], headers=HTMX).status_code in (200, 302), name
            for url in addresses if side is scenario.ours else addresses[:1]:
                assert admin.get(url).status_code in (200, 204, 302), (name, url)


def test_every_address_of_ours_answers_our_agent(scenario):
    agent = signed_in(scenario.people["agent"])
    for name, addresses in urls(scenario.ours, scenario).items():
        may = Role.AGENT in BY_NAME[name].roles and not BY_NAME[name].absent
        for url in addresses[:1] if may else ():
            assert agent.get(url).status_code in (200, 302), (name, url)


@pytest.mark.smoke
@pytest.mark.parametrize("role", ["agent", "admin"])
def test_every_form_succeeds(scenario, role):
    person = scenario.people[role]
    forms = posts(scenario.ours, scenario, person)
    assert set(forms) == {route.name for route in ROUTES if "POST" in route.accepts}
    assert len(forms["conversation-hand-off"]) == 7
    for route in in_order(role):
        for url, form in forms[route.name]:
            # As stored now: some forms change one's own account.
            client = signed_in(StaffAccount.get(person.username, consistent_read=True))
            answer = client.post(url, form, follow=True)
            content = body_of(answer).decode()
            assert answer.status_code == 200, (route.name, url, content)
            assert "errorlist" not in content, route.name


def test_no_mask_hides_a_canary_and_no_side_has_one_of_the_others(scenario):
    assert len(scenario.ours.canaries) == len(scenario.theirs.canaries) > 60
    assert not set(scenario.ours.canaries) & set(scenario.theirs.canaries)
    for canary in (*scenario.ours.canaries, *scenario.theirs.canaries):
        assert redact(canary) == canary


def test_every_free_text_can_be_replaced(store):
    seen = []
    scenario = build(store, lambda name: seen.append(name) or f"<b>{len(seen)}</b>")
    assert "theirs.conversation.company_name" in seen
    assert len(set(scenario.ours.canaries)) == len(scenario.ours.canaries)
    for table in ("CONVERSATIONS", "AUDIT", "IDEMPOTENCY", "CONVERSATION_STATE", "CONSOLE"):
        assert not [each for each in store.all(table) if "ours." in str(each).replace("ours.colleague", "")], table
