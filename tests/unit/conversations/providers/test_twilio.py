"""Twilio's adapter against a server that speaks Twilio's API: what it says of each answer, and of none."""

import json
import logging
import socket
from dataclasses import replace
from datetime import timedelta

import pytest

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
    twilio,
    twilio_http,
)
from conversations.providers.twilio import Twilio
from demo.provider import ACCOUNT, TEMPLATE, TOKEN, ProviderFault
from tests.unit.conversations.providers.conftest import CUSTOMER, LANDLINE, LATE, OPTED_OUT, says_nothing

SECRET = {"twilio_account_sid": ACCOUNT, "twilio_auth_token": TOKEN}
OURS = "+447700900001"
TEXT = "Your table at the harbour is booked."


def outgoing(recipient: str = CUSTOMER, channel: str = "whatsapp", text: str = TEXT, **more) -> Outgoing:
    return Outgoing("reply-1", channel, OURS, recipient, text, **{"begun_at": clock.now(), **more})


def said(status: int, code: object = None, headers=None, accepts=False) -> ProviderFault:
    """An answer with Twilio's error JSON, whose words quote what must not be repeated."""
    body = {"code": code, "message": f"The number {CUSTOMER} with {TEXT}", "status": status}
    return ProviderFault(accepts, status, headers or {}, json.dumps(body).encode())


@pytest.mark.parametrize(("channel", "prefix"), [("whatsapp", "whatsapp:"), ("sms", "")])
def test_a_message_goes_out_with_the_prefix_of_its_channel(provider, channel, prefix):
    sid = Twilio(SECRET).send(outgoing(channel=channel))
    [message] = provider.messages()
    assert message["id"] == sid
    assert message["request"] == {"To": prefix + CUSTOMER, "From": prefix + OURS, "Body": TEXT}


def test_a_prefix_that_stands_in_the_configuration_is_not_doubled(provider):
    Twilio(SECRET).send(Outgoing("reply-1", "whatsapp", f"whatsapp:{OURS}", CUSTOMER, TEXT, clock.now()))
    assert provider.messages()[0]["from"] == f"whatsapp:{OURS}"


def test_a_template_goes_out_with_its_variables_and_is_found_by_what_it_then_says(provider):
    message = outgoing(text="rendered elsewhere", template=TEMPLATE, variables={"1": "Ben", "2": "your {{1}} £5"})
    sid = Twilio(SECRET).send(message)
    [kept] = provider.messages()
    assert "Body" not in kept["request"]
    assert kept["request"]["ContentSid"] == TEMPLATE
    assert json.loads(kept["request"]["ContentVariables"]) == {"1": "Ben", "2": "your {{1}} £5"}
    assert Twilio(SECRET).find(outgoing(text=kept["text"], template=TEMPLATE)) == sid


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        (said(401, 20003), CredentialsRejected, "20003"),
        (said(403, 20403), CredentialsRejected, "20403"),
        (ProviderFault(status=403, body=b"<html>"), CredentialsRejected, "403"),
        (said(400, 20003), CredentialsRejected, "20003"),
        (said(403, 21408), Rejected, "21408"),
        (said(400, 21211), Rejected, "21211"),
        (said(400, 63016), Rejected, "63016"),
        (said(400, 12345), Rejected, "12345"),
        (said(400, int(CUSTOMER[1:])), Rejected, "400"),
        (said(400, {"a": CUSTOMER}), Rejected, "400"),
        (ProviderFault(status=404, body=b"[1, 2"), Rejected, "404"),
        (ProviderFault(status=413, body=b"[" * 50_000), Rejected, "413"),
    ],
)
def test_what_is_refused_is_refused_with_a_code_and_words_of_ours(provider, fault, error, code):
    provider.fault = lambda *_: fault
    with pytest.raises(Rejected) as raised:
        Twilio(SECRET).send(outgoing())
    assert type(raised.value) is error
    assert raised.value.code == code
    assert raised.value.words == twilio_http.WORDS.get(
        "20003" if error is CredentialsRejected else code, f"Twilio could not deliver the message (code {code})."
    )
    says_nothing(raised.value, TOKEN, ACCOUNT)
    assert not provider.messages()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7), ({}, 1), ({"Retry-After": "soon"}, 1), ({"Retry-After": "9" * 30}, 1)],
)
@pytest.mark.parametrize(("status", "code"), [(429, None), (429, 20429), (400, 20429)])
def test_a_busy_provider_says_when_to_come_again(provider, status, code, headers, seconds):
    provider.fault = lambda *_: said(status, code, headers)
    with pytest.raises(NotReached) as raised:
        Twilio(SECRET).send(outgoing())
    assert raised.value.retry_after == seconds
    says_nothing(raised.value, TOKEN, ACCOUNT)


@pytest.mark.slow
@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize(
    "fault",
    [
        {},
        {"status": 500, "body": b'{"code": 20500}'},
        {"status": 503, "body": b"<html>"},
        {"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}},
        {"status": 201, "body": b'{"sid": "SM'},
        {"status": 201, "body": b"<html>"},
        {"status": 201, "body": b""},
        {"status": 201, "body": b"[]"},
        {"status": 201, "body": b"null"},
        {"status": 201, "body": b'{"sid": ""}'},
        {"status": 201, "body": b'{"sid": {"a": 1}}'},
        {"status": 201, "body": b"[" * 100_000},
        {"status": 201, "body": b'{"sid": "SM1"}', "drip": 0.5},
        {"status": 201, "body": b'{"sid": "SM1", "status": "queued"}', "drip": 0.05},
    ],
)
def test_whatever_is_no_answer_is_told_as_none_and_the_message_is_sent_once(provider, monkeypatch, fault, accepts):
    asked = []
    provider.fault = lambda method, *_: (
        (asked.append(method), ProviderFault(accepts, **fault))[1] if method == "POST" else None
    )
    message = outgoing()
    # Not for what is asked afterwards, which a busy machine may take longer to answer.
    with monkeypatch.context() as impatient:
        impatient.setattr(twilio_http, "TIMEOUTS", (1.0, 0.3))
        impatient.setattr(twilio_http, "LONGEST_ANSWER_SECONDS", 0.5)
        with pytest.raises(NoAnswer) as raised:
            Twilio(SECRET).send(message)
    says_nothing(raised.value, TOKEN, ACCOUNT)
    assert asked == ["POST"]
    kept = provider.messages()
    assert Twilio(SECRET).find(message) == (kept[0]["id"] if accepts else None)
    assert len(kept) == accepts


@pytest.mark.slow
def test_an_answer_that_does_not_end_in_time_is_none(provider, monkeypatch):
    monkeypatch.setattr(twilio_http, "TIMEOUTS", (1.0, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr("django.conf.settings.TWILIO_API_URL", settings_url)
        with pytest.raises(NoAnswer) as raised:
            Twilio(SECRET).send(outgoing())
    says_nothing(raised.value, TOKEN, ACCOUNT)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://nowhere.invalid", "http://", "nowhere"])
def test_what_was_never_connected_was_not_reached(settings, url):
    settings.TWILIO_API_URL = url
    for call in (lambda: Twilio(SECRET).send(outgoing()), lambda: Twilio(SECRET).find(outgoing())):
        with pytest.raises(NotReached) as raised:
            call()
        assert raised.value.retry_after == 0
        says_nothing(raised.value, TOKEN, ACCOUNT)


def test_a_server_that_is_not_the_provider_gets_nothing(settings, untrusted):
    settings.TWILIO_API_URL = untrusted
    with pytest.raises(NotReached):
        Twilio(SECRET).send(outgoing())


@pytest.mark.slow
def test_a_connection_that_is_not_made_in_time_was_not_reached(monkeypatch, settings):
    monkeypatch.setattr(twilio_http, "TIMEOUTS", (0.2, 1.0))
    # A queue of one that is full: nobody answers, and nobody refuses.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        settings.TWILIO_API_URL = f"http://127.0.0.1:{full.getsockname()[1]}"
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        with pytest.raises(NotReached):
            Twilio(SECRET).send(outgoing())
        for each in waiting:
            each.close()


@pytest.mark.parametrize(
    "secret",
    [
        {},
        {"twilio_account_sid": ACCOUNT},
        {"twilio_auth_token": TOKEN},
        {"twilio_account_sid": ACCOUNT, "twilio_auth_token": 7},
        {"twilio_account_sid": ["AC"], "twilio_auth_token": TOKEN},
        {"twilio_account_sid": ACCOUNT, "twilio_auth_token": "a\r\nX: harbour"},
        {"twilio_account_sid": ACCOUNT, "twilio_auth_token": "härbour"},
        {"twilio_account_sid": "../harbour", "twilio_auth_token": TOKEN},
    ],
)
def test_an_unusable_secret_is_said_before_anything_is_sent(provider, secret):
    with pytest.raises(CredentialsRejected) as raised:
        Twilio(secret)
    assert raised.value.words.endswith(".")
    says_nothing(raised.value, TOKEN, ACCOUNT)


def test_wrong_credentials_are_told_by_every_call(provider):
    wrong = Twilio({**SECRET, "twilio_auth_token": "wrong-token"})
    for call in (
        lambda: wrong.send(outgoing()),
        lambda: wrong.find(outgoing()),
        lambda: wrong.delivery("SM1"),
        lambda: wrong.template(TEMPLATE),
    ):
        with pytest.raises(CredentialsRejected) as raised:
            call()
        says_nothing(raised.value, "wrong-token", ACCOUNT)


def test_characters_that_have_no_bytes_are_refused_before_they_are_sent(provider):
    with pytest.raises(Rejected):
        Twilio(SECRET).send(outgoing(text="\ud800"))
    assert not provider.messages()


def test_nothing_is_logged(provider, caplog):
    caplog.set_level(logging.DEBUG)
    Twilio(SECRET).send(outgoing())
    Twilio(SECRET).find(outgoing())
    with pytest.raises(Rejected):
        Twilio(SECRET).send(outgoing(OPTED_OUT))
    assert caplog.text == ""


class TestFind:
    def test_nothing_is_found_where_nothing_was_sent(self, provider):
        assert Twilio(SECRET).find(outgoing()) is None

    def test_other_texts_numbers_and_earlier_messages_are_not_it(self, provider, monkeypatch):
        adapter, now = Twilio(SECRET), clock.now()
        monkeypatch.setattr(clock, "now", lambda: now - timedelta(minutes=11))
        adapter.send(outgoing())
        monkeypatch.setattr(clock, "now", lambda: now)
        adapter.send(outgoing(text="Something else"))
        adapter.send(outgoing("+447700900999"))
        adapter.send(outgoing(channel="sms"))
        assert len(provider.messages()) == 4
        assert adapter.find(outgoing(begun_at=now)) is None

    def test_of_equal_ones_it_is_the_first_since_sending_began_whatever_its_blanks(self, provider, monkeypatch):
        adapter, now, sids = Twilio(SECRET), clock.now(), []
        for seconds in (-60, -4, 2, 3):
            monkeypatch.setattr(clock, "now", lambda at=seconds: now + timedelta(seconds=at))
            sids.append(adapter.send(outgoing(text=f" {TEXT.replace(' ', '  ')}\n")))
        assert adapter.find(outgoing(begun_at=now)) == sids[1]

    @pytest.mark.parametrize("seconds", [-300, 0, 300])
    def test_it_is_looked_for_in_the_providers_own_time(self, provider, monkeypatch, seconds):
        """By its `Date`: of equal ones, it is the first after its sending began, and not one of a minute before."""
        provider.ahead = timedelta(seconds=seconds)
        adapter, now, sids = Twilio(SECRET), clock.now(), []
        for at in (-60, 1, 60):
            monkeypatch.setattr(clock, "now", lambda at=at: now + timedelta(seconds=at))
            sids.append(adapter.send(outgoing()))
        assert Twilio(SECRET).find(outgoing(begun_at=now)) == sids[1]

    @pytest.mark.parametrize(("minutes", "is_found"), [(9, True), (-9, True), (-11, False)])
    def test_it_is_found_though_another_machine_began_at_another_time(self, provider, minutes, is_found):
        adapter, began = Twilio(SECRET), clock.now() - timedelta(minutes=minutes)
        sid = adapter.send(outgoing())
        assert adapter.find(outgoing(begun_at=began)) == (sid if is_found else None)
        assert adapter.find(outgoing(begun_at=began, others=frozenset({sid}))) is None

    def test_of_equal_ones_of_one_second_it_is_the_first(self, provider, monkeypatch):
        now = clock.now()
        monkeypatch.setattr(clock, "now", lambda: now)
        adapter = Twilio(SECRET)
        sids = [adapter.send(outgoing()) for _ in range(3)]
        assert adapter.find(outgoing(begun_at=now)) == sids[0]

    def test_what_failed_is_found_too(self, provider, monkeypatch):
        adapter, now = Twilio(SECRET), clock.now()
        sid = adapter.send(outgoing(LATE))
        monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=9))
        assert adapter.delivery(sid).state is DeliveryState.FAILED
        assert adapter.find(outgoing(LATE, begun_at=now)) == sid

    def test_it_is_found_around_midnight(self, provider, monkeypatch):
        midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        monkeypatch.setattr(clock, "now", lambda: midnight - timedelta(seconds=1))
        sid = Twilio(SECRET).send(outgoing())
        assert Twilio(SECRET).find(outgoing(begun_at=midnight + timedelta(seconds=1))) == sid

    def test_it_is_found_behind_many_others_and_not_looked_for_without_end(self, provider, monkeypatch):
        monkeypatch.setattr(twilio, "LOOKED_AT", 20)
        monkeypatch.setattr(twilio, "PAGE", 10)
        adapter, message = Twilio(SECRET), outgoing()
        sid = adapter.send(message)
        for number in range(15):
            adapter.send(outgoing(text=f"No. {number}"))
        assert adapter.find(message) == sid
        for number in range(5):
            adapter.send(outgoing(text=f"Another {number}"))
        with pytest.raises(CannotAsk):
            adapter.find(message)
        # Messages from before the time that is looked at matter to nobody.
        assert adapter.find(replace(message, begun_at=message.begun_at + timedelta(minutes=11))) is None

    @pytest.mark.parametrize(
        "body", [b"", b"[]", b"{}", b'{"messages": 7}', b'{"messages": [7]}', b'{"messages": [{"sid": []}]}', b"[" * 99]
    )
    def test_a_list_that_cannot_be_read_is_no_answer(self, provider, body):
        provider.fault = lambda *_: ProviderFault(status=200, body=body)
        if body == b'{"messages": [{"sid": []}]}':
            assert Twilio(SECRET).find(outgoing()) is None
            return
        with pytest.raises(NoAnswer):
            Twilio(SECRET).find(outgoing())


class TestDelivery:
    @pytest.mark.parametrize(
        ("recipient", "channel", "seconds", "expected"),
        [
            (CUSTOMER, "whatsapp", 0, Delivery(DeliveryState.SENT)),
            (CUSTOMER, "whatsapp", 2, Delivery(DeliveryState.DELIVERED)),
            (CUSTOMER, "whatsapp", 4, Delivery(DeliveryState.READ)),
            (CUSTOMER, "sms", 4, Delivery(DeliveryState.DELIVERED)),
            (LANDLINE, "sms", 0, Delivery(DeliveryState.SENT)),
            (LANDLINE, "sms", 2, Delivery(DeliveryState.FAILED, "30006", twilio_http.WORDS["30006"])),
            (LATE, "whatsapp", 2, Delivery(DeliveryState.FAILED, "63016", twilio_http.WORDS["63016"])),
        ],
    )
    def test_it_follows_the_provider(self, provider, monkeypatch, recipient, channel, seconds, expected):
        adapter, now = Twilio(SECRET), clock.now()
        monkeypatch.setattr(clock, "now", lambda: now)
        sid = adapter.send(outgoing(recipient, channel))
        monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=seconds))
        assert adapter.delivery(sid) == expected

    @pytest.mark.parametrize("status", ["queued", "accepted", "scheduled", "sending", "sent", "new one"])
    def test_what_is_on_its_way_or_unknown_was_sent(self, provider, status):
        provider.fault = lambda *_: ProviderFault(
            status=200, body=json.dumps({"sid": "SM1", "status": status}).encode()
        )
        assert Twilio(SECRET).delivery("SM1") == Delivery(DeliveryState.SENT)

    def test_a_failure_with_a_strange_code_is_said_in_general_words(self, provider):
        body = json.dumps({"sid": "SM1", "status": "failed", "error_code": CUSTOMER}).encode()
        provider.fault = lambda *_: ProviderFault(status=200, body=body)
        expected = Delivery(DeliveryState.FAILED, "", "Twilio could not deliver the message.")
        assert Twilio(SECRET).delivery("SM1") == expected

    def test_an_id_cannot_lead_elsewhere(self, provider):
        for name in ("../Calls/CA1", "SM1/Media", "", "SM1?a=b"):
            with pytest.raises(CannotAsk):
                Twilio(SECRET).delivery(name)
            with pytest.raises(CannotAsk):
                Twilio(SECRET).template(name)


class TestTemplate:
    def test_it_has_its_text_and_its_blanks(self, provider):
        found = Twilio(SECRET).template(TEMPLATE)
        assert found.template_id == TEMPLATE
        assert "{{1}}" in found.body
        assert list(found.variables.items()) == [("1", "Amira"), ("2", "your order")]

    def test_blanks_are_in_the_order_of_their_numbers_and_any_type_with_a_text_will_do(self, provider):
        content = {
            "types": {"twilio/media": {"media": []}, "odd": 7, "twilio/quick-reply": {"body": "Hi {{1}}"}},
            "variables": {"10": "j", "name": "n", "2": "b", "1": 1},
        }
        provider.fault = lambda *_: ProviderFault(status=200, body=json.dumps(content).encode())
        found = Twilio(SECRET).template(TEMPLATE)
        assert found.body == "Hi {{1}}"
        assert list(found.variables.items()) == [("1", "1"), ("2", "b"), ("10", "j"), ("name", "n")]

    @pytest.mark.parametrize("types", [{}, None, {"twilio/media": {"media": []}}, {"twilio/text": {"body": 7}}])
    def test_one_without_a_text_cannot_be_asked_for(self, provider, types):
        provider.fault = lambda *_: ProviderFault(status=200, body=json.dumps({"types": types}).encode())
        with pytest.raises(CannotAsk):
            Twilio(SECRET).template(TEMPLATE)

    def test_an_unknown_one_is_refused(self, provider):
        with pytest.raises(Rejected) as raised:
            Twilio(SECRET).template("HX" + "1" * 32)
        assert raised.value.code == "20404"
