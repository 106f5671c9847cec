"""Where a role needs a second factor, a sign-in without one opens the page where it is set up, and nothing else."""

import pyotp
import pytest
from django.test import Client
from django.urls import reverse

from console import clock
from console.permissions import Role
from console.staff import second_factor
from tests.crawl.access.routes import METHODS, PUBLIC, ROUTES
from tests.crawl.access.test_routes import Requests
from tests.refusals import refused
from tests.scenario import HTMX, PASSWORD
from tests.store.console.staff.test_own_views import key_and_pending

SET_UP = "account-second-factor"
ROLES = [role.value for role in Role]


def signed_in(scenario, role: str) -> Client:
    """A browser in which that person signed in as people do."""
    client = Client()
    sent = {"username": scenario.people[role].username, "password": PASSWORD}
    assert client.post(reverse("sign-in"), sent).status_code == 302
    return client


def set_up(client: Client):
    key, pending = key_and_pending(client.get(reverse(SET_UP)))
    code = pyotp.TOTP(key).generate_otp(clock.to_epoch(clock.now()) // 30)
    return client.post(reverse(SET_UP), {"pending": pending, "code": code, "current_password": PASSWORD})


def tables(store) -> list:
    return [store.all(key) for key in ("CONVERSATIONS", "TENANTS", "THREADS", "CONSOLE", "STAFF", "AUDIT")]


@pytest.mark.parametrize("role", ROLES)
def test_no_route_but_the_set_up_opens_before_it_is_done(store, scenario, settings, role):
    settings.REQUIRE_SECOND_FACTOR = [role]
    client, requests = signed_in(scenario, role), Requests(scenario, role, scenario.ours)
    before, asked = tables(store), 0
    for route in ROUTES:
        for method in METHODS if route.who != PUBLIC and route.name != SET_UP else ():
            url, form = requests.of(route, method)
            answer = getattr(client, method.lower())(url, form)
            assert (answer.status_code, answer.get("Location")) == (302, reverse(SET_UP)), f"{method} {route.name}"
            asked += 1
        if "GET" in route.accepts and route.who != PUBLIC and route.name != SET_UP:
            answer = client.get(requests.of(route, "GET")[0], headers=HTMX)
            assert (answer.status_code, answer.get("HX-Redirect")) == (403, reverse(SET_UP)), route.name
            assert not answer.content
    assert asked > len(ROUTES)
    assert tables(store) == before
    page = client.get(reverse(SET_UP)).content.decode()
    assert "Your role needs a second factor." in page
    assert [url for url in (reverse("account"), reverse("queue"), reverse("help")) if f'href="{url}"' in page] == []
    assert client.post(reverse("sign-out")).status_code == 302
    assert "/sign-in/" in client.get(reverse("home"))["Location"]


def test_setting_it_up_opens_the_rest_and_it_then_stays(store, scenario, settings):
    settings.REQUIRE_SECOND_FACTOR = ["all"]
    client = signed_in(scenario, "admin")
    assert "recovery codes" in set_up(client).content.decode().lower()
    assert client.get(reverse("home")).status_code in (200, 302)
    assert client.get(reverse("staff")).status_code == 200
    remove = reverse("account-second-factor-remove")
    assert remove not in client.get(reverse("account")).content.decode()
    for answer in (client.get(remove), client.post(remove, {"current_password": PASSWORD})):
        assert answer["Location"] == reverse("account")
        assert "Your role needs a second factor" in client.get(reverse("account")).content.decode()
    assert store.get("STAFF", username="ada.admin")["totp_secret"]
    settings.REQUIRE_SECOND_FACTOR = ["agent"]
    assert client.post(remove, {"current_password": PASSWORD})["Location"] == reverse("account")
    assert "totp_secret" not in store.get("STAFF", username="ada.admin")


def test_a_session_without_one_ends_when_it_is_required(store, scenario, settings):
    client, with_one = signed_in(scenario, "admin"), signed_in(scenario, "auditor")
    set_up(with_one)
    settings.REQUIRE_SECOND_FACTOR = ["admin", "auditor"]
    assert client.get(reverse("staff"))["Location"].startswith(reverse("sign-in"))
    assert with_one.get(reverse("audit")).status_code == 200
    assert signed_in(scenario, "admin").get(reverse("staff")).status_code == 302
    assert signed_in(scenario, "agent").get(reverse("queue")).status_code == 200


def test_a_removed_factor_is_set_up_anew_at_the_next_sign_in(store, scenario, settings):
    settings.REQUIRE_SECOND_FACTOR = ["agent"]
    set_up(signed_in(scenario, "agent"))
    admin, agent = signed_in(scenario, "admin"), scenario.people["agent"].username
    seen = store.get("STAFF", username=agent)["updated_at"]
    assert admin.post(reverse("staff-second-factor-remove", args=[agent]), {"seen": seen}).status_code == 302
    assert signed_in(scenario, "agent").get(reverse("queue"))["Location"] == reverse(SET_UP)


@pytest.mark.parametrize("named", [[], [""], ["boss"], ["admin", "boss"], ["all", "admin"], ["none", "admin"], ["All"]])
def test_a_setting_that_names_no_role_is_refused_at_start(settings, named):
    settings.REQUIRE_SECOND_FACTOR = named
    assert "REQUIRE_SECOND_FACTOR" in refused()


@pytest.mark.parametrize(
    ("named", "required"), [(["none"], []), (["all"], ROLES), (["admin", "auditor"], ["auditor", "admin"])]
)
def test_whom_a_setting_names(settings, named, required):
    settings.REQUIRE_SECOND_FACTOR = named
    assert refused() == ""
    assert [role for role in ROLES if second_factor.is_required(role)] == required
