"""Onboarding in a browser without JavaScript: each step keeps what was typed; the last one says what is in the way."""

import re

import pytest

from tenants import channels
from tests.answers import text_of
from tests.items import conversation
from tests.people import member, signed_in
from tests.support.tenants.items import tenant
from tests.support.tenants.kit import ADMIN, BOT, OLGA, guard, of, put_tenants, trail

pytestmark = pytest.mark.pages

STEPS = ("settings", "admin", "channels", "companies", "review")
IDENTITY = {"identity-TOTAL_FORMS": "3", "identity-INITIAL_FORMS": "0"}
CHANNEL = {"channel-TOTAL_FORMS": "3", "channel-INITIAL_FORMS": "0"}
FIRST = {"user_id": "robin", "email": "robin@acme.example", "name": "Robin", **IDENTITY}


def hidden(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))


def inputs(page: str) -> dict[str, str]:
    found = dict(re.findall(r'<input type="(?:text|hidden|email)" name="([^"]+)"(?: value="([^"]*)")?', page))
    found |= dict(re.findall(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.S))
    return found


@pytest.fixture
def novak(store):
    """Somebody new, who has no tenant yet."""
    return signed_in(member("new.person", "onboarding", ["ci-acm-001"]))


def url(step: str, tenant_id: str = "acme-ltd") -> str:
    return f"/tenants/{tenant_id}/onboarding/{step}/"


def begin(browser, **typed):
    form = inputs(text_of(browser.get("/tenants/new/"))) | {"name": "Acme Ltd"} | typed
    return browser.post("/tenants/new/", form), form


@pytest.mark.slow
def test_a_whole_onboarding(store, novak):
    answer, _ = begin(novak)
    assert answer["Location"] == url("settings")
    form = inputs(text_of(novak.get(url("settings")))) | {"enabled_channels": ["dashboard", "teams"]}
    assert novak.post(url("settings"), form)["Location"] == url("admin")
    form = inputs(text_of(novak.get(url("admin")))) | FIRST
    assert novak.post(url("admin"), form)["Location"] == url("channels")
    form = hidden(text_of(novak.get(url("channels")))) | CHANNEL
    typed = {"channel-0-type": "teams", "channel-0-id": "azure-bot-app-id"}
    assert novak.post(url("channels"), form | typed)["Location"] == url("companies")
    form = hidden(text_of(novak.get(url("companies")))) | {"other": "ci-acm-001"}
    assert novak.post(url("companies"), form)["Location"] == url("review")
    page = text_of(novak.get(url("review")))
    assert "azure-bot-app-id" in page
    assert "Still needed" not in page
    assert novak.post(url("review"), hidden(page))["Location"] == "/tenants/acme-ltd/"
    assert set(of(store, "acme-ltd")) == {"META", "USER#robin", "USERS", BOT.key, "COMPANY#ci-acm-001"}
    answer = novak.post("/tenants/acme-ltd/status/activate/", {"seen": "onboarding"})
    assert answer["Location"] == "/tenants/acme-ltd/"
    assert of(store, "acme-ltd")["META"]["status"] == "active"
    assert trail(store, "acme-ltd") == [
        "tenant.created",
        "tenant.changed",
        "tenant.onboarded",
        "tenant.activated",
    ]


def test_the_id_is_made_of_the_name_or_typed(store, novak):
    assert begin(novak)[0]["Location"] == url("settings", "acme-ltd")
    assert begin(novak, tenant_id="acme-two")[0]["Location"] == url("settings", "acme-two")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"name": ""}, "Enter a name."),
        ({"name": "x" * 121}, "1 too many: up to 120 characters."),
        ({"name": "!!!"}, "The console cannot make one from this name"),
        ({"tenant_id": "A#b"}, "lower-case letters"),
        ({"tenant_id": "a\x01b"}, "lower-case letters"),
        ({"tenant_id": "447700900123"}, "could be a phone number"),
    ],
)
def test_what_cannot_be_is_named_with_the_form_intact(store, novak, typed, words):
    answer, form = begin(novak, **typed)
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert f'value="{form["token"]}"' in text_of(answer)
    assert store.all("TENANTS") == []


def test_a_taken_id_is_told_with_the_form_intact(store, novak):
    put_tenants(store, "acme-ltd")
    answer, _ = begin(novak)
    assert answer.status_code == 409
    assert "This id is taken. Choose another one." in text_of(answer)
    assert 'value="Acme Ltd"' in text_of(answer)


def test_sent_twice_goes_on_with_the_same_tenant(store, novak):
    _, form = begin(novak)
    again = novak.post("/tenants/new/", form)
    assert again["Location"] == url("settings")
    assert trail(store, "acme-ltd") == ["tenant.created"]


def test_the_back_button_shows_what_was_saved_and_an_old_form_is_told(store, novak):
    begin(novak)
    old = inputs(text_of(novak.get(url("admin")))) | FIRST
    assert novak.post(url("admin"), old).status_code == 302
    assert 'value="robin@acme.example"' in text_of(novak.get(url("admin")))
    answer = novak.post(url("admin"), old | {"email": "second@acme.example"})
    assert answer.status_code == 409
    page = text_of(answer)
    assert "Somebody else, or another of your tabs, saved a step in the meantime" in page
    assert "How your form differs from what is stored now" in page
    assert "<bdi>robin@acme.example</bdi>" in page
    assert "<bdi>second@acme.example</bdi>" in page
    assert 'value="second@acme.example"' in page
    assert novak.post(url("admin"), inputs(page)).status_code == 302


def test_a_channel_taken_meanwhile_is_told_on_the_review(store, novak):
    begin(novak)
    novak.post(url("admin"), inputs(text_of(novak.get(url("admin")))) | FIRST)
    form = hidden(text_of(novak.get(url("channels")))) | CHANNEL
    novak.post(url("channels"), form | {"channel-0-type": "teams", "channel-0-id": "azure-bot-app-id"})
    ready = hidden(text_of(novak.get(url("review"))))
    put_tenants(store, "acme")
    channels.claim("acme", BOT, OLGA)
    answer = novak.post(url("review"), ready)
    assert answer.status_code == 409
    assert "Another tenant has this channel. Ask an administrator." in text_of(answer)
    assert "the tenant acme" not in text_of(answer).lower()
    assert set(of(store, "acme-ltd")) == {"META"}
    assert guard(store) == "acme"


def test_a_channel_that_clashes_is_told_beside_its_row_at_once(store, novak):
    put_tenants(store, "acme")
    channels.claim("acme", BOT, OLGA)
    begin(novak)
    form = hidden(text_of(novak.get(url("channels")))) | CHANNEL
    rows = {"channel-0-type": "slack", "channel-0-id": "T024BE7LD", "channel-1-type": BOT.type, "channel-1-id": BOT.id}
    answer = novak.post(url("channels"), form | rows)
    assert answer.status_code == 422
    first, second = re.findall(r'<div class="row" role="group".*?</div></div>', text_of(answer), re.S)[:2]
    assert "Another tenant has this channel." in second
    assert "has this channel" not in first
    assert f'value="{BOT.id}"' in second
    del rows["channel-1-type"], rows["channel-1-id"]
    assert novak.post(url("channels"), form | rows)["Location"] == url("companies")


def test_rows_of_channels_are_checked_and_more_can_be_had(store, novak):
    begin(novak)
    form = hidden(text_of(novak.get(url("channels")))) | CHANNEL
    bad = form | {"channel-0-type": "whatsapp", "channel-0-id": "0770", "channel-1-id": "lonely"}
    answer = novak.post(url("channels"), bad)
    assert answer.status_code == 422
    assert "with its country code" in text_of(answer)
    assert "Choose a type." in text_of(answer)
    assert 'value="lonely"' in text_of(answer)
    more = form | {"channel-0-type": "teams", "channel-0-id": "bot", "more": "1"}
    assert novak.post(url("channels"), more)["Location"] == url("channels")
    assert 'name="channel-3-id"' in text_of(novak.get(url("channels")))


def finished(store, browser, **typed):
    """A tenant whose last step is sent; what it answers."""
    begin(browser)
    form = inputs(text_of(browser.get(url("settings")))) | {"enabled_channels": ["teams"]} | typed
    assert browser.post(url("settings"), form).status_code == 302
    browser.post(url("admin"), inputs(text_of(browser.get(url("admin")))) | FIRST)
    form = hidden(text_of(browser.get(url("channels")))) | CHANNEL
    browser.post(url("channels"), form | {"channel-0-type": "teams", "channel-0-id": "azure-bot-app-id"})
    return browser.post(url("review"), hidden(text_of(browser.get(url("review")))), follow=True)


@pytest.mark.slow
def test_finished_twice_says_so(store, novak):
    form = {"version": "3"}
    finished(store, novak)
    assert novak.post(url("review"), form)["Location"] == url("review")
    assert trail(store, "acme-ltd").count("tenant.onboarded") == 1


def test_once_finished_the_way_leads_to_activation(store, novak):
    page = text_of(finished(store, novak))
    assert "Saved. Nothing is missing. You can activate the tenant." in page
    assert "Continue onboarding" not in page
    assert "/tenants/acme-ltd/status/activate/" in page


@pytest.mark.slow
def test_once_finished_what_is_missing_still_is_not_called_there(store, novak):
    page = text_of(finished(store, novak, enabled_channels=["teams", "sms"]))
    assert "Saved. See what is still missing below." in page
    assert "Continue onboarding" in page
    review = text_of(novak.get(url("review")))
    assert "Enabled without a mapping: SMS." in review
    assert "/tenants/acme-ltd/settings/change/" in review
    assert "Activate" not in review


@pytest.mark.slow
def test_the_review_of_what_is_finished_says_what_was_written(store, novak):
    finished(store, novak)
    page = text_of(novak.get(url("review")))
    assert "What was written" in page
    for words in ("robin@acme.example", "azure-bot-app-id", "/tenants/acme-ltd/status/activate/"):
        assert words in page
    for words in ("There is no", "none yet", ">Finish<", url("admin")):
        assert words not in page


@pytest.mark.slow
@pytest.mark.parametrize("step", ["admin", "channels", "companies"])
def test_a_step_of_what_is_finished_leads_to_the_review(store, novak, step):
    begin(novak)
    old = inputs(text_of(novak.get(url("admin")))) | FIRST
    finished(store, novak)
    assert novak.get(url(step))["Location"] == url("review")
    assert novak.post(url(step), old)["Location"] == url("review")
    assert set(of(store, "acme-ltd")) == {"META", "USER#robin", "USERS", BOT.key}


def test_what_was_added_by_hand_need_not_be_typed_again(store, novak):
    begin(novak)
    novak.post("/tenants/acme-ltd/users/new/", FIRST | {"role": "admin"})
    page = text_of(novak.get(url("review")))
    assert "already saved" in page
    assert "There is no first administrator yet." not in page
    form = hidden(text_of(novak.get(url("channels")))) | CHANNEL
    novak.post(url("channels"), form | {"channel-0-type": "teams", "channel-0-id": "azure-bot-app-id"})
    assert novak.post(url("review"), hidden(text_of(novak.get(url("review")))))["Location"] == "/tenants/acme-ltd/"
    assert set(of(store, "acme-ltd")) == {"META", "USER#robin", "USERS", BOT.key}


def test_a_step_that_was_left_out_is_not_called_done(store, novak):
    begin(novak)
    page = text_of(novak.get(url("review")))
    assert re.findall(r'<li class="done"><(?:a|span)[^>]*>([^<]+)<', page) == ["Identity", "Settings", "Companies"]


@pytest.mark.parametrize("step", STEPS)
def test_a_tenant_that_is_not_onboarded_is_changed_on_its_own_pages(store, olga, step):
    put_tenants(store)
    assert olga.get(url(step, "outlocks"))["Location"] == "/tenants/outlocks/"


@pytest.mark.parametrize("step", STEPS)
def test_out_of_scope_and_unknown_are_not_there(store, olga, aiko, step):
    store.put("TENANTS", tenant("secret", status="onboarding"))
    assert olga.get(url(step, "secret")).status_code == 404
    assert olga.get(url(step, "nobody")).status_code == 404
    assert aiko.get(url(step, "secret")).status_code == 403


def test_a_step_that_is_none_is_not_there(store, olga):
    store.put("TENANTS", tenant(status="onboarding"))
    assert olga.get(url("extra", "outlocks")).status_code == 404


def test_the_creator_sees_the_tenant_at_once(store, novak):
    begin(novak)
    assert "acme-ltd" in text_of(novak.get("/tenants/"))
    assert ADMIN.scope.everything


def test_a_company_of_another_tenant_is_asked_about_and_named_in_the_review(store, novak):
    begin(novak)
    store.put_all("TENANTS", [tenant("other"), {"pk": "TENANT#other", "sk": "COMPANY#ci-acm-001"}])
    form = hidden(text_of(novak.get(url("companies")))) | {"other": "ci-acm-001"}
    asked = novak.post(url("companies"), form)
    assert "ci-acm-001 is already linked to another tenant. Tick it to link it here too." in text_of(asked)
    assert novak.post(url("companies"), form | {"shared": "ci-acm-001"})["Location"] == url("review")
    assert "also linked to <bdi>another tenant</bdi>" in text_of(novak.get(url("review")))


@pytest.mark.parametrize("is_known", [True, False])
def test_a_company_that_nothing_is_stored_of_is_named_beside_it(store, novak, is_known):
    begin(novak)
    if is_known:
        store.put("CONVERSATIONS", conversation(company_id="ci-acm-001"))
    form = hidden(text_of(novak.get(url("companies")))) | {"other": "ci-acm-001"}
    assert novak.post(url("companies"), form)["Location"] == url("review")
    page = text_of(novak.get(url("review")))
    assert "<code>ci-acm-001</code>" in page
    assert ("nothing is stored of it yet, check the id" in page) != is_known
    answer = novak.post("/tenants/acme-ltd/companies/link/", {"other": "ci-acm-001"}, follow=True)
    assert ("Nothing is stored of ci-acm-001 yet. Check the id." in text_of(answer)) != is_known
