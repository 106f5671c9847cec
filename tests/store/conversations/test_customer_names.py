"""Who a customer is, in lists, queue and headings: a name and a hint for who reads transcripts, a mask for others."""

import html
import re

import pytest

from console.permissions import ROLE_PERMISSIONS, Permission, Role, Scope, Staff
from console.provisioning.definition import create_table_request
from console.refs import seal
from console.schema.tables import RECIPIENT_NAMES
from console.store import presence
from console.store.calls import table_name
from console.store.connection import note_absent
from conversations.companies import register
from conversations.converting import customer_of
from conversations.models import Conversation
from tests.answers import text_of
from tests.dynamodb import to_dynamodb
from tests.items import conversation, key_of, url_of
from tests.people import admin, auditor, member, signed_in
from tests.queue import filled
from tests.store.conversations.queue_index.test_queue_index import waiting

EMAIL = "rosa.lindqvist@uni.example"


def staff(role: Role = Role.AGENT) -> Staff:
    return Staff("ana", "Ana", role, Scope(everything=True))


def called(primary_channel: str, first_name: object = ..., role: Role = Role.AGENT) -> str:
    stored = conversation(primary_channel=primary_channel, recipient_first_name=first_name)
    return customer_of(Conversation.from_raw_data(to_dynamodb(stored)), staff(role))


@pytest.mark.parametrize(
    ("primary_channel", "name", "shown"),
    [
        (EMAIL, "Rosa", "Rosa · r…@uni.example"),
        (EMAIL, ..., "r…@uni.example"),
        ("+447700900123", "Rosa", "Rosa · ***-***-0123"),
        ("+447700900123", None, "***-***-0123"),
        ("7@x.example", " Anne-Marie O’Neill ", "Anne-Marie O’Neill · 7…@x.example"),
        ("élise@münchen.example", "Élise", "Élise · é…@münchen.example"),
        ("a@b.example", "अनन्या", "अनन्या · a…@b.example"),
        ("a@b.example", "ทิพย์", "ทิพย์ · a…@b.example"),
        ("a@b.example", "أحمد", "\u2068أحمد\u2069 · a…@b.example"),
    ],
)
def test_who_reads_transcripts_sees_a_first_name_and_where_an_address_is(primary_channel, name, shown):
    assert called(primary_channel, name) == called(primary_channel, name, Role.ADMIN) == shown


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "  ",
            7,
            True,
            ["Rosa"],
            {"a": "Rosa"},
            "R0sa",
            "+447700900123",
            EMAIL,
            "x" * 41,
            "Rosa\nLee",
            "<b>Rosa</b>",
        ),
        *(
            "\u202eRosa",
            "Rosa\u0000",
            "--",
            ".",
            "Rosa_Lee",
            "{first_name}",
            "1",
            "Rosa, call 07700",
            "Rosa\u2066",
            "٠٧٧",
        ),
    ],
)
def test_what_is_no_name_is_not_shown(name):
    assert called("+447700900123", name) == "***-***-0123"


@pytest.mark.parametrize(
    "address",
    [
        *(
            "@uni.example",
            "rosa@",
            "rosa@uni",
            "rosa@@uni.example",
            "rosa lind@uni.example",
            "rosa@uni.example, b@c.example",
        ),
        *(
            "rosa@[10.0.0.1]",
            "_x@uni.example",
            "rosa@uni..example",
            "rosa@uni.example\u202e",
            "<b>@uni.example",
            "a@" + "x" * 250 + ".de",
        ),
        *("rosa@447700900123.example.com\n",),
    ],
)
def test_what_is_no_address_is_masked_whole(address):
    assert called(address) == "***@***"


def test_only_roles_that_read_transcripts_see_it():
    for role in Role:
        shown = called(EMAIL, "Rosa", role)
        assert shown == ("Rosa · r…@uni.example" if Permission.TRANSCRIPT_RAW in ROLE_PERMISSIONS[role] else "***@***")


def test_without_a_trail_nobody_sees_it():
    note_absent(table_name("AUDIT"))
    assert called(EMAIL, "Rosa") == "***@***"


@pytest.fixture
def rosa(store):
    """A customer over email who waits, in a queue whose index is filled."""
    filled(store)
    register("ci-aaa-001", "Cucumber", "demo", "2026-01-01T00:00:00Z")
    item = waiting(
        9,
        primary_channel=EMAIL,
        recipient_email=EMAIL,
        recipient_tel=None,
        gsi_recipient_tel=...,
        recipient_first_name="Rosa",
        recipient_last_name="Lindqvist",
        channel_method="email",
    )
    store.put("CONVERSATIONS", item)
    return item


def pages(item) -> list[str]:
    here = url_of(item)
    return [
        here,
        f"{here}timeline/",
        f"/conversations/recipients/{seal('recipient', EMAIL)}/",
        "/conversations/companies/ci-aaa-001/?order=project",
        "/conversations/companies/ci-aaa-001/",
        "/queue/",
    ]


@pytest.mark.slow
def test_lists_the_queue_and_headings_say_it_to_agents_and_not_to_auditors(store, rosa):
    for page in pages(rosa):
        for who in (member(), admin()):
            text = html.unescape(signed_in(who).get(page).content.decode())
            assert "r…@uni.example" in text, page
            assert "Rosa · r…@uni.example" in re.sub(r"<[^>]+>", "", text), page
            assert EMAIL not in text, page
            assert who.role == "admin" or "***@***" not in text, page
            title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)[1]
            assert "Rosa" not in title, "a browser keeps titles in its history"
            assert "uni.example" not in title
        if page != "/queue/":
            masked = html.unescape(signed_in(auditor()).get(page).content.decode())
            assert "***@***" in masked, page
            assert "uni.example" not in masked, page
            assert "Rosa" not in masked, page


def test_search_and_the_page_of_a_lost_race_say_it_too(store, rosa):
    here = url_of(rosa)
    client = signed_in(member())
    intent = re.search(r'name="intent" value="([^"]+)"', client.get(here).content.decode())[1]
    key = key_of(rosa)
    store.update("CONVERSATIONS", key, hand_off_agent="tom.becker", hand_off_action_id="f" * 32)
    lost = client.post(f"{here}hand-off/", {"intent": intent})
    assert lost.status_code == 409
    assert "Rosa · r…@uni.example" in text_of(lost)
    found = client.post("/search/", {"typed": rosa["conversation_id"]}, follow=True)
    assert "Rosa · r…@uni.example" in text_of(found)


PAGES = ("/queue/", "/conversations/companies/ci-aaa-001/")


@pytest.mark.parametrize("index", ["hand-off-queue-index", "company-id-updated-at-index"])
def test_an_index_of_earlier_days_which_lacks_the_names_counts_as_absent(store, rosa, index):
    """DynamoDB refuses to read from an index what it does not project, so that pages must not ask it."""
    request = create_table_request("CONVERSATIONS")
    for each in request["GlobalSecondaryIndexes"]:
        if each["IndexName"] == index:
            attributes = each["Projection"]["NonKeyAttributes"]
            attributes[:] = [name for name in attributes if name not in RECIPIENT_NAMES]
    store.drop_table("CONVERSATIONS")
    store.client.create_table(**request)
    store.put("CONVERSATIONS", rosa)
    presence.forget()
    try:
        assert presence.index_absent("CONVERSATIONS", index)
        pages = {page: html.unescape(signed_in(member()).get(page).content.decode()) for page in PAGES}
        if index == "hand-off-queue-index":
            assert f"The queue needs the index {index}, which is missing or incomplete" in pages.pop("/queue/")
        for shown in pages.values():
            assert "r…@uni.example" in shown
            # In memory the index answers, without what it lacks.
            assert "Rosa" in shown or store.embedded
    finally:
        store.drop_table("CONVERSATIONS")
        store.create_tables("CONVERSATIONS")
        presence.forget()
