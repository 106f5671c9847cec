"""Hostile strings typed into every field, and led to by addresses: they are echoed as text, in chromium."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from tests.browser.hostile import SPELLINGS, plain
from tests.crawl.hostile.strings import STRINGS, joined, storable
from tests.people import COMPANY
from tests.scenario import person

GROUPS = 10
FIND = "/conversations/find/"
SEND = """([address, fields]) => {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = address;
  const token = document.querySelector('[name=csrfmiddlewaretoken]').value;
  for (const [name, value] of Object.entries({...fields, csrfmiddlewaretoken: token})) {
    const field = document.createElement('textarea');
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}"""


def addresses_with(text: str) -> list[str]:
    """Addresses that somebody could be led to, with a text wherever an address can have one."""
    word = quote(text, safe="")
    return [
        f"/conversations/?name={word}",
        f"/conversations/?company={word}",
        f"/conversations/companies/{word}/?status={word}",
        f"/conversations/companies/{COMPANY}/?status={word}&channel={word}&hand_off={word}&task={word}&page={word}",
        f"{FIND}?found={word}",
        f"/audit/trails/{word}/?page={word}",
        f"/conversations/{word}/?in={word}&at={word}&before={word}",
    ]


def forms_with(text: str) -> list[tuple[str, dict[str, str]]]:
    """Forms with a text typed into every field: (address, fields)."""
    return [
        (FIND, {"look": "recipient", "recipient": text}),
        (FIND, {"look": "replies", "channel": text, "ours": text, "recipient": text}),
        (FIND, {"look": "id", "conversation_id": text}),
        (FIND, {"look": text}),
    ]


def few_at_a_time() -> Iterator[list[str]]:
    """All strings, as many at once as one of the queue's filters takes."""
    group: list[str] = []
    for text in STRINGS:
        if group and len(joined([*group, text])) > 200:
            yield group
            group = []
        group.append(text)
    yield group


def echoes(seen: dict[str, Any], group: Iterable[str]) -> set[str]:
    """Which of these strings a page shows, in its text or in a field."""
    shown = [plain(each) for each in (seen["text"], *seen["fields"])]
    return {text for text in group if any(SPELLINGS[text[-4:]][0] in each for each in shown)}


def test_every_string_typed_into_every_field_is_echoed_as_text(store, visit):
    """Twenty at a time where a field takes any length and shows it again; one or a few in the queue's filters."""
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "A company", "source": "test", "seen_at": "now"})
    visitor = visit(person("ada.admin", "admin", ["*"]))
    page, echoed = visitor.page, defaultdict[str, set[str]](set)
    for number in range(GROUPS):
        group = STRINGS[number::GROUPS]
        typed = storable(joined(group))
        for address in addresses_with(typed):
            page.goto(address)
            echoed[address.split("=")[0]] |= echoes(visitor.look("address"), group)
        page.goto(FIND)
        for address, fields in forms_with(typed):
            with page.expect_navigation():
                page.evaluate(SEND, [address, fields])
            echoed[fields["look"][:20]] |= echoes(visitor.look("form"), group)
    for group in few_at_a_time():
        word = quote(storable(joined(group)), safe="")
        page.goto(f"/queue/?tab={word}&company={word}&project={word}&channel={word}")
        echoed["queue"] |= echoes(visitor.look("queue"), group)
    every = set(STRINGS)
    for place in ("/conversations/?name", "recipient", "replies", "id", "queue"):
        assert echoed[place] == every, (place, every - echoed[place])


def test_every_string_typed_into_the_sign_in_form_is_echoed_as_text(store, visit):
    """Nobody is signed in, and a wrong name is shown again."""
    visitor = visit()
    for number in range(GROUPS):
        group = STRINGS[number::GROUPS]
        typed = storable(joined(group))
        visitor.page.goto(f"/sign-in/?next={quote(typed, safe='')}")
        visitor.look("sign-in")
        with visitor.page.expect_navigation():
            visitor.page.evaluate(SEND, ["/sign-in/", {"username": typed, "password": "-", "next": typed}])
        assert echoes(visitor.look("sign-in"), group) == set(group)
