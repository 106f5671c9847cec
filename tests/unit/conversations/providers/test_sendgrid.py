"""SendGrid's adapter against a server that speaks SendGrid's API."""

import html
import json
import logging
import re
import socket
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from conversations.providers import (
    CannotAsk,
    CredentialsRejected,
    Delivery,
    DeliveryState,
    NoAnswer,
    NotReached,
    Outgoing,
    Rejected,
    sendgrid,
)
from conversations.providers.emails import as_html
from conversations.providers.sendgrid import SendGrid
from demo.provider import SENDGRID_KEY, ProviderFault
from tests.unit.conversations.providers.conftest import says_nothing

SECRET = {
    "sendgrid_auth_value": SENDGRID_KEY,
    "sendgrid_from_email": "desk@example.com",
    "sendgrid_from_name": "The Desk",
}
CUSTOMER = "customer@example.com"
TEXT = "Dear <Sam>,\n\nyour table at the harbour\nis booked & paid."


def outgoing(reply_id: str = "reply-1", recipient: str = CUSTOMER, sender: str = "", **more) -> Outgoing:
    more = {"subject": "Your table", "begun_at": clock.now(), **more}
    return Outgoing(reply_id, "email", sender, recipient, TEXT, **more)


def said(status: int, headers=None, accepts=False) -> ProviderFault:
    body = {"errors": [{"message": f"{CUSTOMER} {TEXT} is wrong", "field": "x"}]}
    return ProviderFault(accepts, status, headers or {}, json.dumps(body).encode())


def sent(provider) -> dict:
    [kept] = provider.messages()
    return kept["request"]


class TestSend:
    def test_an_email_goes_out_as_text_and_as_html(self, provider):
        name = SendGrid(SECRET).send(outgoing())
        assert provider.messages()[0]["id"] == name
        assert sent(provider) == {
            "personalizations": [{"to": [{"email": CUSTOMER}], "custom_args": {"reply_id": "reply-1"}}],
            "from": {"email": "desk@example.com", "name": "The Desk"},
            "subject": "Your table",
            "content": [
                {"type": "text/plain", "value": TEXT},
                {
                    "type": "text/html",
                    "value": "<p>Dear &lt;Sam&gt;,</p><p>your table at the harbour<br>is booked &amp; paid.</p>",
                },
            ],
        }

    def test_the_companys_own_address_goes_before_the_secrets(self, provider):
        SendGrid(SECRET | {"sendgrid_from_name": None}).send(outgoing(sender="sam@example.com"))
        assert sent(provider)["from"] == {"email": "sam@example.com"}

    def test_a_key_may_have_its_prefix_already(self, provider):
        SendGrid({**SECRET, "sendgrid_auth_value": f"Bearer {SENDGRID_KEY}"}).send(outgoing())
        assert sent(provider)

    def test_line_breaks_stay_out_of_subject_and_name(self, provider):
        SendGrid({**SECRET, "sendgrid_from_name": "a\r\nBcc: b"}).send(outgoing(subject="Hello\r\nBcc: c\tyou"))
        assert sent(provider)["subject"] == "Hello Bcc: c you"
        assert sent(provider)["from"]["name"] == "a Bcc: b"

    @pytest.mark.parametrize(
        ("answers", "headers"),
        [
            ((), None),
            (("<a@b>",), {"In-Reply-To": "<a@b>", "References": "<a@b>"}),
            (("<a@b>", "<c@d>", "<a@b>"), {"In-Reply-To": "<c@d>", "References": "<a@b> <c@d>"}),
            (("<a@b>", "<x@y>\r\nBcc: <e@f>", "<g h@i>", "j@k", "<l@m", "", "<>", "<ä@b>"), "first"),
            (tuple(f"<{number}@x>" for number in range(50)), "cut"),
            (("<" + "a" * 300 + "@b>",), None),
        ],
    )
    def test_it_belongs_to_the_thread_that_it_answers(self, provider, answers, headers):
        SendGrid(SECRET).send(outgoing(answers=answers))
        found = sent(provider).get("headers")
        if headers == "first":
            headers = {"In-Reply-To": "<a@b>", "References": "<a@b>"}
        if headers == "cut":
            kept = ["<0@x>", *(f"<{number}@x>" for number in range(31, 50))]
            headers = {"In-Reply-To": "<49@x>", "References": " ".join(kept)}
        assert found == headers

    @pytest.mark.slow
    @given(st.lists(st.text(max_size=30) | st.from_regex(r"<[^<>]*>", fullmatch=True), max_size=30))
    def test_no_id_can_end_a_header(self, answers):
        for value in sendgrid._thread(tuple(answers)).values():
            assert value.isascii()
            assert value.isprintable()
            assert len(value) < 6_000


class Markup(HTMLParser):
    """Every tag of a text, and what stands between them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.tags |= {str(each) for each in attrs}

    def handle_decl(self, decl):
        self.tags.add(decl)

    handle_pi = unknown_decl = handle_comment = handle_decl

    def handle_data(self, data):
        self.words += data

    def handle_entityref(self, name):
        self.words += html.unescape(f"&{name};")

    def handle_charref(self, name):
        self.words += html.unescape(f"&#{name};")


@given(st.text() | st.text("<>&;\"'#x1a/!-?[] \n\r\u2028") | st.from_regex(r"<(script|img|a|p|br)[^>]{0,9}>?\n*"))
def test_nothing_of_a_text_becomes_markup_and_nothing_is_lost(text):
    parsed = Markup()
    parsed.feed(as_html(text))
    parsed.close()
    assert parsed.tags <= {"p", "br"}
    assert re.sub(r"\s", "", parsed.words) == re.sub(r"\s", "", text)


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "error"),
        [
            *((status, Rejected) for status in (400, 404, 413, 418)),
            *((status, CredentialsRejected) for status in (401, 403)),
        ],
    )
    def test_what_is_refused_is_refused_in_words_of_ours(self, provider, status, error):
        provider.fault = lambda *_: said(status)
        with pytest.raises(Rejected) as raised:
            SendGrid(SECRET).send(outgoing())
        assert type(raised.value) is error
        assert raised.value.code == str(status)
        assert raised.value.words.endswith(".")
        says_nothing(raised.value, SENDGRID_KEY)
        assert not provider.messages()

    @pytest.mark.parametrize(("headers", "seconds"), [({"Retry-After": "30"}, 30), ({}, 1), ({"Retry-After": "-1"}, 1)])
    def test_a_busy_provider_says_when_to_come_again(self, provider, headers, seconds):
        provider.fault = lambda *_: said(429, headers)
        with pytest.raises(NotReached) as raised:
            SendGrid(SECRET).send(outgoing())
        assert raised.value.retry_after == seconds

    @pytest.mark.slow
    @pytest.mark.parametrize("accepts", [True, False])
    @pytest.mark.parametrize(
        "fault",
        [
            {},
            {"status": 500, "body": b"{}"},
            {"status": 503, "body": b"<html>"},
            {"status": 202},
            {"status": 202, "headers": {"X-Message-Id": "a b"}},
            {"status": 200, "headers": {"X-Message-Id": "abc"}},
            {"status": 307, "headers": {"Location": "http://127.0.0.1:9/"}},
            {"status": 202, "headers": {"X-Message-Id": "abc"}, "body": b"{}", "drip": 0.6},
            {"status": 400, "body": b"{}", "drip": 0.6},
        ],
    )
    def test_whatever_is_no_answer_is_told_as_none_and_the_email_is_sent_once(
        self, provider, monkeypatch, fault, accepts
    ):
        asked = []
        provider.fault = lambda method, *_: (
            (asked.append(method), ProviderFault(accepts, **fault))[1] if method == "POST" else None
        )
        # Not for what is asked afterwards, which a busy machine may take longer to answer.
        with monkeypatch.context() as impatient:
            impatient.setattr(sendgrid, "TIMEOUT_SECONDS", 0.3)
            with pytest.raises(NoAnswer) as raised:
                SendGrid(SECRET).send(outgoing())
        says_nothing(raised.value, SENDGRID_KEY)
        assert asked == ["POST"]
        kept = provider.messages()
        long_ago = outgoing(begun_at=clock.now() - sendgrid.ACTIVITY_LAG)
        assert SendGrid(SECRET).find(long_ago) == (kept[0]["id"] if accepts else None)
        assert len(kept) == accepts

    @pytest.mark.slow
    def test_an_answer_that_does_not_come_in_time_is_none(self, settings, monkeypatch):
        monkeypatch.setattr(sendgrid, "TIMEOUT_SECONDS", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            settings.SENDGRID_API_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(NoAnswer):
                SendGrid(SECRET).send(outgoing())

    @pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://nowhere.invalid"])
    def test_what_was_never_connected_was_not_reached(self, settings, url):
        settings.SENDGRID_API_URL = url
        for call in (lambda: SendGrid(SECRET).send(outgoing()), lambda: SendGrid(SECRET).find(outgoing())):
            with pytest.raises(NotReached) as raised:
                call()
            says_nothing(raised.value, SENDGRID_KEY)

    def test_a_server_that_is_not_the_provider_gets_nothing(self, settings, untrusted):
        settings.SENDGRID_API_URL = untrusted
        with pytest.raises(NotReached):
            SendGrid(SECRET).send(outgoing())

    @pytest.mark.parametrize("value", [None, "", 7, "a\nX: harbour", "härbour"])
    def test_an_unusable_secret_is_said_before_anything_is_sent(self, provider, value):
        with pytest.raises(CredentialsRejected) as raised:
            SendGrid({**SECRET, "sendgrid_auth_value": value})
        says_nothing(raised.value)

    def test_an_email_from_nobody_is_not_sent(self, provider):
        with pytest.raises(CredentialsRejected):
            SendGrid({**SECRET, "sendgrid_from_email": None}).send(outgoing())
        assert not provider.messages()

    def test_nothing_is_logged(self, provider, caplog):
        caplog.set_level(logging.DEBUG)
        SendGrid(SECRET).send(outgoing())
        with pytest.raises(Rejected):
            SendGrid(SECRET).send(outgoing(recipient="refused@example.com"))
        assert caplog.text == ""


class TestActivity:
    def test_an_email_is_found_by_its_reply(self, provider):
        adapter = SendGrid(SECRET)
        name = adapter.send(outgoing())
        assert adapter.find(outgoing()) == name
        assert adapter.find(outgoing("reply-2", begun_at=clock.now() - sendgrid.ACTIVITY_LAG)) is None

    def test_an_email_that_may_yet_turn_up_is_not_said_to_be_missing(self, provider):
        with pytest.raises(NoAnswer):
            SendGrid(SECRET).find(outgoing())

    @pytest.mark.parametrize(
        ("recipient", "seconds", "state"),
        [
            (CUSTOMER, 0, DeliveryState.SENT),
            (CUSTOMER, 2, DeliveryState.DELIVERED),
            ("late@example.com", 2, DeliveryState.FAILED),
        ],
    )
    def test_what_became_of_it_follows_the_provider(self, provider, monkeypatch, recipient, seconds, state):
        adapter, now = SendGrid(SECRET), clock.now()
        monkeypatch.setattr(clock, "now", lambda: now)
        name = adapter.send(outgoing(recipient=recipient))
        monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=seconds))
        assert adapter.delivery(name).state is state
        assert bool(adapter.delivery(name).words) == (state is DeliveryState.FAILED)

    def test_what_is_not_shown_yet_was_sent(self, provider):
        assert SendGrid(SECRET).delivery("unknown") == Delivery(DeliveryState.SENT)

    @pytest.mark.parametrize("status", [400, 401, 403, 404])
    def test_an_account_without_it_cannot_be_asked(self, provider, status):
        provider.fault = lambda *_: said(status)
        for call in (lambda: SendGrid(SECRET).find(outgoing()), lambda: SendGrid(SECRET).delivery("abc")):
            with pytest.raises(CannotAsk) as raised:
                call()
            says_nothing(raised.value, SENDGRID_KEY)

    @pytest.mark.parametrize(
        "body", [b"", b"[]", b"{}", b'{"messages": 7}', b'{"messages": {"a": 1}}', b'{"messages": [7]}', b"[" * 99_999]
    )
    def test_what_cannot_be_read_is_no_answer(self, provider, body):
        provider.fault = lambda *_: ProviderFault(status=200, body=body)
        with pytest.raises(NoAnswer):
            SendGrid(SECRET).find(outgoing())

    def test_nothing_can_be_put_into_a_query(self, provider):
        asked = []
        provider.fault = lambda *asking: asked.append(asking)
        for name in ("a' OR '1'='1", 'a"', "a%", ""):
            with pytest.raises(CannotAsk):
                SendGrid(SECRET).delivery(name)
            with pytest.raises(CannotAsk):
                SendGrid(SECRET).find(outgoing(name))
        assert not asked

    def test_there_are_no_templates(self):
        with pytest.raises(CannotAsk):
            SendGrid(SECRET).template("d-1")
