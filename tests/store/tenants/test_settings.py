"""Settings saved by compare-and-swap: nothing is lost, keys of others stay as they are written, both are told."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console.errors import Conflict, Forbidden, Invalid, NotFound
from tenants import settings
from tenants.settings import SettingsChanged, StoredSettings
from tenants.settings_form import SettingsForm
from tenants.settings_text import BY_NAME, changed, members_of, read
from tests import faults
from tests.support.tenants.items import SETTINGS, tenant
from tests.support.tenants.kit import AUDITOR, OLGA, kill_at_each_call, of, onboarding, put_tenants, trail


def save(stored: StoredSettings, **known: object) -> bool:
    return settings.save(
        "outlocks", stored.name, dict(stored.settings.known) | known, stored.settings.others, stored.seen, OLGA
    )


def text(store) -> str:
    return of(store, "outlocks")["META"]["settings"]


def test_one_change_is_one_write_with_before_and_after(store):
    put_tenants(store)
    assert save(settings.load("outlocks", OLGA), messages_per_day=5)
    assert json.loads(text(store)) == SETTINGS | {"messages_per_day": 5}
    [entry] = store.all("AUDIT")
    told = json.loads(entry["action_payload_redacted"])
    assert (told["changed"], told["from"], told["to"]) == (
        "messages_per_day",
        {"messages_per_day": "1000"},
        {"messages_per_day": "5"},
    )
    assert entry["company_id"] == "outlocks"


def test_nothing_to_change_writes_nothing(store):
    put_tenants(store)
    assert not save(settings.load("outlocks", OLGA))
    assert trail(store) == []


def test_other_attributes_of_the_tenant_stay(store):
    store.put("TENANTS", tenant(plan="gold", quota=7))
    save(settings.load("outlocks", OLGA), messages_per_day=5)
    stored = of(store, "outlocks")["META"]
    assert (stored["plan"], stored["quota"], stored["status"]) == ("gold", 7, "active")


def test_a_stale_save_loses_nothing(store):
    put_tenants(store)
    first = second = settings.load("outlocks", OLGA)
    save(first, messages_per_day=5)
    with pytest.raises(SettingsChanged):
        save(second, messages_per_day=9)
    assert json.loads(text(store))["messages_per_day"] == 5


def test_a_tenant_deleted_during_a_save_keeps_its_settings(store):
    put_tenants(store)
    stored = settings.load("outlocks", OLGA)
    with (
        faults.before("TransactWriteItems", lambda: store.put("TENANTS", tenant(status="deleted"))),
        pytest.raises(Conflict, match="This tenant was deleted, so nothing can be changed on it"),
    ):
        save(stored, messages_per_day=5)
    assert of(store, "outlocks")["META"] == tenant(status="deleted")
    assert trail(store) == []


def test_two_saves_at_once_have_one_winner(store):
    put_tenants(store)
    stored, gate = settings.load("outlocks", OLGA), threading.Barrier(4)

    def attempt(number: int) -> int:
        gate.wait()
        try:
            return number if save(stored, messages_per_day=number) else 0
        except SettingsChanged:
            return 0

    with ThreadPoolExecutor(4) as pool:
        [won] = filter(None, pool.map(attempt, range(1, 5)))
    assert json.loads(text(store))["messages_per_day"] == won
    assert trail(store) == ["tenant.changed"]


def test_what_the_platform_overwrote_is_shown(store):
    put_tenants(store)
    save(settings.load("outlocks", OLGA), messages_per_day=5, ai_model="claude-opus-4")
    assert settings.overwritten("outlocks") is None
    store.put("TENANTS", tenant())  # the platform writes META whole
    found = settings.overwritten("outlocks")
    assert found.saved_by == "olga.novak"
    assert dict(found.differences) == {
        "messages_per_day": ("5", "1000"),
        "ai_model": ('"claude-opus-4"', '"claude-sonnet-4-5-20250929"'),
    }


def test_what_the_platform_only_spelled_otherwise_is_no_change(store):
    put_tenants(store)
    save(settings.load("outlocks", OLGA), system_prompt_override="Be brief — and kind", messages_per_day=5)
    assert "—" in text(store)
    now = json.loads(text(store))
    # As Python writes it, in another order.
    store.put("TENANTS", tenant(settings=json.dumps(dict(reversed(now.items())), indent=2)))
    assert "\\u2014" in text(store)
    assert settings.overwritten("outlocks") is None
    # A number of another kind, or a switch, means something else.
    store.put("TENANTS", tenant(settings=json.dumps(now | {"messages_per_day": 5.0, "max_tokens_per_message": True})))
    assert set(settings.overwritten("outlocks").differences) == {"messages_per_day", "max_tokens_per_message"}


def test_a_name_that_the_platform_changed_is_listed(store):
    put_tenants(store)
    stored = settings.load("outlocks", OLGA)
    settings.save("outlocks", "Outlocks Ltd", dict(stored.settings.known), stored.settings.others, stored.seen, OLGA)
    assert settings.overwritten("outlocks") is None
    store.put("TENANTS", tenant())
    assert dict(settings.overwritten("outlocks").differences) == {"name": ("Outlocks Ltd", "Outlocks")}


def test_who_may_not_is_refused(store):
    put_tenants(store)
    with pytest.raises(Forbidden):
        settings.load("outlocks", AUDITOR)
    with pytest.raises(NotFound):
        settings.load("outlocks", onboarding("acme"))


def test_settings_of_another_type_are_never_replaced_unseen(store):
    store.put("TENANTS", tenant(settings={"ai_model": "x"}))
    with pytest.raises(Invalid, match="not text"):
        save(settings.load("outlocks", OLGA), ai_model="y")
    assert of(store, "outlocks")["META"]["settings"] == {"ai_model": "x"}


def test_killed_at_any_call_of_saving(store):
    seen: list[StoredSettings] = []

    def set_up() -> None:
        put_tenants(store)
        seen[:] = [settings.load("outlocks", OLGA)]

    def check(finished: bool) -> None:
        saved = [each for each in store.all("CONSOLE") if each["sk"] == "SETTINGS"]
        changed = json.loads(text(store))["messages_per_day"] == 5
        assert changed == bool(saved) == (trail(store) == ["tenant.changed"])
        assert changed or not finished

    assert kill_at_each_call(store, set_up, lambda: save(seen[0], messages_per_day=5), check) == 2


# --- The form -------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(sorted(BY_NAME)) | st.text(max_size=12)


def stored_of(written: str) -> StoredSettings:
    return StoredSettings("Outlocks", read(written), "seen")


def as_a_browser_sends(form: SettingsForm) -> QueryDict:
    """What a browser sends of a form that nobody touched: line ends and what a field cannot hold, as browsers do it."""
    data = QueryDict(mutable=True)
    for bound in form:
        value = bound.value()
        if bound.use_fieldset:
            data.setlist(bound.html_name, value or [])
            continue
        sent = str(value if value is not None else "").replace("\0", "\ufffd")
        sent = sent.replace("\r\n", "\n").replace("\r", "\n")
        is_area = "rows" in bound.field.widget.attrs
        data[bound.html_name] = sent.replace("\n", "\r\n") if is_area else sent.replace("\n", "")
    return data


@pytest.mark.slow
@hypothesis_settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, JSON, max_size=8), st.booleans())
def test_a_form_that_nobody_touched_changes_nothing(value, ascii_only):
    written = json.dumps(value, ensure_ascii=ascii_only)
    stored = stored_of(written)
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    form = SettingsForm(data, stored=stored)
    assert form.is_valid(), form.errors
    assert changed(stored.settings, form.known, form.others) == written


@pytest.mark.slow
@hypothesis_settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, JSON, max_size=8))
def test_one_changed_field_leaves_all_others_as_written(value):
    value.pop("messages_per_day", None)
    stored = stored_of(json.dumps(value))
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    data["messages_per_day"] = "77"
    form = SettingsForm(data, stored=stored)
    assert form.is_valid(), form.errors
    after = members_of(changed(stored.settings, form.known, form.others))
    assert after.pop("messages_per_day") == "77"
    assert after == members_of(stored.settings.text)


@pytest.mark.parametrize(
    ("field", "typed", "complaint"),
    [
        ("messages_per_day", "0", "from 1 to 10,000,000"),
        ("messages_per_day", "lots", "whole number"),
        ("max_tokens_per_message", "200001", "from 1 to 200,000"),
        ("max_conversation_history", "-1", "from 1 to 1,000"),
        ("ai_provider", "  ", "Enter the AI provider"),
        ("ai_model", "x" * 201, "1 too many: up to 200 characters."),
        ("system_prompt_override", "x" * 20_001, "20,000"),
        ("custom_skills", '{"name": ', "not valid JSON"),
        ("custom_skills", "plain\nNaN", "NaN is not a JSON number at line 1, column 1"),
        ("custom_skills", '{"a": {"b": 1, "b": 2}}', "The key 'b' comes twice"),
        ("channel_routing_overrides", "whatsapp = sales", "a colon and the sender"),
        ("channel_routing_overrides", "whatsapp:+44 7700 9001x = sales", "digits only"),
        ("channel_routing_overrides", "teams:a = x\nteams:a = y", "twice"),
        ("installed_practices", "sales", "“sales” needs the form name = value."),
        ("whatsapp_restrict_to_users", "maybe", "Choose one of the listed values."),
        ("name", " ", "Enter a name"),
        ("name", "x" * 121, "1 too many: up to 120 characters."),
    ],
)
def test_what_cannot_be_names_its_field(field, typed, complaint):
    stored = stored_of(json.dumps(SETTINGS))
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    data[field] = typed
    form = SettingsForm(data, stored=stored)
    assert not form.is_valid()
    assert complaint in " ".join(form[field].errors)


def test_keys_that_only_the_platforms_code_names_can_be_set():
    stored = stored_of(json.dumps(SETTINGS))
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    typed = {
        "tier1_formatting_model": "claude-haiku-4-5",
        "addon_skills": "meeting_prep\r\nrelease_notes",
        "installed_practices": "sales = 1.2.0\r\nhr=0.9",
        "channel_routing_overrides": "whatsapp:+44 7700 900123 = sales\r\nteams:29:1bSv = sprint_status",
        "whatsapp_restrict_to_users": "false",
    }
    for name, value in typed.items():
        data[name] = value
    form = SettingsForm(data, stored=stored)
    assert form.is_valid(), form.errors
    written = changed(stored.settings, form.known, form.others)
    assert json.loads(written) == SETTINGS | {
        "tier1_formatting_model": "claude-haiku-4-5",
        "addon_skills": ["meeting_prep", "release_notes"],
        "installed_practices": {"sales": "1.2.0", "hr": "0.9"},
        "channel_routing_overrides": {"whatsapp:447700900123": "sales", "teams:29:1bSv": "sprint_status"},
        "whatsapp_restrict_to_users": False,
    }
    # What is emptied is the platform's own again.
    stored = stored_of(written)
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    data["whatsapp_restrict_to_users"] = data["tier1_formatting_model"] = ""
    form = SettingsForm(data, stored=stored)
    assert form.is_valid(), form.errors
    kept = json.loads(changed(stored.settings, form.known, form.others))
    assert set(json.loads(written)) - set(kept) == {"whatsapp_restrict_to_users", "tier1_formatting_model"}


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=4))
def test_pairs_are_lines_or_json_and_stay_what_they_are(pairs):
    stored = stored_of(json.dumps({"installed_practices": pairs}))
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    data["installed_practices"] += "\r\none more = 1"
    form = SettingsForm(data, stored=stored)
    if "one more" not in pairs:
        assert form.is_valid(), form.errors
        assert form.known["installed_practices"] == pairs | {"one more": "1"}


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("NaN", "NaN is not a JSON number at line 1, column 1."),
        ("[1,\n -Infinity]", "-Infinity is not a JSON number at line 2, column 2."),
        ('{"x": 1e999}', "1e999 is too large a number at line 1, column 7."),
        ('{"x": {"NaN": 1, "y": 2, "NaN": 3}}', "The key 'NaN' comes twice in one object."),
        ('["NaN", "\\ud83d"]', "Half a character, which cannot be stored, at line 1, column 9."),
        ('{"\\udc00": 1}', "Half a character"),
        ("[1, 2", "That is not valid JSON at line 1, column 6."),
        ("1 2", "There is something after the JSON value at line 1, column 3."),
        ("[" * 20_000, "nested too deeply"),
    ],
)
def test_json_that_others_could_not_read_is_refused_saying_where(typed, complaint):
    stored = stored_of('{"theirs": 1, "odd": NaN}')
    form = SettingsForm(None, stored=stored)
    field = next(name for name, key in form.keys.items() if key == "theirs")
    data = as_a_browser_sends(form)
    data[field] = typed
    form = SettingsForm(data, stored=stored)
    assert not form.is_valid()
    assert list(form.errors) == [field]
    assert complaint in " ".join(form[field].errors)
    # What others wrote so stays, until somebody changes it.
    data[field] = '{"NaN": "\\ud83d\\ude42", "big": 1e300}'
    form = SettingsForm(data, stored=stored)
    assert form.is_valid(), form.errors
    assert members_of(changed(stored.settings, form.known, form.others))["odd"] == "NaN"


def test_other_keys_are_edited_as_json_and_removed_when_emptied():
    stored = stored_of('{"a": 1, "b": {"x": [1.0]}, "c": "\\ud800"}')
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    form = SettingsForm(data, stored=stored)
    names = {key: name for name, key in form.keys.items()}
    data[names["a"]], data[names["b"]] = "", "[2]"
    form = SettingsForm(data, stored=stored)
    assert form.is_valid()
    assert form.others == {"b": "[2]", "c": '"\\ud800"'}
    data[names["b"]] = "[2"
    assert "That is not valid JSON" in str(SettingsForm(data, stored=stored).errors)


def test_lists_are_lines_and_json_where_a_line_is_not_enough():
    stored = stored_of(json.dumps({"custom_skills": ["plain", {"name": "x"}, 5, "true", "two\nlines"]}))
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    assert data["custom_skills"].split("\r\n") == ["plain", '{"name": "x"}', "5", '"true"', '"two\\nlines"']
    data["custom_skills"] += "\r\nlast\r\n"
    form = SettingsForm(data, stored=stored)
    assert form.is_valid()
    assert form.known["custom_skills"] == ["plain", {"name": "x"}, 5, "true", "two\nlines", "last"]


def test_where_a_form_differs_it_says_whose_change_that_is():
    opened = SettingsForm(None, stored=stored_of('{"messages_per_day": 10, "ai_model": "m", "a": 1, "b": 1}'))
    data = as_a_browser_sends(opened)
    names = {key: name for name, key in opened.keys.items()}
    typed = {"base": opened.base, "messages_per_day": "11", "ai_model": "mine", names["a"]: "2"}
    for name, value in typed.items():
        data[name] = value
    now = stored_of('{"messages_per_day": 12, "ai_model": "m", "a": 1, "b": 7, "added": 1}')
    form = SettingsForm(data, stored=now)
    assert {each.label: each.by for each in form.differences()} == {
        "Messages per day": "both of you",
        "AI model": "you",
        "a": "you",
        "b": "someone else",
    }
    # What was added meanwhile is kept, though no field of the form had it.
    assert form.is_valid()
    assert form.others == {"a": "2", "b": "1", "added": "1"}


@pytest.mark.parametrize("base", ["", "junk", "messages_per_day"])
def test_a_form_that_does_not_say_what_it_was_made_of_blames_nobody(base):
    stored = stored_of('{"messages_per_day": 10}')
    data = as_a_browser_sends(SettingsForm(None, stored=stored))
    data["messages_per_day"], data["base"] = "11", base
    assert [each.by for each in SettingsForm(data, stored=stored).differences()] == [""]
