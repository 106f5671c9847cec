"""Settings with which replies would go nowhere are refused at start-up; and how fast a number may send."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Invalid
from console.schema.secret_names import is_secret_of
from conversations.providers import Template
from conversations.providers.templates import fill_in_template
from conversations.sending.rates import Rates
from tests.refusals import refused

NOW = datetime(2026, 3, 1, tzinfo=UTC)
# They match everything; another company's id; or what is no name.
TOO_WIDE = (
    *("*", "*/*/*/*", "?*", "/*", "sm*", "{company}/*", "*/{company}/*", "whatsapp/*/{company}"),
    *("whatsapp/{company}*", "whatsapp/x{company}/*", "whatsapp/{company}/{company}/*", "whatsapp/{tenant}/*", "a b/*"),
)
TEMPLATE = Template("HX1", "Hello {{1}}, about {{ 2 }}: {{1}}.", {"1": "Jo", "2": "it"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"REPLY_PROVIDERS": {"whatsapp": "pigeon"}}, "whatsapp:pigeon"),
        ({"REPLY_PROVIDERS": {"fax": "twilio"}}, "fax:twilio"),
        ({"OUTBOX_QUEUE_URL": "https://sqs.example/1/outbox"}, "FIFO"),
        ({"OUTBOX_QUEUE_URL": "https://x/o.fifo", "REPLY_PROVIDERS": {"sms": "outbox-only"}}, "SENDING_SERVICE"),
        ({"OUTBOX_QUEUE_URL": "https://x/o.fifo", "SECRET_NAMES": []}, "SECRET_NAMES is empty"),
        *(({"SECRET_NAMES": ["sms/*", each]}, f"SECRET_NAMES has {each},") for each in TOO_WIDE),
        ({"REPLIES_PER_SECOND": 0}, "more than 0"),
        ({"REPLY_UNDO_SECONDS": -1}, "not less than 0"),
    ],
)
def test_settings_that_lead_nowhere_are_refused(settings, changes, words):
    assert refused() == ""
    for name, value in changes.items():
        setattr(settings, name, value)
    assert words in refused()


def test_replies_by_a_service_of_their_own_need_no_secrets(settings):
    settings.OUTBOX_QUEUE_URL, settings.SECRET_NAMES = "https://x/o.fifo", []
    settings.REPLY_PROVIDERS = {"sms": "outbox-only"}
    settings.SENDING_SERVICE_QUEUE_URL, settings.RECEIPTS_QUEUE_URL = "https://x/s.fifo", "https://x/r"
    assert refused() == ""


@pytest.mark.parametrize(
    ("patterns", "company", "names", "others"),
    [
        (
            ["whatsapp/{company}/*", "email/fixed"],
            "acme",
            ["whatsapp/acme/p/twilio", "whatsapp/acme/", "email/fixed"],
            [
                *("whatsapp/other/p/twilio", "whatsapp/acme2/p", "whatsapp/other/acme/p", "whatsapp/acme"),
                *(
                    "email/fixed2",
                    "sms/acme/p",
                    "",
                    "arn:aws:secretsmanager:eu-west-2:1:secret:whatsapp/acme/p",
                    "whatsapp/*/p",
                ),
            ],
        ),
        (["whatsapp/{company}/*"], "a.c", ["whatsapp/a.c/p"], ["whatsapp/abc/p"]),
        # Whose names would be those of the company "a", too.
        (["whatsapp/{company}/*"], "a/b", [], ["whatsapp/a/b/p"]),
        (["whatsapp/{company}/*"], "", [], ["whatsapp//p", "whatsapp/acme/p"]),
        (["twilio-*", "mail?"], "", ["twilio-x/y", "mail1"], ["twilio", "mail12"]),
        (["*"], "acme", [], ["acme"]),
        ([], "acme", [], ["acme"]),
    ],
)
def test_a_secret_is_read_only_if_a_pattern_allows_it_to_that_company(settings, patterns, company, names, others):
    settings.SECRET_NAMES = patterns
    assert [each for each in names if not is_secret_of(each, company)] == []
    assert [each for each in others if is_secret_of(each, company)] == []


def test_a_number_sends_no_faster_than_it_may_and_others_do_not_wait(settings):
    settings.REPLIES_PER_SECOND = 2
    rates = Rates()
    at_once = sum(rates.wait_for("a", NOW) == 0.0 for _ in range(10))
    assert at_once == 2
    assert rates.wait_for("b", NOW) == 0.0
    wait = rates.wait_for("a", NOW)
    assert rates.wait_for("a", NOW + timedelta(seconds=wait)) == 0.0
    over_a_minute = sum(rates.wait_for("c", NOW + timedelta(milliseconds=10 * each)) == 0.0 for each in range(6000))
    assert 119 <= over_a_minute <= 122


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_what_is_filled_in_fills_no_blank_itself(one, two):
    one, two = one[:200], two[:200]
    if one.strip() and two.strip():
        assert fill_in_template(TEMPLATE, {"1": one, "2": two}) == f"Hello {one}, about {two}: {one}."


@pytest.mark.parametrize("values", [{}, {"1": "Jo"}, {"1": "Jo", "2": " "}, {"1": "Jo", "2": "x" * 201}])
def test_every_blank_has_to_be_filled(values):
    with pytest.raises(Invalid):
        fill_in_template(TEMPLATE, values)
