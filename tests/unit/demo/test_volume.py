"""The busy company, and further companies: how many there are of what, and that each is like those of the dialogues."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from demo import items as demo
from demo import volume
from demo.conversations import COMPANIES, credentials_of
from demo.dialogues import DialogueError

NOW = datetime(2025, 11, 20, 12, 0, tzinfo=UTC)
BUSY = "ci-lar-005"


@pytest.fixture(scope="module")
def busy():
    return [item for table, item in volume.items(NOW) if table == "CONVERSATIONS"]


@pytest.fixture(scope="module")
def further():
    """All conversations of sixty further companies."""
    found = volume.further_items(volume.further_companies(60), NOW)
    return [item for table, item in found if table == "CONVERSATIONS"]


def waits(item):
    return item["hand_off_to_human"] and "hand_off_agent" not in item


def waited(item):
    return NOW - clock.parse_instant(item["updated_at"])


def texts(items):
    return [entry["content"] for item in items for entry in item["messages"]]


def test_busy_company_has_one_busy_project_and_many_quiet_ones(busy):
    counts = Counter(item["project_id"] for item in busy)
    assert {item["company_id"] for item in busy} == {BUSY}
    [(project, most), *quiet] = counts.most_common()
    assert (project, most >= 60) == ("pi-lar-del", True)
    assert len(quiet) == 14
    assert all(2 <= count <= 5 for _, count in quiet)


def test_quiet_projects_have_people_who_wait_and_some_have_none(busy):
    waiting = {item["project_id"] for item in busy if waits(item)}
    assert len(waiting) == 6
    assert [item["hand_off_agent"] for item in busy if "hand_off_agent" in item] == ["lena"]


def test_further_companies_have_names_and_ids_of_their_own():
    companies = volume.further_companies(volume.most_companies())
    assert len(companies) > 3000
    for name in ("id", "name", "slug"):
        assert len({each[name] for each in companies} | {each[name] for each in COMPANIES}) == len(companies) + 5
    ids = [project["id"] for each in companies for project in each["project"]]
    assert len(set(ids)) == len(ids)
    # The first thirty differ in both words.
    assert len({each["name"].split()[0] for each in companies[:30]}) == 30
    assert len({each["trade"] for each in companies[:30]}) > 15


def test_fewer_companies_are_the_first_of_more(further):
    fewer = list(volume.further_items(volume.further_companies(20), NOW))
    assert [item for table, item in fewer if table == "CONVERSATIONS"] == further[: len(fewer) - len(entries(fewer))]


def entries(records):
    return [item for table, item in records if table != "CONVERSATIONS"]


def test_in_a_third_of_further_companies_somebody_waits_from_minutes_to_days(further):
    waiting = [item for item in further if waits(item)]
    assert len({item["company_id"] for item in waiting}) == len(waiting) == 20
    assert min(map(waited, waiting)) < timedelta(hours=1)
    assert max(map(waited, waiting)) > timedelta(days=2)
    assert len({item["hand_off_to_human_reason"] for item in waiting}) > 10


def test_some_of_further_companies_are_held_by_who_sees_them(further):
    held = [item for item in further if "hand_off_agent" in item]
    assert [item["hand_off_agent"] for item in held] == ["ada"] * 3
    assert all(item["gsi_hand_off_queue"] == f"held#{item['company_id']}" for item in held)


def test_every_further_company_has_conversations_of_customers_of_its_own(further):
    assert len({item["company_id"] for item in further}) == 60
    assert max(Counter(item["primary_channel"] for item in further).values()) == 1
    assert all(
        re.fullmatch(r"\+44\d{3}4960\d{3}|[a-z.]+\.\d+@example\.org", each["primary_channel"]) for each in further
    )


def test_further_companies_send_with_the_shared_secrets(further):
    company, project = volume.SHARED
    shared = {credentials_of(company, project, channel) for channel in project["channels"]}
    named = {item["channel_config"][name][f"{name}_credentials_id"] for item in further for name in project["channels"]}
    assert named == shared


def test_texts_have_no_braces_left(busy, further):
    assert not [text for text in texts([*busy, *further]) if "{" in text]


def test_items_of_the_demo_hold_further_companies_and_register_them():
    before, after = list(demo.items(NOW)), list(demo.items(NOW, 3))
    added = Counter(table for table, _ in after) - Counter(table for table, _ in before)
    assert added["CONSOLE"] == 3
    names = [item["name"] for table, item in after if table == "CONSOLE" and item["pk"] == "COMPANIES"]
    assert names[-3:] == [each["name"] for each in volume.further_companies(3)]
    assert added["CONVERSATIONS"] >= 4


def test_unknown_word_in_braces_is_told_with_file_and_line(tmp_path, monkeypatch):
    (tmp_path / "larkfield.txt").write_text("=== pi-lar-del 1\nstatus: completed\ncustomer: Hi {nobody}\n")
    monkeypatch.setattr("demo.dialogues.FOLDER", tmp_path)
    monkeypatch.setattr(volume, "_names", lambda: (["Ann"], ["Lee"]))
    with pytest.raises(DialogueError, match=r"^larkfield\.txt:3: only these stand in braces: first, "):
        list(volume.items(NOW))
