"""The access review: who has which access, for auditors to see, export and record as reviewed."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.urls import reverse

from console import clock
from console.permissions import OPENID_CONNECT
from console.refs import seal
from console.store import presence
from console.trail.actions import Action
from tests import faults
from tests.answers import body_of, text_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

pytestmark = pytest.mark.pages

URL = "/audit/accounts/"


@pytest.fixture(autouse=True)
def _whole_console(settings) -> None:
    settings.ROOT_URLCONF = "console.urls"


def changed(account, **values):
    for name, value in values.items():
        setattr(account, name, value)
    account.save()
    return account


@pytest.fixture
def team(store):
    """Accounts of each kind."""
    long_ago, now = (clock.to_iso(clock.now() - timedelta(days=days)) for days in (120, 0))
    changed(
        member("amira.haddad", scope=[f"company:{COMPANY}"]),
        last_sign_in_at=long_ago,
        second_factor_at=now,
        totp_secret="sealed-secret",
        recovery_codes={"hash-one", "hash-two"},
    )
    changed(member("tom.becker", scope=[f"company:{OTHER_COMPANY}"]), disabled=True, disabled_at=now)
    changed(member("noor.khan", "onboarding", ["tenant:outlocks"]), signs_in_with=OPENID_CONNECT, last_sign_in_at=now)
    changed(admin(), last_sign_in_at=now)
    return store


def row_of(page: str, username: str) -> str:
    """The words of one account's row."""
    [row] = re.findall(rf'<tr data-row id="row-{re.escape(username)}".*?</tr>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", row).split())


def reviews(store) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == Action.ACCESS_REVIEWED]


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize("required", [["none"], ["admin"]])
def test_an_auditor_sees_role_scope_second_factor_and_last_sign_in_and_can_change_nothing(settings, required):
    settings.REQUIRE_SECOND_FACTOR = required
    page = text_of(signed_in(auditor()).get(URL))
    amira, tom, noor, ada = (row_of(page, each) for each in ("amira.haddad", "tom.becker", "noor.khan", "ada.admin"))
    assert "agent" in amira
    assert COMPANY in amira
    assert "on, 2 recovery codes" in amira
    assert "over 90 days ago" in amira
    assert "disabled" in tom
    assert ("elsewhere" in noor, "company sign-in" in noor) == (True, True)
    assert ("all companies" in ada, "missing" in ada) == (True, True)
    assert "sealed-secret" not in page
    assert "hash-one" not in page
    assert "/staff/" not in page
    assert signed_in(auditor("other.auditor")).get(reverse("staff")).status_code == 403


@pytest.mark.usefixtures("team")
def test_an_administrator_opens_accounts_from_the_review():
    page = text_of(signed_in(admin("second.admin")).get(URL))
    assert reverse("staff-account", args=["amira.haddad"]) in page


@pytest.mark.usefixtures("team")
def test_an_auditor_of_one_company_sees_and_exports_the_accounts_within_it():
    client = signed_in(auditor(scope=[f"company:{COMPANY}"]))
    page = text_of(client.get(URL))
    assert set(re.findall(r'id="row-([a-z.]+)"', page)) == {"aiko.mori", "amira.haddad"}
    exported = body_of(client.post(f"{URL}export/", {"format": "jsonl"})).decode().splitlines()
    assert [json.loads(line)["username"] for line in exported] == ["aiko.mori", "amira.haddad"]


def test_the_file_has_every_account_and_no_secret_and_is_on_record(team):
    answer = signed_in(auditor()).post(f"{URL}export/", {"format": "csv"})
    text = body_of(answer).decode("utf-8-sig")
    rows = {row["username"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    assert rows.keys() == {"ada.admin", "aiko.mori", "amira.haddad", "noor.khan", "tom.becker"}
    amira, noor = rows["amira.haddad"], rows["noor.khan"]
    assert (amira["role"], amira["second_factor"], amira["recovery_codes_left"]) == ("agent", "on", "2")
    assert COMPANY in amira["scope"]
    assert (noor["second_factor"], noor["signs_in_with"]) == ("elsewhere", "company sign-in")
    assert (rows["tom.becker"]["state"], rows["ada.admin"]["scope"]) == ("disabled", "all companies")
    assert amira["last_sign_in"] < noor["last_sign_in"]
    assert re.fullmatch(r"[0-9-]{10}T[0-9:.]+Z", noor["last_sign_in"])
    assert "hash-one" not in text
    assert "sealed-secret" not in text
    assert "accounts-" in answer.headers["Content-Disposition"]
    [entry] = [each for each in team.all("AUDIT") if each["action_type"] == Action.ACCOUNTS_EXPORTED]
    assert (entry["conversation_id"], entry["actor"]) == ("STAFF#aiko.mori", "aiko.mori")


def test_names_are_no_formulas_in_the_file(store):
    changed(member("amira.haddad"), display_name="=HYPERLINK(1)")
    text = body_of(signed_in(auditor()).post(f"{URL}export/", {"format": "csv"})).decode()
    assert "'=HYPERLINK(1)" in text


def test_nothing_is_exported_or_recorded_without_its_entry(team):
    client = signed_in(auditor())
    before = len(team.all("AUDIT"))
    with faults.fail_before("PutItem", times=faults.ALWAYS):
        answers = [client.post(f"{URL}export/", {"format": "csv"}), client.post(f"{URL}reviewed/")]
    assert [each.status_code for each in answers] == [503, 503]
    assert len(team.all("AUDIT")) == before


def test_a_recorded_review_shows_who_and_when_and_how_much(team):
    client = signed_in(auditor())
    assert "Not reviewed yet" in text_of(client.get(URL))
    page = text_of(client.post(f"{URL}reviewed/", follow=True))
    [entry] = reviews(team)
    assert json.loads(entry["action_payload_redacted"]) == {"accounts": 5, "scope": "all companies"}
    assert "Your review of 5 accounts is recorded." in page
    heading = re.search(r'<h2 id="reviewed-title">(.*?)</h2>', page, re.DOTALL)
    words = re.sub(r"<[^>]*>", "", heading[1])
    now = clock.now()
    assert re.fullmatch(rf"Last reviewed on {now.day} {now:%b %Y}, \d\d:\d\d by Aiko Mori", words)
    assert "5 accounts · <bdi>all companies</bdi>" in page
    trail = text_of(client.get(reverse("trail", args=[seal("trail", "STAFF#aiko.mori")])))
    assert "reviewed who has access" in trail


def test_reviews_of_others_are_shown_to_who_sees_all_companies_only(team):
    signed_in(admin()).post(f"{URL}reviewed/")
    everything, limited = auditor(), auditor("lia.local", [f"company:{COMPANY}"])
    assert "by <bdi>Ada Admin</bdi>" in text_of(signed_in(everything).get(URL))
    assert "Not reviewed yet" in text_of(signed_in(limited).get(URL))


@pytest.mark.parametrize("payload", ["{", "[]", '{"accounts": {"a": 1}, "scope": ["x"]}', '{"accounts": true}'])
def test_a_drifted_review_is_shown_all_the_same(team, payload):
    client = signed_in(auditor())
    client.post(f"{URL}reviewed/")
    [entry] = reviews(team)
    team.put("AUDIT", entry | {"action_payload_redacted": payload})
    page = client.get(URL)
    assert page.status_code == 200
    assert "Last reviewed on" in text_of(page)


@pytest.mark.parametrize("role", ["agent", "onboarding"])
def test_others_neither_see_nor_record_it(store, role):
    client = signed_in(member(role=role))
    assert client.get(URL).status_code == 403
    assert client.post(f"{URL}reviewed/").status_code == 403
    assert reviews(store) == []


@pytest.mark.usefixtures("team")
def test_without_the_index_of_accounts_the_page_says_so(monkeypatch):
    client = signed_in(auditor())
    monkeypatch.setattr("console.staff.directory.index_ready", lambda *_: False)
    assert "Accounts cannot be listed." in text_of(client.get(URL))
    assert client.post(f"{URL}export/", {"format": "csv"}).status_code == 503


@pytest.mark.usefixtures("team")
def test_without_the_index_of_actions_accounts_are_listed_and_reviews_are_not(monkeypatch):
    client = signed_in(auditor())
    presence.forget()
    monkeypatch.setattr("console.audit.review.plan.index_ready", lambda *_: False)
    page = text_of(client.get(URL))
    assert "Earlier reviews cannot be listed" in page
    assert "amira.haddad" in page
