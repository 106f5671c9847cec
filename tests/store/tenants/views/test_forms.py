"""The forms of a tenant as a new user would send them: empty, too long, duplicate, hostile, twice, and too late."""

import re

import pytest

from tenants import channels
from tenants.queries import load_tenant
from tests import faults
from tests.answers import text_of
from tests.support.tenants.items import mapping, tenant, user
from tests.support.tenants.kit import ADMIN, BOT, guard, mappers, of, put_tenants, trail

pytestmark = pytest.mark.pages

ROWS = {"identity-TOTAL_FORMS": "3", "identity-INITIAL_FORMS": "0"}
USER = {"user_id": "mara", "email": "mara@outlocks.example", "name": "Mara", "role": "member", **ROWS}
HOSTILE = ("<script>alert(1)</script>", "{{ 7*7 }}", "\u202egnp.exe", "a\x00b", "' OR 1=1", "x" * 5_000)
FORMS = {
    "users/new/": USER,
    "channels/new/": {"type": "teams", "id": "azure-bot-app-id"},
    "companies/link/": {"other": "acme"},
    "status/suspend/": {"reason": "over", "seen": "active"},
}


def link(page: str, words: str) -> str:
    """The address of a link, by the end of it."""
    return re.search(rf'(?:href|action)="([^"]*{words}/)"', page).group(1)


def seen(page: str) -> str:
    return re.search(r'name="seen" value="([^"]*)"', page).group(1)


def messages(response) -> str:
    return " ".join(str(each) for each in response.wsgi_request._messages)


@pytest.mark.parametrize("path", FORMS)
def test_an_empty_form_says_what_is_missing(store, olga, path):
    put_tenants(store)
    before = store.all("TENANTS")
    answer = olga.post(f"/tenants/outlocks/{path}", ROWS)
    if path == "companies/link/":
        assert answer.status_code == 302
    else:
        assert answer.status_code == 422
        assert "errorlist" in text_of(answer)
    assert store.all("TENANTS") == before


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("path", FORMS)
def test_hostile_input_is_kept_or_refused_but_never_markup(store, olga, path, hostile):
    put_tenants(store)
    for field, value in FORMS[path].items():
        if field.startswith("identity") or field == "seen":
            continue
        answer = olga.post(f"/tenants/outlocks/{path}", FORMS[path] | {field: f"{hostile}{value}"})
        assert answer.status_code in (302, 409, 422), (field, answer.status_code)
        assert "<script>alert" not in answer.content.decode()


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("method", ["put", "delete"])
def test_other_methods_are_refused(store, olga, path, method):
    put_tenants(store)
    assert getattr(olga, method)(f"/tenants/outlocks/{path}").status_code == 405


@pytest.mark.parametrize("path", FORMS)
def test_a_lost_answer_keeps_what_was_typed(store, olga, path):
    put_tenants(store)
    with faults.fail_before("TransactWriteItems"):
        answer = olga.post(f"/tenants/outlocks/{path}", FORMS[path])
    assert answer.status_code == 503
    assert "does not know" in text_of(answer)
    typed = next(value for name, value in FORMS[path].items() if name not in ("seen", "role", "user_id"))
    assert typed in text_of(answer)


# --- Users ----------------------------------------------------------------------------------------------------------


def test_a_user_is_added_with_identities(store, olga):
    put_tenants(store)
    rows = {"identity-0-type": "Slack", "identity-0-id": "U7", "identity-2-type": "teams", "identity-2-id": "aad"}
    answer = olga.post("/tenants/outlocks/users/new/", USER | rows)
    assert answer["Location"] == "/tenants/outlocks/users/"
    assert of(store, "outlocks")["USER#mara"]["channel_identities"] == '{"slack": "U7", "teams": "aad"}'


def test_half_a_row_and_a_row_twice_are_named(store, olga):
    put_tenants(store)
    answer = olga.post("/tenants/outlocks/users/new/", USER | {"identity-0-type": "slack"})
    assert "Enter an id." in text_of(answer)
    twice = {f"identity-{n}-{key}": value for n in (0, 1) for key, value in (("type", "slack"), ("id", "U1"))}
    answer = olga.post("/tenants/outlocks/users/new/", USER | twice)
    assert "already in an earlier row" in text_of(answer)
    assert "USER#mara" not in of(store, "outlocks")


@pytest.mark.parametrize("user_id", ["a#b", "a\x07b", "", " ", "x" * 101, "Bad Id", "../..", "a..b", "a7700900"])
def test_ids_that_cannot_be_are_named(store, olga, user_id):
    put_tenants(store)
    answer = olga.post("/tenants/outlocks/users/new/", USER | {"user_id": user_id})
    assert answer.status_code == 422
    assert 'id="id_user_id_error"' in text_of(answer) or "errorlist" in text_of(answer)
    assert set(of(store, "outlocks")) == {"META", "USER#admin"}


def test_a_user_sent_twice_is_there_once(store, olga):
    put_tenants(store)
    olga.post("/tenants/outlocks/users/new/", USER)
    answer = olga.post("/tenants/outlocks/users/new/", USER)
    assert answer.status_code == 409
    assert "has this id already" in text_of(answer)
    assert trail(store) == ["user.added"]


def test_a_stale_user_form_shows_what_is_stored_and_keeps_what_was_typed(store, olga):
    put_tenants(store)
    url = link(text_of(olga.get("/tenants/outlocks/users/")), "change")
    mark = seen(text_of(olga.get(url)))
    store.put("TENANTS", user("admin", email="meanwhile@outlocks.example"))
    form = {"email": "mine@outlocks.example", "name": "", "role": "admin", "seen": mark, **ROWS}
    answer = olga.post(url, form)
    assert answer.status_code == 409
    page = text_of(answer)
    assert "meanwhile@outlocks.example" in page
    assert 'value="mine@outlocks.example"' in page
    # Sent again, with what was shown, it is saved.
    assert olga.post(url, form | {"seen": seen(page)}).status_code == 302
    assert of(store, "outlocks")["USER#admin"]["email"] == "mine@outlocks.example"


def test_removed_twice_leads_back_with_words(store, olga):
    put_tenants(store)
    store.put("TENANTS", user("mara", role="member"))
    page = text_of(olga.get("/tenants/outlocks/users/"))
    url = next(each for each in re.findall(r'href="([^"]*/remove/)"', page) if "mara" in text_of(olga.get(each)))
    mark = seen(text_of(olga.get(url)))
    assert olga.post(url, {"seen": mark})["Location"] == "/tenants/outlocks/users/"
    again = olga.post(url, {"seen": mark})
    assert again["Location"] == "/tenants/outlocks/users/"
    assert "no longer exist" in messages(again)
    assert "USER#mara" not in of(store, "outlocks")


def test_the_last_administrator_stays(store, olga):
    put_tenants(store)
    url = link(text_of(olga.get("/tenants/outlocks/users/")), "remove")
    page = text_of(olga.get(url))
    assert "last administrator" in page
    assert "Remove the user" not in page
    [admin] = load_tenant("outlocks", ADMIN).users
    answer = olga.post(url, {"seen": admin.seen})
    assert answer.status_code == 422
    assert text_of(answer).count("last administrator") == 1
    for words in ("no longer a user", "Remove the user"):
        assert words not in text_of(answer)


def test_one_of_two_administrators_can_be_removed(store, olga):
    put_tenants(store)
    store.put("TENANTS", user("second", role="admin"))
    page = text_of(olga.get(link(text_of(olga.get("/tenants/outlocks/users/")), "remove")))
    assert "will no longer be a user of Outlocks" in page
    assert "Remove the user" in page


@pytest.mark.parametrize("deed", ["release", "move"])
@pytest.mark.parametrize(
    ("status", "others", "words"),
    [
        ("active", [], "Without it no webhook finds the tenant, though it is active."),
        ("onboarding", [], "Without it no webhook finds the tenant."),
        ("active", [mapping("sms", "+442079460018")], ""),
    ],
)
def test_what_the_last_channel_is_for_is_said_before_it_goes(store, olga, deed, status, others, words):
    store.put_all("TENANTS", [tenant(status=status), mapping(), *others])
    urls = re.findall(rf'href="([^"]*/{deed}/)"', text_of(olga.get("/tenants/outlocks/channels/")))
    page = text_of(olga.get(urls[0]))
    assert words in page
    assert ("This is the last channel of Outlocks" in page) == bool(words)


# --- Channels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "typed", "stored"),
    [
        ("WhatsApp", "+44 (0)7700 900831", "+447700900831"),
        ("whatsapp", "0044 7700 900831", "+447700900831"),
        ("sms", "07700 900831", ""),
        ("email", " Hello@Outlocks.example ", "hello@outlocks.example"),
        ("email", "hello", ""),
        ("slack", "t024be7ld", "T024BE7LD"),
        ("telegram", "@outlocks_bot", "outlocks_bot"),
        ("web_widget", "widget 7", "widget 7"),
        ("web_widget", "a#b", ""),
        ("my type", "x", ""),
    ],
)
def test_ids_are_checked_by_their_type(store, olga, kind, typed, stored):
    put_tenants(store)
    answer = olga.post("/tenants/outlocks/channels/new/", {"type": kind, "id": typed})
    keys = [key for key in of(store, "outlocks") if key.startswith("CHANNEL#")]
    assert answer.status_code == (302 if stored else 422)
    assert keys == ([f"CHANNEL#{kind.lower()}#{stored}"] if stored else [])


def test_a_taken_channel_links_its_owner_within_scope_only(store, olga):
    put_tenants(store, "outlocks", "acme", "secret")
    channels.claim("acme", BOT, ADMIN)
    answer = olga.post("/tenants/outlocks/channels/new/", FORMS["channels/new/"])
    assert answer.status_code == 409
    assert 'href="/tenants/acme/channels/">acme</a>' in text_of(answer)
    store.put("TENANTS", mapping("slack", "T024BE7LD", "secret"))
    answer = olga.post("/tenants/outlocks/channels/new/", {"type": "slack", "id": "T024BE7LD"})
    assert "Another tenant has this channel. Ask an administrator." in text_of(answer)
    assert "secret" not in text_of(answer)


def test_a_channel_is_released_and_released_again_says_so(store, olga):
    put_tenants(store)
    channels.claim("outlocks", BOT, ADMIN)
    url = link(text_of(olga.get("/tenants/outlocks/channels/")), "release")
    assert olga.post(url)["Location"] == "/tenants/outlocks/channels/"
    assert (mappers(store), guard(store)) == (set(), "")
    assert "This channel no longer belongs to the tenant" in messages(olga.post(url))


def test_a_channel_is_moved_to_a_tenant_in_scope_only(store, olga):
    put_tenants(store, "outlocks", "acme", "secret")
    channels.claim("outlocks", BOT, ADMIN)
    url = link(text_of(olga.get("/tenants/outlocks/channels/")), "move")
    options = re.findall(r'<option value="([^"]*)"', text_of(olga.get(url)))
    assert options == ["", "acme"]
    told = [olga.post(url, {"to": to}) for to in ("secret", "nobody")]
    assert [answer.status_code for answer in told] == [422, 422]
    assert all("No tenant in your scope has that id." in text_of(answer) for answer in told)
    assert olga.post(url, {"to": "acme"}).status_code == 302
    assert mappers(store) == {"acme"}


def test_the_choice_of_a_channels_new_tenant_says_whether_it_is_served(store, olga):
    put_tenants(store, "outlocks", "acme")
    store.put("TENANTS", tenant("acme", status="suspended"))
    channels.claim("outlocks", BOT, ADMIN)
    url = link(text_of(olga.get("/tenants/outlocks/channels/")), "move")
    assert "Acme (acme): suspended, not served by the platform</option>" in text_of(olga.get(url))
    unchosen = olga.post(url, {"to": ""})
    assert unchosen.status_code == 422
    assert "Choose a tenant." in text_of(unchosen)
    moved = text_of(olga.post(url, {"to": "acme"}, follow=True))
    assert "The platform does not serve Acme, whose status is suspended." in moved
    assert mappers(store) == {"acme"}


def test_a_channel_is_not_moved_to_a_deleted_tenant(store, olga):
    put_tenants(store, "outlocks", "acme")
    store.put("TENANTS", tenant("acme", status="deleted"))
    channels.claim("outlocks", BOT, ADMIN)
    url = link(text_of(olga.get("/tenants/outlocks/channels/")), "move")
    assert "acme" not in text_of(olga.get(url))
    assert "nothing can be changed on it" in text_of(olga.post(url, {"to": "acme"}))
    assert mappers(store) == {"outlocks"}


def test_a_bare_mapping_is_made_findable(store, olga):
    put_tenants(store)
    store.put("TENANTS", mapping(gsi1pk=...))
    page = text_of(olga.get("/tenants/outlocks/channels/"))
    assert "cannot find it" in page
    olga.post(link(page, "complete"))
    assert "cannot find it" not in text_of(olga.get("/tenants/outlocks/channels/"))


def test_references_of_another_tenant_are_not_there(store, olga):
    put_tenants(store)
    channels.claim("acme", BOT, ADMIN)
    url = link(text_of(olga.get("/tenants/acme/channels/")), "release")
    assert olga.post(url.replace("acme", "outlocks")).status_code == 404
    assert mappers(store) == {"acme"}


# --- Settings and status --------------------------------------------------------------------------------------------


def fields(page: str) -> dict[str, str]:
    """What a browser would send of the settings form."""
    found = dict(re.findall(r'<(?:input type="(?:text|hidden)") name="([^"]+)"(?: value="([^"]*)")?', page))
    found |= dict(re.findall(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.S))
    return found


def test_a_stale_save_of_settings_shows_both_versions(store, olga):
    put_tenants(store)
    url = "/tenants/outlocks/settings/change/"
    form = fields(text_of(olga.get(url))) | {"messages_per_day": "5", "enabled_channels": ["dashboard"]}
    store.put("TENANTS", tenant(settings=tenant()["settings"].replace("1000", "777")))
    answer = olga.post(url, form)
    assert answer.status_code == 409
    page = text_of(answer)
    assert "<bdi>777</bdi>" in page
    assert "<bdi>5</bdi>" in page
    assert 'name="messages_per_day" value="5"' in page
    assert olga.post(url, form | {"seen": fields(page)["seen"]}).status_code == 302
    assert '"messages_per_day": 5' in of(store, "outlocks")["META"]["settings"]


def test_a_save_reads_the_settings_alone(store, olga):
    put_tenants(store)
    url = "/tenants/outlocks/settings/change/"
    form = fields(text_of(olga.get(url))) | {"messages_per_day": "5", "enabled_channels": ["teams"]}
    with store.calls() as calls:
        assert olga.post(url, form).status_code == 302
    assert [each.operation for each in calls if "TENANTS" in each.tables and each.operation == "Query"] == []


def test_a_type_of_channel_that_only_the_tenant_has_can_be_enabled(store, olga):
    put_tenants(store)
    store.put("TENANTS", mapping("pager", "p-1"))
    url = "/tenants/outlocks/settings/change/"
    page = text_of(olga.get(url))
    assert 'name="enabled_channels" value="pager"' in page
    answer = olga.post(url, fields(page) | {"enabled_channels": ["pager", "carrier pigeon"]})
    assert answer.status_code == 422
    assert "Choose one of the listed values." in text_of(answer)
    assert olga.post(url, fields(page) | {"enabled_channels": ["pager"]}).status_code == 302
    assert '"enabled_channels": ["pager"]' in of(store, "outlocks")["META"]["settings"]


@pytest.mark.parametrize("refused", [{"messages_per_day": "many"}, {"messages_per_day": "5"}], ids=["form", "store"])
def test_typed_settings_stay_where_the_rest_of_the_tenant_cannot_be_read(store, olga, refused):
    put_tenants(store)
    store.put("TENANTS", mapping("pager", "p-1"))
    url = "/tenants/outlocks/settings/change/"
    form = fields(text_of(olga.get(url))) | {"enabled_channels": ["teams", "pager"]} | refused
    with faults.fail_before("Query", table_key="TENANTS"), faults.fail_before("TransactWriteItems"):
        page = text_of(olga.post(url, form))
    with faults.fail_before("Query", table_key="TENANTS"):
        assert olga.get(url).status_code == 503
    assert f'name="messages_per_day" value="{refused["messages_per_day"]}"' in page
    assert "<h1><bdi>Outlocks</bdi></h1>" in page
    assert "no status" not in page
    assert re.search(r'value="pager"[^>]* checked', page)


def test_settings_that_cannot_be_name_their_field_and_keep_the_rest(store, olga):
    put_tenants(store)
    url = "/tenants/outlocks/settings/change/"
    form = fields(text_of(olga.get(url))) | {"messages_per_day": "many", "ai_model": "claude-opus-4"}
    answer = olga.post(url, form)
    assert answer.status_code == 422
    assert "Enter a whole number from 1 to 10,000,000." in text_of(answer)
    assert 'value="claude-opus-4"' in text_of(answer)


def test_suspending_wants_a_reason_and_happens_once(store, olga):
    put_tenants(store)
    url = "/tenants/outlocks/status/suspend/"
    assert olga.post(url, {"seen": "active"}).status_code == 422
    form = {"seen": "active", "reason": "the contract ended"}
    assert olga.post(url, form).status_code == 302
    assert olga.post(url, form).status_code == 409
    assert trail(store) == ["tenant.suspended"]
    assert "This tenant is suspended." in text_of(olga.get("/tenants/outlocks/"))


def test_activating_shows_what_is_missing_instead_of_a_button(store, olga):
    store.put("TENANTS", tenant(status="onboarding"))
    page = text_of(olga.get("/tenants/outlocks/status/activate/"))
    assert re.search(r"You can activate this tenant once \d things are fixed", page)
    assert "Activate the tenant" not in page
    # What is missing comes first.
    points = [each == "good" for each in re.findall(r'<li class="(good|human)">', page)]
    assert points == sorted(points)
    assert set(points) == {True, False}
    refused = olga.post("/tenants/outlocks/status/activate/", {"seen": "onboarding"})
    assert refused.status_code == 422
    for each in (page, text_of(refused)):
        assert '<a href="/tenants/outlocks/users/new/">Add a user</a>' in each
        assert '<a href="/tenants/outlocks/channels/">Look at the channels</a>' in each


def test_activating_asks_once_whose_the_channels_are_and_shows_it_when_refused(store, olga):
    store.put_all("TENANTS", [tenant(status="onboarding"), mapping(), tenant("acme"), mapping(tenant_id="acme")])
    with store.calls() as calls:
        answer = olga.post("/tenants/outlocks/status/activate/", {"seen": "onboarding"})
    assert answer.status_code == 422
    assert (
        '<bdi>Teams azure-bot-app-id: The tenant acme has this channel.</bdi> <a href="/tenants/outlocks/channels/">'
        in text_of(answer)
    )
    assert "Activate the tenant" not in text_of(answer)
    assert [call.index for call in calls].count("channel-mapping") == 1


def test_a_step_that_is_none_is_not_there(store, olga):
    put_tenants(store)
    assert olga.get("/tenants/outlocks/status/explode/").status_code == 404


# --- Companies ------------------------------------------------------------------------------------------------------


def test_a_company_of_another_tenant_is_linked_only_when_confirmed(store, olga):
    put_tenants(store, "outlocks", "acme", "secret", "gone")
    store.put("TENANTS", tenant("gone", status="deleted"))
    links = (("acme", "acme"), ("secret", "outlocks"), ("gone", "acme"))
    store.put_all("TENANTS", [{"pk": f"TENANT#{each}", "sk": f"COMPANY#{company}"} for each, company in links])
    form = {"other": "acme, outlocks"}
    asked = olga.post("/tenants/outlocks/companies/link/", form)
    assert asked.status_code == 422
    assert "acme is already linked to Acme (acme). Tick it to link it here too." in text_of(asked)
    assert "outlocks is already linked to another tenant. Tick it to link it here too." in text_of(asked)
    assert "secret" not in text_of(asked)
    assert olga.post("/tenants/outlocks/companies/link/", form | {"shared": ["acme"]}).status_code == 422
    assert not [key for key in of(store, "outlocks") if key.startswith("COMPANY#")]
    assert olga.post("/tenants/outlocks/companies/link/", form | {"shared": ["acme", "outlocks"]}).status_code == 302
    assert {"COMPANY#acme", "COMPANY#outlocks"} <= set(of(store, "outlocks"))
    # What this tenant has already is not asked about again.
    assert olga.post("/tenants/outlocks/companies/link/", form).status_code == 302


def test_companies_are_not_linked_if_other_tenants_cannot_be_read(store, olga):
    put_tenants(store)
    by_company = {"where": lambda content: content.get("IndexName") == "sk-pk-index", "times": 10}
    with faults.refuse("Query", code="InternalServerError", status=500, **by_company):
        answer = olga.post("/tenants/outlocks/companies/link/", {"other": "acme"})
    assert answer.status_code == 503
    assert "COMPANY#acme" not in of(store, "outlocks")


def test_companies_are_linked_within_scope_and_unlinked(store, olga):
    put_tenants(store)
    refused = olga.post("/tenants/outlocks/companies/link/", {"other": "ci-secret"})
    assert refused.status_code == 422
    assert "No company in your scope has that id." in text_of(refused)
    assert olga.post("/tenants/outlocks/companies/link/", {"other": "acme, outlocks"}).status_code == 302
    assert {"COMPANY#acme", "COMPANY#outlocks"} <= set(of(store, "outlocks"))
    url = link(text_of(olga.get("/tenants/outlocks/")), "unlink")
    assert olga.post(url).status_code == 302
    assert len([key for key in of(store, "outlocks") if key.startswith("COMPANY#")]) == 1
    assert "no longer linked" in messages(olga.post(url))
