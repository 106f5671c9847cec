"""Hostile strings in every stored text: they are text, and nothing but text, in chromium.

How every string meets every stored text on every page: the strings (one in `HOSTILE_EVERY`; 1 takes all 200) are dealt
into groups, and for each group the whole store is filled anew. Each stored text holds all strings of the group, each
followed by a tag that names the text (`~abcd~`), so that a page tells which strings of which stored text it shows,
whole. A text that pages cut short shows the first strings only; therefore each next text of the same name begins two
strings further on, and as there are many conversations, entries and messages, all have been among the first somewhere.
At the end, each page must have shown all of these strings of each stored text that it shows at all. What pages cut so
short that this cannot be (a cell of a list, a label, a flag) has each of the 200 alone, in tests of their own.
"""

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from django.urls import reverse

from conversations.converting import reference_of
from conversations.lists.saved_views.records import SHARED
from conversations.stores.tenant_conversations.reading import reference_of as tenant_reference_of
from tests.browser.hostile import SPELLINGS, Texts, Visitor, plain, press_all
from tests.crawl.hostile.strings import LONG_WORD, STRINGS, storable
from tests.dynamodb import from_dynamodb
from tests.people import COMPANY
from tests.scenario import Scenario, Side, build, person, urls
from tests.scenario.tenants import ONBOARDED
from tests.support.tenants.items import tenant, user

EVERY = int(os.environ.get("HOSTILE_EVERY", 4))
DEALT = STRINGS[::EVERY]
# Strings in a group for pages that show many texts, or show them in part; and for the others.
GROUP, LARGER_GROUP = 20, 67
# Redirects, fragments that are put into a page by pressing what is on it, and files.
LED_TO = {
    *("home", "sign-in", "conversation-step", "conversation-last-message", "conversation-updates", "insight-csv"),
    *("notices-moved", "conversation-updates-moved", "insight-behind-csv"),
}
# Of these every address shows something else; of the others the first will do.
WHOLE = {"queue", "conversations", "conversation-find", "trail", "store-list", "store-record"}
# Of a store's texts its lists show parts, and its records many: that all is text is looked at, not that all is there.
UNCOUNTED = {"store", "store-list", "store-record", "store-action"}
# What is about conversations: their texts are many, and long.
LONG = re.compile(r"queue|conversation|company|project|recipient|replies|trail|audit|event")


# What lists cut short, and show of a few objects only: the rows below have each string in each of them.
CUT_IN_LISTS = {
    "registry.name",
    "conversation.company_name",
    "conversation.project_name",
    "hand_off.reason",
    "message.last",
    "saved_view.name",
    "saved_view.own_name",
    "saved_view.list_name",
    "tenant.name",
    *(f"tenant.name.{purpose}" for purpose in ONBOARDED),
    *(f"{user}.display_name" for user in ("admin", "changing", "leaving")),
}
# One short line of each: the test of JSON text has each string alone in each of them.
LINES = {"state.risk_flag", "message.role", "message.tool"}
# What pages show of one object only, or cut to a line: not each string comes first there.
IN_PART = {
    # Of a reason to search its beginning.
    "admin: access-log": ("entry.",),
    **{f"admin: access-log-{of}": ("entry.reason",) for of in ("person", "conversation", "recipient")},
    "admin: conversation": (
        "state.unknown attribute",
        "reply.author_name",
        # Each message to place stands on its own conversation.
        "not_placed.",
    ),
    "admin: conversation-timeline": ("received.", "state.", "message.", "conversation.", "entry.result"),
    "admin: trail": ("state.",),
    "admin: company": ("received.content",),
    "admin: queue-to-approve": ("first.",),
    **{f"admin: saved-reply-{of}": ("saved_reply.",) for of in ("change", "delete")},
    "admin: conversation-saved-replies": ("saved_reply.", "conversation."),
    "admin: messages-not-placed": ("not_placed.",),
    "admin: audit": ("record.mode",),
    "admin: audit-entry": ("entry.",),
    "admin: tenant-memories": ("memory.",),
    "admin: tenant-users": ("leaving.memory",),
    "admin: tenant-conversations": ("tenant.updated_at",),
    "admin: tenant-conversation": ("tenant.message.role", "tenant.message.tool"),
}
# Where colleagues are named, in as many letters as a line has room for.
NAMED = {
    f"admin: {page}"
    for page in (
        *("queue", "conversation", "conversation-timeline", "conversation-give", "team", "agent-groups"),
        "insight-behind",
    )
}
# A longer string is not shown whole on each page, as panels show so much of a text; messages show all of it.
SHOWN_OF_A_TEXT = 100


def pages_of(scenario: Scenario, role: str, *sides: Side) -> list[tuple[str, str]]:
    """What is visited as that role: (name of the page, address), and all conversations of these sides."""
    account = scenario.people[role]
    found = [
        (f"{role}: {name}", url)
        for name, addresses in urls(scenario.ours, scenario, account).items()
        for url in (addresses if name in WHOLE else addresses[:1])
        if name not in LED_TO and not re.search(r"[?&](page|channel|name|tab=waiting)\b", url)
    ]
    found += [
        (f"{role}: conversation", reverse("conversation", args=[reference_of(*key)]))
        for side in sides
        for key in side.keys.values()
    ]
    return list(dict.fromkeys(found))


def tour(
    visitor: Visitor, scenario: Scenario, role: str, texts: Texts | None = None, wanted: Callable[[str], object] = bool
) -> None:
    """Every page of that role, with what htmx puts into it; for texts of which pages show a part, all conversations."""
    for kind, url in pages_of(scenario, role, *((scenario.ours,) if texts else ())):
        if not wanted(kind):
            continue
        visitor.page.goto(url)
        if kind.endswith(": company"):
            press_all(visitor.page, "tr:not(:has(+ .said)) td.last a[hx-get]")
        # A page that leads on to another is seen where it leads to.
        is_there = urlsplit(visitor.page.url).path == urlsplit(url).path
        visitor.look(kind, texts if is_there and kind.partition(": ")[2] not in UNCOUNTED else None)


def peek(visitor: Visitor, scenario: Scenario, role: str, texts: Texts | None = None) -> None:
    """A conversation that one holds, opened as somebody with other rights, with its recipient and timeline."""
    for kind, url in (
        (f"{role}: queue", reverse("queue") + "?tab=mine"),
        (f"{role}: conversation", reverse("conversation", args=[scenario.ours.conversation_ref])),
    ):
        visitor.page.goto(url)
        if "conversation" in kind:
            press_all(visitor.page, "#recipient form.do button")
            press_all(visitor.page, "#timeline a[hx-get]:not([rel])")
        visitor.look(kind, texts)


def dealt_into_groups_of(size: int) -> list[tuple[str, ...]]:
    """The strings in groups of about that size, neighbours in different ones."""
    groups = math.ceil(len(DEALT) / size)
    return [DEALT[number::groups] for number in range(groups)]


def test_every_string_in_every_stored_text_is_shown_as_text(store, visit):
    shown: dict[tuple[str, str], set[str]] = defaultdict(set)
    about_conversations = partial(tour, wanted=LONG.search)
    about_others = partial(tour, wanted=lambda kind: not LONG.search(kind))
    rounds = [
        *(
            (group, (("admin", about_conversations), ("agent", peek), ("auditor", peek)))
            for group in dealt_into_groups_of(GROUP)
        ),
        *((group, (("admin", about_others),)) for group in dealt_into_groups_of(LARGER_GROUP)),
    ]
    for group, tours in rounds:
        store.empty()
        texts = Texts(group)
        scenario = build(store, texts)
        for role, go in tours:
            visitor = visit(scenario.people[role])
            go(visitor, scenario, role, texts)
            visitor.page.close()
            for kind, names in visitor.shown.items():
                for name, codes in names.items():
                    shown[kind, name] |= codes
    missing = {
        (kind, name): len(left)
        for (kind, name), codes in shown.items()
        # Who only peeks sees one conversation of each group: of a text that is cut short not each string came first.
        if kind.startswith("admin") and (left := to_be_seen(kind, name, codes))
    }
    assert not missing, json.dumps([[*key, left] for key, left in missing.items()])
    assert len({kind for kind, _ in shown}) >= 14
    assert len(shown) > 150


def to_be_seen(kind: str, name: str, codes: set[str]) -> set[str]:
    """What a page should have shown of a stored text and has not, as code words."""
    if name in CUT_IN_LISTS and kind not in ("admin: conversation", "admin: conversation-raw"):
        return set()
    # Of the entries, a conversation shows the hand-offs among its messages; the timeline shows all.
    if kind == "admin: conversation" and (name in LINES or name.startswith("entry.")):
        return set()
    if name.startswith(IN_PART.get(kind, ())) or (name.endswith(".display_name") and kind in NAMED):
        return set()
    # A value below a hostile key is masked where the key happens to read like a credential's.
    if name.endswith((".deep", "conversation.unknown", "message.tree")) and len(codes) > len(DEALT) / 2:
        return set()
    return {text[-4:] for text in DEALT if len(storable(text)) <= SHOWN_OF_A_TEXT} - codes


def test_strings_in_json_text_are_shown_as_text(store, visit):
    """Writers that store messages as JSON text can leave halves of pairs in it, which no DynamoDB text can hold."""
    scenario = build(store)
    texts = Texts(STRINGS)
    entries = []
    for each in STRINGS:
        call = {"type": "tool_use", "name": each, "input": json.dumps({"q": each, each: "a key"})}
        entries.append({"role": each, "content": [call, each]})
    visitor = visit(scenario.people["admin"])
    recipient, conversation_id = scenario.ours.keys["ai"]
    url = reverse("conversation", args=[reference_of(recipient, conversation_id)])
    key = {"primary_channel": recipient, "conversation_id": conversation_id}
    for start in range(0, len(entries), 50):
        group = STRINGS[start : start + 50]
        tagged = [entry | {"entry_id": f"e{number}"} for number, entry in enumerate(entries[start : start + 50])]
        store.update("CONVERSATIONS", key, messages=json.dumps(tagged))
        flags = {storable(each) for each in group}
        store.update("CONVERSATION_STATE", {"conversation_id": conversation_id}, risk_flags=flags)
        visitor.page.goto(url)
        text = plain(visitor.look("json", texts)["text"])
        for each in group:
            # The role, the tool's name, a key and a value of its input, a part of the content; a flag of the state.
            # Roles and flags are cut to a line, names to two.
            assert text.count(SPELLINGS[each[-4:]][0]) >= (6 if len(each) <= 40 else 4 if len(each) <= 110 else 3), each
        visitor.page.goto(f"{url}raw/")
        visitor.look("json, raw", texts)


def test_strings_in_tenants_conversations_are_shown_as_text(store, visit):
    """Each alone in what pages cut to a line, in structured messages, and in text that is no JSON."""
    scenario = build(store)
    texts = Texts(STRINGS)
    listed = reverse("tenant-conversations", args=[COMPANY])
    url = reverse("tenant-conversation", args=[COMPANY, tenant_reference_of(COMPANY, "conv-read")])
    visitor = visit(scenario.people["admin"], widths=(360, 1280))

    def seen_with(messages: str) -> str:
        store.update("TENANT_CONVERSATIONS", {"pk": COMPANY, "sk": "conv-read"}, messages=messages)
        visitor.page.goto(url)
        return plain(visitor.look("tenant's conversation", texts)["text"])

    for start in range(0, len(STRINGS), 50):
        group = STRINGS[start : start + 50]
        used = [{"type": "tool_use", "name": each, "input": {each: "a key", "q": each}} for each in group]
        entries = [
            {"role": each, "content": [call, each], "meta": {each: "a key"}}
            for each, call in zip(group, used, strict=True)
        ]
        text = seen_with(json.dumps(entries))
        for each in group:
            # The role, the tool's name, a key and a value of its input, a part of the content, a key beside it.
            assert text.count(SPELLINGS[each[-4:]][0]) >= (6 if len(each) <= 40 else 4 if len(each) <= 110 else 3), each
    text = seen_with("\n".join(map(storable, STRINGS)))
    assert not [each for each in STRINGS if plain(storable(each)) not in text]
    rows = [
        {"pk": COMPANY, "sk": f"conv-{number:03}", "updated_at": storable(each)} for number, each in enumerate(STRINGS)
    ]
    store.put_all("TENANT_CONVERSATIONS", rows)
    visitor.page.goto(listed)
    shown = ""
    for _ in range(10):
        shown += plain(visitor.look("tenant's rows")["text"])
        if not (following := visitor.page.locator("[rel=next]")).count():
            break
        visitor.page.goto(listed + (following.get_attribute("href") or ""))
    assert not [each for each in STRINGS if plain(storable(each))[:25] not in shown]


def test_every_string_in_every_row_of_tenants_is_shown_as_text(store, visit):
    """Alone in the name of a tenant, in a user and in what the settings have beside the schema's keys."""
    account = person("ada.admin", "admin", ["*"])
    for number, each in enumerate(STRINGS):
        text = storable(each)
        store.put("TENANTS", tenant(f"t{number:03}", name=text, status=text))
        store.put("TENANTS", user(f"u{number:03}", "t000", email=text, display_name=text, role=text))
    settings = json.dumps({each: each for each in STRINGS}, ensure_ascii=False)
    store.put("TENANTS", tenant("t000", settings=settings.encode("utf-8", "replace").decode()))
    visitor = visit(account, widths=(360, 1280))
    page, listed = visitor.page, ""
    page.goto("/tenants/")
    for _ in range(10):
        listed += plain(visitor.look("tenants")["text"])
        if not (following := page.locator("[rel=next]")).count():
            break
        page.goto(following.get_attribute("href") or "")
    assert not [each for each in STRINGS[1:] if plain(storable(each))[:25] not in listed]
    page.goto("/tenants/t000/users/")
    users = plain(visitor.look("users")["text"])
    assert not [each for each in STRINGS if plain(storable(each))[:25] not in users]
    for url in ("settings/", "settings/change/", "history/", ""):
        page.goto(f"/tenants/t000/{url}")
        visitor.look("settings")


def test_word_of_five_thousand_letters_never_scrolls_a_page_sideways(store, visit):
    scenario = build(store, lambda name: f"{LONG_WORD}{name}")
    for role, go in (("admin", tour), ("agent", peek)):
        go(visit(scenario.people[role], widths=(360, 1280)), scenario, role)


def test_every_string_in_every_cell_of_a_list_is_shown_as_text(store, visit):
    """A row for each string, alone in every text of it: what lists cut short shows its beginning, and that is text."""
    scenario = build(store)
    recipient, conversation_id = scenario.ours.keys["waiting"]
    item = store.raw("CONVERSATIONS", primary_channel=recipient, conversation_id=conversation_id)
    assert item is not None
    item = from_dynamodb(item)
    store.empty()
    account = person("ada.admin", "admin", ["*"])
    for number, text in enumerate(STRINGS):
        # Ids are the platform's; names and words are anybody's.
        row = dict.fromkeys(("company_name", "project_name", "conversation_status", "channel_method"), storable(text))
        row |= {"hand_off_to_human_reason": storable(text), "conversation_id": f"{conversation_id[:-14]}{number:014}"}
        row |= {"messages": [{"role": storable(text), "content": storable(text)}]}
        store.put("CONVERSATIONS", item | row)
        store.put("CONSOLE", {"pk": "COMPANIES", "sk": f"ci-{number:03}", "name": storable(text), "source": "test"})
        view = {"name": storable(text), "list": "queue", "filters": {"channel": "sms"}, "version": 1}
        store.put("CONSOLE", {"pk": SHARED, "sk": f"{number:03}", **view})
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "A company", "source": "test"})
    visitor = visit(account, widths=(360, 1280))
    page = visitor.page
    for start in (f"/conversations/companies/{COMPANY}/", f"/conversations/recipients/{scenario.ours.recipient_ref}/"):
        page.goto(start)
        texts: list[str] = []
        for _ in range(10):
            press_all(page, "tr:not(:has(+ .said)) td.last a[hx-get]")
            texts.append(visitor.look("rows")["text"])
            if not (following := page.locator("[rel=next]")).count():
                break
            page.goto(following.get_attribute("href") or "")
        shown = plain("".join(texts))
        assert not [text for text in STRINGS if plain(storable(text))[:25] not in shown]
        assert len(texts) >= 4
    page.goto("/views/")
    shown = plain(visitor.look("views")["text"])
    assert not [text for text in STRINGS if plain(storable(text))[:25] not in shown]
    for url in ("/queue/", "/conversations/?name=ci-0", "/conversations/?name=ci-1", "/staff/new/"):
        page.goto(url)
        visitor.look("rows")
