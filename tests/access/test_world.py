"""The world is what it says: every address answers, every form succeeds, and it holds what the suites look for."""

import pytest

from console.permissions import Role
from console.redaction import redact
from console.staff.models import StaffAccount
from tests.access.routes import BY_NAME, ROUTES, in_order
from tests.answers import body_of
from tests.people import signed_in
from tests.world import HTMX, build, posts, urls


@pytest.mark.smoke
def test_every_address_answers_someone(world):
    admin = signed_in(world.people["admin"])
    for side in (world.ours, world.theirs):
        for name, addresses in urls(side, world, world.people["admin"]).items():
            if BY_NAME[name].absent:
                continue
            assert admin.get(addresses[0], headers=HTMX).status_code in (200, 302), name
            for url in addresses if side is world.ours else addresses[:1]:
                assert admin.get(url).status_code in (200, 204, 302), (name, url)


def test_every_address_of_ours_answers_our_agent(world):
    agent = signed_in(world.people["agent"])
    for name, addresses in urls(world.ours, world).items():
        may = Role.AGENT in BY_NAME[name].roles and not BY_NAME[name].absent
        for url in addresses[:1] if may else ():
            assert agent.get(url).status_code in (200, 302), (name, url)


@pytest.mark.smoke
@pytest.mark.parametrize("role", ["agent", "admin"])
def test_every_form_succeeds(world, role):
    person = world.people[role]
    forms = posts(world.ours, world, person)
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


def test_no_mask_hides_a_canary_and_no_side_has_one_of_the_others(world):
    assert len(world.ours.canaries) == len(world.theirs.canaries) > 60
    assert not set(world.ours.canaries) & set(world.theirs.canaries)
    for canary in (*world.ours.canaries, *world.theirs.canaries):
        assert redact(canary) == canary


def test_every_free_text_can_be_replaced(store):
    seen = []
    world = build(store, lambda name: seen.append(name) or f"<b>{len(seen)}</b>")
    assert "theirs.conversation.company_name" in seen
    assert len(set(world.ours.canaries)) == len(world.ours.canaries)
    for table in ("CONVERSATIONS", "AUDIT", "IDEMPOTENCY", "CONVERSATION_STATE", "CONSOLE"):
        assert not [each for each in store.all(table) if "ours." in str(each).replace("ours.colleague", "")], table
