"""One tenant: overview, readiness, history, memories and settings as people of each role see them."""

import json
import re

import pytest

from console.store import calls
from tenants import settings
from tenants.settings_form import SettingsForm
from tests.support.tenants.items import SETTINGS, invitation, mapping, signed_in_user, tenant, user
from tests.support.tenants.kit import ADMIN, of, put_tenants

pytestmark = pytest.mark.pages

PAGES = ("", "readiness/", "history/", "memories/", "settings/", "users/", "channels/")


def body(response) -> str:
    return response.content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_a_tenant_out_of_scope_is_as_one_that_is_not_there(store, olga, page):
    put_tenants(store, "outlocks", "other")
    answers = [olga.get(f"/tenants/{tenant_id}/{page}") for tenant_id in ("other", "nobody")]
    assert [answer.status_code for answer in answers] == [404, 404]
    one, other = (re.sub(r'(Token": "|csrfmiddlewaretoken" value=")\w+', "", body(answer)) for answer in answers)
    assert one == other


@pytest.mark.parametrize("page", PAGES)
def test_agents_are_refused(store, amira, page):
    put_tenants(store)
    assert amira.get(f"/tenants/outlocks/{page}").status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_only_reading_methods_are_taken(store, olga, page):
    put_tenants(store)
    assert olga.post(f"/tenants/outlocks/{page}").status_code == 405


def test_the_overview_costs_two_requests_beside_the_session(store, olga):
    put_tenants(store)
    store.put_all("TENANTS", [user(f"u{number}") for number in range(50)])
    calls.recent_costs.clear()
    olga.get("/tenants/outlocks/")
    assert calls.recent_costs[-1].calls == 3


def test_readiness_says_what_is_missing_and_where(store, olga):
    store.put("TENANTS", tenant(status="onboarding"))
    page = body(olga.get("/tenants/outlocks/"))
    assert "There is no administrator with an email." in page
    assert "None is mapped, so no webhook finds this tenant." in page
    assert 'href="/tenants/outlocks/users/new/"' in page
    assert "This tenant is being onboarded." in page


def test_a_deleted_tenant_is_asked_for_nothing_more(store, olga):
    store.put("TENANTS", tenant(status="deleted"))
    assert "Readiness" not in body(olga.get("/tenants/outlocks/"))
    assert "/readiness/" not in body(olga.get("/tenants/"))
    gone = olga.get("/tenants/outlocks/readiness/")
    assert gone.status_code == 404
    assert "This tenant was deleted, so it has no readiness list." in body(gone)


def test_settings_of_a_tenant_discarded_meanwhile_are_not_saved(store, olga):
    put_tenants(store)
    stored = settings.load("outlocks", ADMIN)
    form = SettingsForm(None, stored=stored)
    typed = {name: form[name].value() for name in form.fields} | {"name": "New name", "seen": stored.seen}
    gone = tenant(status="deleted")
    store.put("TENANTS", gone)
    refused = olga.post("/tenants/outlocks/settings/change/", {k: v for k, v in typed.items() if v is not None})
    assert refused.status_code == 409
    assert "This tenant was deleted, so nothing can be changed on it." in body(refused)
    assert 'value="New name"' in body(refused)
    assert of(store, "outlocks")["META"] == gone


@pytest.mark.parametrize("path", ["settings/change/", "users/new/", "channels/new/", "companies/link/"])
def test_a_form_of_a_deleted_tenant_is_not_opened(store, olga, path):
    store.put("TENANTS", tenant(status="deleted"))
    asked = olga.get(f"/tenants/outlocks/{path}", follow=True)
    assert asked.redirect_chain == [("/tenants/outlocks/", 302)]
    assert "This tenant was deleted, so nothing can be changed on it." in body(asked)


def test_a_deleted_tenant_offers_no_change(store, olga):
    store.put("TENANTS", tenant(status="deleted"))
    pages = [body(olga.get(f"/tenants/outlocks/{page}")) for page in PAGES if page != "readiness/"]
    for path in ("settings/change/", "users/new/", "channels/new/", "companies/link/", "status/"):
        assert not any(f"/tenants/outlocks/{path}" in page for page in pages)
    assert "These items are left." not in pages[0]
    assert "You cannot restore it here, and its id stays taken." in pages[0]
    store.put_all("TENANTS", [user(), mapping()])
    assert "These items are left." in body(olga.get("/tenants/outlocks/"))
    assert re.search("/users/[^/]+/change/", body(olga.get("/tenants/outlocks/users/"))) is None
    # Another tenant may need the channel, so it can still be released.
    assert re.search("/channels/[^/]+/release/", body(olga.get("/tenants/outlocks/channels/")))


def test_the_onboarding_of_a_discarded_tenant_says_so(store, olga):
    store.put("TENANTS", tenant(status="deleted"))
    asked = olga.get("/tenants/outlocks/onboarding/channels/", follow=True)
    assert "This tenant was discarded, so there is nothing left to onboard." in body(asked)


def test_a_second_activation_has_no_button(store, olga):
    store.put_all("TENANTS", [tenant(), user(), mapping()])
    for answer, words in (
        (olga.get("/tenants/outlocks/status/activate/"), "The tenant is already active."),
        (olga.post("/tenants/outlocks/status/activate/", {"seen": "onboarding"}), "The status is active now."),
    ):
        assert words in body(answer)
        assert "Activate the tenant" not in body(answer)


def test_clashes_are_told_by_name_within_scope_only(store, olga, aiko):
    put_tenants(store, "outlocks", "acme", "secret")
    store.put_all("TENANTS", [mapping(), mapping(tenant_id="acme")])
    assert "The tenant acme has this channel" in body(olga.get("/tenants/outlocks/readiness/"))
    store.put_all("TENANTS", [mapping("slack", "T1"), mapping("slack", "T1", "secret")])
    page = body(olga.get("/tenants/outlocks/readiness/"))
    assert "Another tenant has this channel" in page
    assert "secret" not in page


def test_unknown_items_are_shown_by_role_and_untouched(store, olga, aiko):
    put_tenants(store)
    item = {"pk": "TENANT#outlocks", "sk": "LICENCE#7", "seats": 12, "contact": "Write to boss@outlocks.example"}
    store.put("TENANTS", item)
    page = body(olga.get("/tenants/outlocks/"))
    assert "LICENCE#7" in page
    assert "boss@outlocks.example" in page
    page = body(aiko.get("/tenants/outlocks/"))
    assert "LICENCE#7" in page
    assert ">12<" in page
    assert "boss@" not in page
    olga.post("/tenants/outlocks/status/suspend/", {"seen": "active", "reason": "the contract ended"})
    assert of(store, "outlocks")["LICENCE#7"] == item


def test_what_the_platform_keeps_of_users_is_shown_by_role_and_kept(store, olga, aiko):
    store.put_all("TENANTS", [tenant(), signed_in_user(metadata={"theme": "dark", "phone": "+447700900831"})])
    page = body(olga.get("/tenants/outlocks/users/"))
    for words in (
        "last_login",
        "2026-11-20T08:15:00+00:00",
        "cognito_sub",
        "https://img.example/a.png",
        "+447700900831",
    ):
        assert words in page
    page = body(aiko.get("/tenants/outlocks/users/"))
    assert "dark" in page
    assert "447700900831" not in page


def test_invitations_of_the_tenant_are_listed_on_the_users_page_without_their_code(store, olga, aiko):
    put_tenants(store)
    ended = invitation("gone", email="late@outlocks.example", ttl=1_000_000_000)
    of_others = invitation("other", "acme")
    store.put_all("TENANTS", [invitation(note="from the fair"), ended, of_others])
    page = body(olga.get("/tenants/outlocks/users/"))
    for words in ("Invitations", "new@outlocks.example", "pending", "from the fair"):
        assert words in page
    for words in ("k3Jx9vQ2", "late@", "new@acme"):
        assert words not in page
    page = body(aiko.get("/tenants/outlocks/users/"))
    assert "from the fair" in page
    assert "new@outlocks" not in page
    assert "Invitations" not in body(olga.get("/tenants/acme/channels/"))


def test_a_clash_and_ready_never_stand_side_by_side(store, olga):
    ready = json.dumps(SETTINGS | {"enabled_channels": ["dashboard", "teams"]})
    store.put_all("TENANTS", [tenant(settings=ready), user(), mapping(), tenant("acme")])
    for page in ("", "readiness/"):
        assert "Ready</span>" in body(olga.get(f"/tenants/outlocks/{page}")), page
    store.put("TENANTS", mapping(tenant_id="acme"))
    for page in ("", "readiness/"):
        told = body(olga.get(f"/tenants/outlocks/{page}"))
        assert "Ready</span>" not in told, page
        assert "1 thing to fix" in told, page
        assert "The tenant acme has this channel" in told, page


def test_one_bad_item_does_not_break_the_page(store, olga):
    store.put_all(
        "TENANTS",
        [
            tenant(name=5, status=["x"], settings={"a": 1}, created_at="long ago"),
            user("odd", email=7, channel_identities="{", role=None),
            mapping(gsi1pk=5, gsi1sk=...),
            {"pk": "TENANT#outlocks", "sk": "USERS", "version": "many"},
        ],
    )
    for page in PAGES:
        assert olga.get(f"/tenants/outlocks/{page}").status_code == 200, page


def test_auditors_read_redacted(store, aiko):
    put_tenants(store)
    prompt = SETTINGS | {"system_prompt_override": "Call +44 7700 900123 or write to boss@outlocks.example"}
    store.put_all(
        "TENANTS",
        [
            tenant(settings=json.dumps(prompt)),
            user("447700900124", display_name="Ann"),
            mapping("whatsapp", "+447700900125"),
            {"pk": "TENANT#outlocks", "sk": "MEMORY#ann#s1", "summary": "rings from +447700900126"},
        ],
    )
    for page in PAGES:
        text = body(aiko.get(f"/tenants/outlocks/{page}"))
        for secret in ("7700 900123", "boss@", "447700900124", "447700900125", "447700900126", "admin@outlocks"):
            assert secret not in text, (page, secret)
        assert "/change/" not in text
        assert "/new/" not in text


def test_auditors_read_no_names_of_a_tenants_users(store, aiko, olga):
    put_tenants(store)
    memory = {"pk": "TENANT#outlocks", "sk": "MEMORY#mara.lindgren#s1", "summary": "Mara Lindgren likes tea"}
    mara = signed_in_user("mara.lindgren", display_name="Mara Lindgren", memory_summary="Mara again")
    store.put_all("TENANTS", [mara | {"note": "call Mara"}, memory | {"key_facts": ["Lindgren of Bern"]}])
    for page in PAGES:
        assert not re.search("mara|lindgren", body(aiko.get(f"/tenants/outlocks/{page}")), re.IGNORECASE), page
    assert "*** likes tea" in body(aiko.get("/tenants/outlocks/memories/"))
    assert "Mara Lindgren likes tea" in body(olga.get("/tenants/outlocks/memories/"))


NOTE = {"api_key": "sesame-open-1234", "hosts": [{"token": "abc", "at": 1}, {"token": "def", "at": 2}], "n": 1.0}


def test_secrets_in_settings_are_masked_and_kept_by_a_save(store, olga):
    put_tenants(store)
    own = [{"name": "lookup", "password": "swordfish"}, "plain"]
    stored = SETTINGS | {"custom_note": NOTE, "webhook_secret": "hush", "custom_skills": own}
    store.put("TENANTS", tenant(settings=json.dumps(stored), extra={"client_secret": "mellon"}))
    change = "/tenants/outlocks/settings/change/"
    pages = [body(olga.get(f"/tenants/outlocks/{page}")) for page in (*PAGES, "settings/change/")]
    for secret in ("sesame", "abc&quot;", "swordfish", "hush", "mellon"):
        assert not any(secret in page for page in pages), secret
    form = SettingsForm(None, stored=settings.load("outlocks", ADMIN))
    fields = {name: form[name].value() or "" for name in form.fields} | {"seen": form.stored.seen}
    [note] = (name for name, key in form.keys.items() if key == "custom_note")
    typed = json.loads(fields[note]) | {"n": 2, "hosts": [json.loads(fields[note])["hosts"][1]]}
    skills = fields["custom_skills"].replace("plain", "fancy")
    moved = json.dumps({"moved": "***1234"})
    refused = olga.post(change, fields | {note: moved})
    assert "hides a stored secret" in body(refused)
    answer = olga.post(change, fields | {note: json.dumps(typed), "custom_skills": skills})
    assert answer.status_code == 302, body(answer)
    saved = json.loads(of(store, "outlocks")["META"]["settings"])
    assert saved == stored | {
        "custom_note": NOTE | {"n": 2, "hosts": NOTE["hosts"][1:]},
        "custom_skills": [own[0], "fancy"],
    }


def test_history_shows_the_trail_and_what_the_platform_overwrote(store, olga):
    put_tenants(store)
    stored = settings.load("outlocks", ADMIN)
    known = dict(stored.settings.known) | {"messages_per_day": 5}
    settings.save("outlocks", stored.name, known, stored.settings.others, stored.seen, ADMIN)
    page = body(olga.get("/tenants/outlocks/history/"))
    assert "changed the tenant&#x27;s settings: Messages per day" in page
    assert "Changed outside the console" not in page
    store.put("TENANTS", tenant())
    page = body(olga.get("/tenants/outlocks/history/"))
    assert "Changed outside the console" in page
    assert '<th scope="row">Messages per day</th>' in page


def test_memories_are_read_page_by_page(store, olga):
    put_tenants(store)
    store.put_all(
        "TENANTS",
        [
            {"pk": "TENANT#outlocks", "sk": f"MEMORY#ann#s{number:03}", "summary": f"memory {number:03}"}
            for number in range(60)
        ],
    )
    first = body(olga.get("/tenants/outlocks/memories/"))
    assert "memory 049" in first
    assert "memory 050" not in first
    following = first.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    assert "memory 050" in body(olga.get(following))


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("", "Overview"),
        ("settings/", "Settings"),
        ("settings/change/", "Change · Settings"),
        ("users/", "Users"),
        ("channels/", "Channels"),
        ("history/", "History"),
    ],
)
def test_a_tab_is_named_in_its_title(store, olga, path, title):
    put_tenants(store)
    page = olga.get(f"/tenants/outlocks/{path}").content.decode()
    assert f"<title>{title} · Outlocks · " in page


def test_who_has_no_name_is_called_by_the_id_once(store, olga):
    store.put_all("TENANTS", [tenant(), user("robin", display_name=...)])
    page = body(olga.get("/tenants/outlocks/users/"))
    assert page.count("<bdi>robin</bdi>") + page.count("<code>robin</code>") == 1


def test_the_page_says_what_happens_before_it_does(store, olga):
    store.put_all("TENANTS", [tenant(status="onboarding"), user("mara"), mapping()])
    page = body(olga.get("/tenants/outlocks/"))
    assert 'href="/tenants/outlocks/status/discard/"' in page
    asked = body(olga.get("/tenants/outlocks/status/discard/"))
    for words in ("Discard this tenant?", "Its channels are released", "Its id stays taken", "You cannot undo this."):
        assert words in asked
    form = {"seen": "onboarding", "reason": "reserved by mistake"}
    done = body(olga.post("/tenants/outlocks/status/discard/", form, follow=True))
    assert "The tenant is discarded. Its id stays taken." in done
    assert "This tenant was deleted." in done
    assert "/status/" not in done
    assert "discarded the tenant: reserved by mistake" in body(olga.get("/tenants/outlocks/history/"))
