"""Forms of items that somebody else changed or deleted since they were opened: nothing is overwritten unseen."""

import html
import re

import pytest
from django.test import Client

from console.refs import seal
from conversations import groups
from conversations.attention import levels
from conversations.insight import budgets
from conversations.notifications import destinations
from tests.answers import text_of
from tests.people import COMPANY, as_staff, member, signed_in
from tests.support.conversations.notifications import add

pytestmark = pytest.mark.pages

LEVELS, GROUPS, BUDGET = (f"/team/{room}/{COMPANY}/" for room in ("levels", "groups", "budgets"))
WORKING = {"opens": "09:00", "closes": "17:00", "days": ["0", "1"], "zone": "Europe/London"}


@pytest.fixture(autouse=True)
def _company(store) -> None:
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber Recruitment"})


@pytest.fixture
def anna(store) -> Client:
    return signed_in(member("anna.berg", "admin"))


@pytest.fixture
def ben(store) -> Client:
    return signed_in(member("ben.moss", "admin"))


def typed_in(answer) -> dict[str, object]:
    """What the page's form would send as it is, its ticked boxes included."""
    page = answer.content.decode()
    form = page[page.index('<form class="form"') :]
    form = form[: form.index("</form>")]
    found: dict[str, object] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = (re.search(rf' {each}="([^"]*)"', tag) for each in ("name", "value"))
        is_box = 'type="checkbox"' in tag
        if name is None or (is_box and " checked" not in tag):
            continue
        text = html.unescape(value[1]) if value else "on" if is_box else ""
        if is_box and value:
            found.setdefault(name[1], []).append(text)  # type: ignore[attr-defined]
        else:
            found[name[1]] = text
    for name, text in re.findall(r'<textarea name="([^"]*)"[^>]*>(.*?)</textarea>', form, re.DOTALL):
        found[name] = html.unescape(text.removeprefix("\n"))
    for name, options in re.findall(r'<select name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL):
        found[name] = re.search(r'value="([^"]*)" selected', options)[1]
    return found


def rows_of(answer) -> list[tuple[str, ...]]:
    """The comparison: field, stored now, in your form, changed by."""
    page = answer.content.decode()
    table = page[page.index("How your form differs") :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[table.index("<tbody>") : table.index("</tbody>")], re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows)
    return [tuple(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", each)).strip() for each in row) for row in cells]


def test_two_leads_who_change_different_levels_both_keep_theirs(anna, ben):
    opened = typed_in(ben.get(LEVELS))
    anna.post(LEVELS, typed_in(anna.get(LEVELS)) | WORKING | {"next_answer": "20", "urgent_words": "court\npolice"})
    late = ben.post(LEVELS, opened | {"first_answer": "15"})
    assert late.status_code == 409
    assert "Anna Berg changed these service levels in the meantime." in text_of(late)
    assert "Fields you had not changed now hold what is stored." in text_of(late)
    found = {row[0]: row[1:] for row in rows_of(late)}
    taken = "(taken from what is stored)"
    assert found["First answer within (minutes)"] == ("not set", "15", "you")
    assert found["Next answers within (minutes)"] == ("20", f"20 {taken}", "Anna Berg")
    assert found["Urgent words"] == ("court police", f"court police {taken}", "Anna Berg")
    assert found["Days"] == ("Mon, Tue", f"Mon, Tue {taken}", "Anna Berg")
    assert ben.post(LEVELS, typed_in(late)).status_code == 302
    stored = levels.load(COMPANY, "", as_staff(member("ben.moss", "admin"))).stored
    assert (stored.first_answer, stored.next_answer, stored.urgent_words) == (15, 20, ["court", "police"])
    assert (stored.version, stored.updated_by, stored.hours["days"]) == (2, "ben.moss", [0, 1])


def test_a_field_that_both_changed_keeps_what_was_typed_and_shows_both(anna, ben):
    opened = typed_in(ben.get(LEVELS))
    for minutes in ("20", "25"):
        anna.post(LEVELS, typed_in(anna.get(LEVELS)) | {"first_answer": minutes})
    late = ben.post(LEVELS, opened | {"first_answer": "15"})
    # After two changes, the console does not know who made which.
    assert rows_of(late) == [("First answer within (minutes)", "25", "15", "someone else and you")]
    assert 'value="15"' in late.content.decode()


def test_a_lead_with_two_windows_is_not_somebody_else(anna):
    opened = typed_in(anna.get(BUDGET))
    anna.post(BUDGET, opened | {"amount": "100"})
    late = anna.post(BUDGET, opened | {"amount": "200"})
    assert "You changed this budget in another window." in text_of(late)
    assert "Somebody else" not in text_of(late)
    assert rows_of(late) == [("US dollars a month", "100.00", "200", "you, in both windows")]
    anna.post(BUDGET, typed_in(late))
    assert budgets.load(COMPANY, as_staff(member("anna.berg", "admin"))).amount == 200


def test_an_amount_typed_in_another_way_is_no_difference(anna, ben):
    opened = typed_in(ben.get(BUDGET))
    anna.post(BUDGET, opened | {"amount": "1,000"})
    late = ben.post(BUDGET, opened | {"amount": "$1000.00"})
    assert late.status_code == 409
    assert "How your form differs" not in text_of(late)


def test_a_group_that_a_colleague_changed_keeps_their_members(anna, ben):
    lead = as_staff(member("lea.lead", "admin"))
    groups.save(COMPANY, "Night team", ["anna.berg"], lead)
    [group] = groups.of_company(COMPANY)
    page = f"{GROUPS}?group={group.id}"
    opened = typed_in(ben.get(page))
    anna.post(page, opened | {"members": ["anna.berg", "ben.moss"]})
    late = ben.post(page, opened | {"title": "Late team"})
    assert "Anna Berg changed this group in the meantime." in text_of(late)
    assert ben.post(page, typed_in(late)).status_code == 302
    [found] = groups.of_company(COMPANY)
    assert (found.name, found.members) == ("Late team", ["anna.berg", "ben.moss"])


def test_a_group_with_the_name_of_another_says_so_at_the_name(anna):
    for members, status in ((["anna.berg"], 302), (["anna.berg"], 409)):
        answer = anna.post(GROUPS, {"title": "Night team", "members": members})
        assert answer.status_code == status
    assert "A group with this name already exists." in text_of(answer)
    assert "meantime" not in text_of(answer)


def test_a_group_deleted_meanwhile_is_added_as_a_new_one(anna, ben):
    lead = as_staff(member("lea.lead", "admin"))
    groups.save(COMPANY, "Night team", ["anna.berg"], lead)
    [group] = groups.of_company(COMPANY)
    page = f"{GROUPS}?group={group.id}"
    opened = typed_in(ben.get(page))
    anna.post(page, opened | {"delete": "1"})
    late = ben.post(page, opened | {"title": "Late team", "members": ["ben.moss"]})
    assert late.status_code == 409
    assert "Somebody deleted this group in the meantime." in text_of(late)
    assert "Add the group" in text_of(late)
    assert f'action="{GROUPS}"' in late.content.decode()
    assert ben.post(GROUPS, typed_in(late)).status_code == 302
    [found] = groups.of_company(COMPANY)
    assert (found.name, found.members) == ("Late team", ["ben.moss"])


def test_a_destination_deleted_meanwhile_is_added_as_a_new_one(anna, ben):
    made = add(name="Pager")
    page = f"/team/notifications/{seal('destination', COMPANY, made.id)}/change/"
    opened = typed_in(ben.get(page))
    anna.post(page, {"delete": "1", "version": made.version})
    late = ben.post(page, opened | {"title": "My pager"})
    assert late.status_code == 409
    assert "Somebody deleted this destination in the meantime." in text_of(late)
    action = f"/team/notifications/new/?company={COMPANY}"
    assert f'action="{action}"' in late.content.decode()
    assert ben.post(action, typed_in(late)).status_code == 302
    [found] = destinations.list_destinations(COMPANY)
    assert (found.values.name, found.values.address) == ("My pager", made.values.address)
    # Who deletes it too, or clicks twice, has what they want.
    assert "The destination is deleted." in text_of(anna.post(page, {"delete": "1", "version": "1"}, follow=True))
    assert anna.get(page).status_code == 404


def test_a_destination_that_changed_is_deleted_only_after_it_was_seen(anna, ben):
    made = add(name="Pager")
    page = f"/team/notifications/{seal('destination', COMPANY, made.id)}/change/"
    opened = typed_in(ben.get(page))
    anna.post(page, opened | {"title": "The only pager"})
    late = ben.post(page, opened | {"delete": "1"})
    assert late.status_code == 409
    assert "Nothing was changed. The form shows what is stored now" in text_of(late)
    assert 'value="The only pager"' in late.content.decode()
    assert ben.post(page, typed_in(late) | {"delete": "1"}).status_code == 302
    assert destinations.list_destinations(COMPANY) == []
