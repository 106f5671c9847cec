"""Where notifications go: who manages them, what can be entered, versions, secrets, and what is on record."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from console import caching, clock
from console.errors import Conflict, Forbidden, Invalid, NotFound
from conversations.notifications import destinations
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.destinations import BOTH_SIGN_FOR, MOST, destinations_of, list_destinations, types_for
from conversations.notifications.notification import OF_COMPANIES, NotificationType
from tests.support.conversations.handoff.kit import ADMIN, ANA, COMPANY
from tests.support.conversations.notifications import HOOK, LEAD, OTHER, add, entries, found, values

K, T = DestinationKind, NotificationType


def told(store) -> list[dict]:
    return [json.loads(each["action_payload_redacted"]) for each in entries(store, "destination.changed")]


# --- Who --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "company_id", "error"),
    [
        (LEAD, COMPANY, None),
        (ADMIN, COMPANY, None),
        (ADMIN, "", None),
        (LEAD, OTHER, NotFound),
        (LEAD, "", Forbidden),
        (ANA, COMPANY, Forbidden),
        (ANA, OTHER, Forbidden),
        (ANA, "", Forbidden),
    ],
)
def test_who_manages_them(store, who, company_id, error):
    there = add(company_id)
    before = store.all("CONSOLE")
    acts = {
        "add": lambda: destinations.add(company_id, values(name="Mine"), who),
        "change": lambda: destinations.change(found(there.id, company_id), values(name="New"), who),
        "renew": lambda: destinations.renew_secret(found(there.id, company_id), who),
        "show": lambda: destinations.show_secret(found(there.id, company_id), who),
        "delete": lambda: destinations.delete(found(there.id, company_id), who),
    }
    for act in acts.values():
        if error is None:
            act()
        else:
            with pytest.raises(error):
                act()
    if error is not None:
        assert store.all("CONSOLE") == before
        assert len(store.all("AUDIT")) == 1


def test_what_is_told_of_all_companies_is_of_every_company_and_of_nobodys(store):
    everywhere, here, there = add("", name="All"), add(name="Here"), add(OTHER, name="There")
    assert [each.id for each in destinations_of(COMPANY)] == [everywhere.id, here.id]
    assert [each.id for each in destinations_of(OTHER)] == [everywhere.id, there.id]
    assert [each.id for each in destinations_of("")] == [everywhere.id]
    assert types_for("")[-1] is T.NOT_PLACED
    assert T.NOT_PLACED not in types_for(COMPANY)
    # What a company cannot be told is not stored for it, and a test is nothing to choose.
    wanted = (T.NOT_PLACED, T.TEST, T.WAITING)
    assert add(types=wanted).values.types == (T.WAITING,)
    assert add("", types=wanted).values.types == (T.WAITING, T.NOT_PLACED)


def test_a_change_of_those_of_all_is_seen_at_once_by_who_made_it(store):
    assert destinations_of(COMPANY) == ()
    made = add("")
    assert [each.id for each in destinations_of(COMPANY)] == [made.id]
    destinations.delete(made, ADMIN)
    assert destinations_of(COMPANY) == ()


# --- What -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "  "}, "Enter a name of up to 60 characters."),
        ({"name": "x" * 61}, "Enter a name of up to 60 characters."),
        ({"types": ()}, "Choose at least one event."),
        ({"types": (T.TEST,)}, "Choose at least one event."),
        ({"kind": K.EMAIL, "address": "team@example.com"}, "Choose one of the listed kinds."),
        ({"address": "x"}, "Enter an address such as https://hooks.example.com/console."),
    ],
)
def test_what_cannot_be_stored(store, changes, words):
    with pytest.raises(Invalid, match=words):
        add(**changes)
    assert store.all("CONSOLE") == store.all("AUDIT") == []


def test_what_was_entered_is_kept_tidy(store):
    made = add(name="  Help \t desk ", address=f" {HOOK} ")
    assert (made.values.name, made.values.address, made.host) == ("Help desk", HOOK, "hooks.example.com")
    assert made.version == 1


def test_there_is_a_most(store):
    for number in range(MOST):
        made = add(name=f"{number}")
    with pytest.raises(Invalid, match="Delete one first"):
        add(name="one more")
    destinations.change(made, values(name="changed"), ADMIN)
    add(OTHER)
    destinations.delete(found(made.id), ADMIN)
    add(name="one more")
    assert len(list_destinations(COMPANY)) == MOST


def test_the_trail_says_who_changed_what_and_never_the_address(store):
    made = add(name="Pager", address="https://hooks.example.com/secret-path", types=(T.WAITING,))
    destinations.change(made, replace(made.values, is_on=False), LEAD)
    destinations.renew_secret(found(made.id), LEAD)
    destinations.delete(found(made.id), LEAD)
    base = {"destination": "Pager", "kind": "webhook", "on": True, "types": ["conversation.waiting"]}
    off = base | {"on": False}
    expected = [base | {"added": True}, off, off | {"new_secret": True}, off | {"deleted": True}]
    assert sorted(map(str, map(sorted, map(dict.items, told(store))))) == sorted(
        map(str, map(sorted, map(dict.items, expected)))
    )
    assert "secret-path" not in json.dumps(store.all("AUDIT"), default=str)
    assert {each["company_id"] for each in store.all("AUDIT")} == {COMPANY}


CHANGES = {
    "saved": lambda seen: destinations.change(seen, values(name="Late"), LEAD),
    "renewed": lambda seen: destinations.renew_secret(seen, LEAD),
    "switched off": destinations.switch_off,
    "deleted": lambda seen: destinations.delete(seen, LEAD),
}


@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_who_is_second_changes_nothing(store, first, second):
    seen = add()
    CHANGES[first](seen)
    before = store.all("CONSOLE"), store.all("AUDIT")
    with pytest.raises(Conflict, match="Somebody else changed this destination"):
        CHANGES[second](seen)
    assert (store.all("CONSOLE"), store.all("AUDIT")) == before


@pytest.mark.parametrize(
    "damage",
    [
        {"name": None, "types": "all", "is_on": "yes", "created_at": "soon", "secrets": "none", "version": "x"},
        {"name": {"a": 1}, "types": ["x", 7, None], "is_on": None, "created_at": None, "secrets": [None, 7]},
        {"address": "https://[half"},
        {"address": {"no": "text"}},
        {"kind": "pigeon"},
        {"kind": None, "secrets": None, "both_until": "x"},
        {"kind": ["sns"]},
    ],
)
def test_damaged_ones_are_read(store, damage):
    made = add()
    store.update("CONSOLE", {"pk": destinations.partition_of(COMPANY), "sk": made.id}, **damage)
    [read] = list_destinations(COMPANY)
    assert read.id == made.id
    assert isinstance(read.host, str)
    if damage.get("kind", "") != "":
        assert not read.values.is_on
    assert found(made.id) == read


# --- Secrets ----------------------------------------------------------------------------------------------------------


def test_the_secret_is_sealed_where_it_is_stored_and_for_this_destination_only(store):
    made, other = add(name="one"), add(name="two")
    [secret] = made.secrets
    assert secret.startswith("whsec_")
    assert Webhook(secret).sign("id", clock.now(), "body")
    everything = json.dumps([store.all("CONSOLE"), store.all("AUDIT")], default=str)
    assert secret not in everything
    assert secret.removeprefix("whsec_")[:10] not in everything
    assert made.secrets != other.secrets
    key = {"pk": destinations.partition_of(COMPANY), "sk": other.id}
    store.update("CONSOLE", key, secrets=store.get("CONSOLE", **key | {"sk": made.id})["secrets"])
    assert found(other.id).secrets == ()


def test_who_looks_at_the_secret_is_on_record_before_they_see_it(store):
    made = add()
    assert destinations.show_secret(made, LEAD) == made.secrets[0]
    [entry] = entries(store, "destination.secret_shown")
    assert (entry["actor"], entry["company_id"]) == ("lena", COMPANY)
    assert json.loads(entry["action_payload_redacted"]) == {"destination": "Help desk"}


def test_a_secret_that_cannot_be_read_any_more_is_made_anew(store, settings):
    made = add()
    settings.SECRET_KEY = "another-key-that-is-long-enough-for-what-it-is-used-0123456789"
    assert found(made.id).secrets == ()
    assert destinations.show_secret(found(made.id), LEAD) == ""
    destinations.renew_secret(found(made.id), LEAD)
    assert len(found(made.id).secrets) == 1
    # The key is changed in an orderly way: what was sealed with the one before is read.
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "x" * 60
    assert len(found(made.id).secrets) == 1


@pytest.mark.parametrize("meanwhile", ["nothing", "renamed", "switched off", "renewed again"])
def test_for_a_day_both_secrets_sign_whatever_is_changed_meanwhile(store, monkeypatch, meanwhile):
    made = add()
    destinations.renew_secret(made, LEAD)
    now = found(made.id)
    new, old = now.secrets
    assert old == made.secrets[0] != new
    expected = (new, old)
    if meanwhile == "renamed":
        destinations.change(now, values(name="New name"), LEAD)
    elif meanwhile == "switched off":
        destinations.switch_off(now)
    elif meanwhile == "renewed again":
        destinations.renew_secret(now, LEAD)
        expected = (found(made.id).secrets[0], new)
    assert found(made.id).secrets == expected
    at = clock.now() + BOTH_SIGN_FOR - timedelta(minutes=1)
    monkeypatch.setattr(clock, "now", lambda: at)
    assert found(made.id).secrets == expected
    monkeypatch.setattr(clock, "now", lambda: at + timedelta(minutes=1, seconds=1))
    assert found(made.id).secrets == expected[:1]


def test_a_form_that_is_sent_twice_adds_one(store):
    for _ in range(2):
        destinations.add(COMPANY, values(), LEAD, "of-the-form")
    [made] = destinations.list_destinations(COMPANY)
    assert made.id == "of-the-form"
    with pytest.raises(Conflict):
        destinations.add(COMPANY, values(name="Another"), LEAD, "of-the-form")
    assert len(destinations.list_destinations(COMPANY)) == 1


def test_a_plain_change_keeps_the_secret_and_since_when_it_is_told(store):
    made = add()
    destinations.change(made, values(name="New name", address=f"{HOOK}/2"), LEAD)
    changed = found(made.id)
    assert (changed.secrets, changed.created_at, changed.version) == (made.secrets, made.created_at, 2)
    caching.invalidate_all()
    assert destinations_of(COMPANY) == (changed,)


def test_no_other_secret_signs(store):
    made, other = add(name="one"), add(name="two")
    at = clock.now()
    headers = {
        "webhook-id": "m1",
        "webhook-timestamp": str(clock.to_epoch(at)),
        "webhook-signature": Webhook(made.secrets[0]).sign("m1", at, "{}"),
    }
    assert Webhook(made.secrets[0]).verify("{}", headers) == {}
    with pytest.raises(WebhookVerificationError):
        Webhook(other.secrets[0]).verify("{}", headers)


def test_what_a_destination_wants(store):
    made = add(types=(T.WAITING, T.OVERDUE))
    at = made.created_at
    assert made.wants(T.WAITING, at)
    assert not made.wants(T.FAILED, at)
    assert not made.wants(T.WAITING, at - timedelta(milliseconds=1))
    assert not replace(made, created_at=None).wants(T.WAITING, at)
    assert not replace(made, values=replace(made.values, is_on=False)).wants(T.WAITING, at)
    assert set(OF_COMPANIES) > set(made.values.types)
