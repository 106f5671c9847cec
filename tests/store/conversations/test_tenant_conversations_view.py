"""The pages of tenants' conversations: who sees what, what is on record, and clearing one."""

import contextlib
import json
import re

import pytest

from console.refs import seal
from conversations.stores.tenant_conversations.reading import reference_of
from tests import faults
from tests.answers import text_of
from tests.people import admin, auditor, member, signed_in
from tests.support.conversations.stores.tenant_conversations.kit import CONVERSATION, KEY, REF, TENANT, item
from tests.support.tenants.items import tenant, user

pytestmark = pytest.mark.pages

LIST = f"/tenants/{TENANT}/conversations/"
URL = f"{LIST}{REF}/"
CLEAR = f"{URL}clear/"
HTMX = {"HTTP_HX_REQUEST": "true"}


def url_of(conversation_id: str, tenant_id: str = TENANT) -> str:
    return f"/tenants/{tenant_id}/conversations/{reference_of(tenant_id, conversation_id)}/"


def stable(answer) -> str:
    """A page without what differs from one request to the next."""
    return re.sub(r'csrfmiddlewaretoken" value="[^"]*"|"X-CSRFToken": "[^"]*"', "", answer.content.decode())


def seen_in(client) -> str:
    return re.search(r'name="seen" value="(\w+)"', client.get(CLEAR).content.decode())[1]


def trail(store) -> list[str]:
    return [each["action_type"] for each in store.all("AUDIT") if each["conversation_id"] == f"TENANT#{TENANT}"]


@pytest.fixture
def talk(store):
    stored = item()
    store.put("TENANT_CONVERSATIONS", stored)
    return stored


# --- Who sees what ---------------------------------------------------------------------------------------------------


def test_the_list_names_conversations_and_when_they_go(store, talk):
    store.put_all("TENANT_CONVERSATIONS", [item("wa-+447700900999", ttl=1_700_000_000), item("theirs", pk="other")])
    for account in (admin(), auditor()):
        text = text_of(signed_in(account).get(LIST))
        assert f'href="{URL}"' in text
        assert "removed in 12 days" in text
        assert "wa-***-***-0999" in text
        assert "not removed yet" in text
        for absent in ("theirs", "900999", "sprint status"):
            assert absent not in text.replace("***-***-0999", "")
    assert trail(store) == []


def test_the_tab_bears_the_tenant_as_the_other_tabs_do(store, talk):
    store.put_all("TENANTS", [tenant(TENANT, name="Outlocks Ltd", status="suspended"), user("admin", TENANT)])
    client = signed_in(admin())
    text = text_of(client.get(LIST))
    assert "<h1><bdi>Outlocks Ltd</bdi></h1>" in text
    assert "suspended" in text
    assert 'Users <span class="count">1</span>' in text
    for url in (URL, CLEAR):
        assert f'<a href="/tenants/{TENANT}/" dir="auto">Outlocks Ltd</a>' in text_of(client.get(url))


@pytest.mark.parametrize("fault", ["gone", "unavailable"])
def test_conversations_are_listed_without_their_tenant(store, talk, fault):
    broken = (
        faults.fail_before("Query", table_key="TENANTS", times=faults.ALWAYS)
        if fault == "unavailable"
        else contextlib.nullcontext()
    )
    with broken:
        text = text_of(signed_in(admin()).get(LIST))
    assert f"<h1><bdi>{TENANT}</bdi></h1>" in text
    assert f'href="{URL}"' in text


def test_pages_of_the_list_lead_on_and_back(store):
    store.put_all("TENANT_CONVERSATIONS", [item(f"conv-{number:03}") for number in range(70)])
    client = signed_in(admin())
    first = client.get(LIST)
    second = client.get(LIST + re.search(r'rel="next" href="([^"]+)"', text_of(first))[1])
    assert "conv-049" in text_of(first)
    assert "conv-069" in text_of(second)
    assert f'href="{LIST}"' in text_of(second)
    assert "No conversations" in text_of(client.get("/tenants/nobody/conversations/"))


def test_an_admin_reads_it_as_it_is_and_an_auditor_masked(store, talk):
    text = text_of(signed_in(admin()).get(URL))
    assert "what's the sprint status?" in text
    assert "+447700900123" in text
    assert "masked for your role" not in text
    assert f'href="{CLEAR}"' in text
    text = text_of(signed_in(auditor()).get(URL))
    assert "***-***-0123" in text
    assert "900123" not in text
    assert "masked for your role" in text
    assert CLEAR not in text
    assert trail(store) == ["transcript.opened"] * 2


def test_roles_without_tenants_or_without_conversations_are_refused(store, talk):
    for role in ("agent", "onboarding"):
        client = signed_in(member(f"some.{role}", role, [TENANT]))
        assert [client.get(url).status_code for url in (LIST, URL, CLEAR)] == [403, 403, 403]
        assert client.post(CLEAR, {"typed": CONVERSATION}).status_code == 403
    client = signed_in(auditor())
    assert client.get(CLEAR).status_code == client.post(CLEAR).status_code == 403
    assert store.all("TENANT_CONVERSATIONS")


def test_out_of_scope_is_answered_like_what_is_not_there_and_reads_nothing(store):
    store.put("TENANT_CONVERSATIONS", item(pk="other"))
    client = signed_in(member("lea.limited", "admin", [TENANT]))
    client.get("/")
    foreign, random = url_of(CONVERSATION, "other"), url_of("nothing", "nobody")
    with store.calls() as calls:
        for part in ("", "clear/"):
            one, other = client.get(foreign + part), client.get(random + part)
            assert (one.status_code, stable(one)) == (404, stable(other))
        one, other = client.post(foreign + "clear/"), client.post(random + "clear/")
        assert (one.status_code, stable(one)) == (404, stable(other))
        lists = [client.get(f"/tenants/{each}/conversations/") for each in ("other", "nobody")]
        assert [each.status_code for each in lists] == [404, 404]
        # A reference of theirs under our address.
        assert client.get(LIST + reference_of("other", CONVERSATION) + "/").status_code == 404
        assert client.post(LIST + reference_of("other", CONVERSATION) + "/clear/").status_code == 404
    assert not [call for call in calls if "TENANT_CONVERSATIONS" in call.tables]


def test_what_is_not_there_is_404(store):
    client = signed_in(admin())
    for url in (URL, CLEAR, f"{LIST}{seal('conversation', TENANT, CONVERSATION)}/", f"{LIST}x/"):
        assert client.get(url).status_code == 404
    assert trail(store) == []


@pytest.mark.parametrize(("url", "method"), [(LIST, "post"), (URL, "post"), (URL, "delete"), (CLEAR, "delete")])
def test_other_methods_are_refused(talk, url, method):
    assert getattr(signed_in(admin()), method)(url).status_code == 405


def test_a_prefetch_is_refused_and_not_recorded(store, talk):
    assert signed_in(admin()).get(URL, HTTP_SEC_PURPOSE="prefetch").status_code == 503
    assert trail(store) == []


def test_an_absent_table_is_a_designed_state(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")
    client = signed_in(admin())
    for url in (LIST, URL, CLEAR):
        answer = client.get(url)
        assert (answer.status_code, "This section is not available in this environment" in text_of(answer)) == (
            200,
            True,
        )


# --- The messages ----------------------------------------------------------------------------------------------------


def test_earlier_messages_come_as_a_page_and_as_a_fragment(store):
    store.put("TENANT_CONVERSATIONS", item(messages=[{"role": "user", "content": f"said {n};"} for n in range(1, 121)]))
    client = signed_in(admin())
    text = text_of(client.get(URL))
    assert "said 21;" in text
    assert "said 20;" not in text
    assert f'href="{URL}?before=21"' in text
    page, fragment = text_of(client.get(f"{URL}?before=21")), text_of(client.get(f"{URL}?before=21", **HTMX))
    for each in (page, fragment):
        assert "said 1;" in each
        assert "said 21;" not in each
    assert f'href="{URL}?before=121"' in page
    assert "<html" not in fragment


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ('[{"role": "user", "content": "<x-pwn>call +447700900123', "not valid JSON"),
        ('{"<x-pwn>": "+447700900123"}', "not a list of messages"),
        ({"text": "<x-pwn> +447700900123"}, "map instead of text"),
    ],
)
def test_messages_that_cannot_be_read_are_shown_as_stored(store, messages, words):
    store.put("TENANT_CONVERSATIONS", item(messages=messages))
    answer = signed_in(admin()).get(URL)
    assert words in text_of(answer)
    assert "+447700900123" in text_of(answer)
    assert b"<x-pwn" not in answer.content
    text = text_of(signed_in(auditor()).get(URL))
    assert words in text
    assert "***-***-0123" in text
    assert "7700900123" not in text


def test_one_bad_message_is_one_flagged_message(store):
    messages = [{"role": "user", "content": "before"}, ["<b>odd</b>"], {"role": "user", "content": "after", "id": 7}]
    store.put("TENANT_CONVERSATIONS", item(messages=messages, x_model="claude", ttl="soon"))
    text = text_of(signed_in(admin()).get(URL))
    for shown in ("before", "after", "not a message but a bare value", "unknown attributes: x_model"):
        assert shown in text
    assert "ttl: text instead of number" in text
    assert text.count("More of this message") == 1


# --- Clearing --------------------------------------------------------------------------------------------------------


def test_the_page_asks_and_shows_no_message(store, talk):
    text = text_of(signed_in(admin()).get(CLEAR))
    assert CONVERSATION in text
    assert "sprint status" not in text
    assert trail(store) == []


def test_clearing_removes_it_with_its_entry_and_leads_to_the_list(store, talk):
    client = signed_in(admin())
    answer = client.post(CLEAR, {"typed": f" {CONVERSATION} ", "seen": seen_in(client)}, follow=True)
    assert answer.redirect_chain == [(LIST, 302)]
    assert "The conversation is cleared." in text_of(answer)
    assert not store.all("TENANT_CONVERSATIONS")
    [entry] = [each for each in store.all("AUDIT") if each["action_type"] == "tenant_conversation.cleared"]
    assert (entry["actor"], json.loads(entry["action_payload_redacted"])["messages"]) == ("ada.admin", 2)
    assert "sprint status" not in repr(entry)
    trail_page = client.get(f"/audit/trails/{seal('trail', f'TENANT#{TENANT}')}/")
    assert f"Ada Admin cleared the conversation {CONVERSATION}" in text_of(trail_page)


def test_a_form_sent_twice_acts_once_and_says_so(store, talk):
    client = signed_in(admin())
    form = {"typed": CONVERSATION, "seen": seen_in(client)}
    client.post(CLEAR, form, follow=True)
    again = client.post(CLEAR, form, follow=True)
    assert again.redirect_chain == [(LIST, 302)]
    assert "There is nothing left to clear" in text_of(again)
    assert trail(store) == ["tenant_conversation.cleared"]
    assert client.get(CLEAR).status_code == 404


@pytest.mark.parametrize("typed", ["", " ", "conv-abc", "CONV-ABC-123", f"{CONVERSATION}\x00"])
def test_without_its_id_nothing_is_cleared(store, talk, typed):
    client = signed_in(admin())
    seen = seen_in(client)
    answer = client.post(CLEAR, {"typed": typed, "seen": seen})
    assert answer.status_code == 422
    assert f'value="{seen}"' in text_of(answer)
    assert "errorlist" in text_of(answer)
    assert store.all("TENANT_CONVERSATIONS")
    assert trail(store) == []


def test_the_id_to_type_is_the_one_that_is_shown(store):
    store.put("TENANT_CONVERSATIONS", item("wa  +447700900123"))
    client, url = signed_in(admin()), url_of("wa  +447700900123") + "clear/"
    text = text_of(client.get(url))
    assert "900123" not in text
    seen = re.search(r'name="seen" value="(\w+)"', text)[1]
    assert client.post(url, {"typed": "wa ***-***-0123", "seen": seen}).status_code == 302
    assert not store.all("TENANT_CONVERSATIONS")


def test_what_changed_meanwhile_is_shown_again_and_stays(store, talk):
    client = signed_in(admin())
    form = {"typed": CONVERSATION, "seen": seen_in(client)}
    store.update("TENANT_CONVERSATIONS", KEY, messages=json.dumps([{"role": "user", "content": "new"}]))
    answer = client.post(CLEAR, form)
    text = text_of(answer)
    assert answer.status_code == 409
    assert "This conversation changed in the meantime, so nothing was cleared" in text
    fresh = re.search(r'name="seen" value="(\w+)"', text)[1]
    assert fresh == seen_in(client) != form["seen"]
    assert store.all("TENANT_CONVERSATIONS")
    assert trail(store) == []
    assert client.post(CLEAR, form | {"seen": fresh}).status_code == 302


@pytest.mark.parametrize("seen", ["", "x", "é", "\x00"])
def test_a_form_that_says_nothing_of_what_was_seen_is_out_of_date(store, talk, seen):
    assert signed_in(admin()).post(CLEAR, {"typed": CONVERSATION, "seen": seen}).status_code == 409
    assert store.all("TENANT_CONVERSATIONS")


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (faults.fail_before, 503, "The console does not know whether it was cleared"),
        (faults.fail_after, 503, "The console does not know whether it was cleared"),
        (lambda name: faults.refuse(name, code="ThrottlingException", times=9), 429, "Nothing was cleared. Wait"),
    ],
)
def test_a_failure_keeps_the_form_and_says_what_is_known(store, talk, fault, status, words):
    client = signed_in(admin())
    form = {"typed": CONVERSATION, "seen": seen_in(client)}
    with fault("TransactWriteItems"):
        answer = client.post(CLEAR, form)
    assert (answer.status_code, words in text_of(answer)) == (status, True)
    assert answer.headers["Retry-After"]
    assert f'value="{form["seen"]}"' in text_of(answer)
    assert client.post(CLEAR, form).status_code == 302
    assert not store.all("TENANT_CONVERSATIONS")
    assert trail(store) == ["tenant_conversation.cleared"]


def test_without_a_trail_nothing_is_cleared_and_nothing_is_shown_raw(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "CONSOLE", "TENANT_CONVERSATIONS", "AUDIT")
    bare_store.put("TENANT_CONVERSATIONS", item())
    client = signed_in(admin())
    form = {"typed": CONVERSATION, "seen": seen_in(client)}
    bare_store.drop_table("AUDIT")
    answer = client.post(CLEAR, form)
    assert (answer.status_code, "so nothing was cleared" in text_of(answer)) == (503, True)
    assert "is not known" not in text_of(answer)
    assert bare_store.all("TENANT_CONVERSATIONS")
    text = text_of(client.get(URL))
    assert "7700900123" not in text
    assert "***-***-0123" in text
    # What is known to be read-only actions nothing to send.
    assert CLEAR not in text
    assert "<form class=" not in text_of(client.get(CLEAR))
