"""Images: by exact prompt through its index, one of them, and which addresses a browser may ever be sent to."""

import pytest

from console.errors import NotFound, StoreUnavailable
from conversations.records import Picture
from conversations.stores.chats.images import host_of
from conversations.stores.chats.keys import reference_of
from tests import faults
from tests.support.conversations.stores.chats.kit import (
    ADMIN,
    AUDITOR,
    IMAGE,
    PROMPT,
    USER,
    ago,
    fact,
    image,
    listing,
    record,
)
from tests.tables import create

URI = "https://images.example/a.png"


def by_prompt(prompt=PROMPT, **which):
    return listing("prompt", prompt, **which)


def test_images_of_a_prompt_are_listed_newest_first_by_one_query_of_the_index(store):
    store.put_all(
        "IMAGE_RESPONSES", [image(f"i{number}", TimestampCreated=ago(days=number)) for number in range(1, 61)]
    )
    store.put("IMAGE_RESPONSES", image("other", Prompt="another"))
    with store.calls() as seen:
        page = by_prompt()
    assert [(call.operation, call.index) for call in seen] == [("Query", "PromptGlobalIndex")]
    second = by_prompt(cursor=page.next)
    ids = [row.place.parts[1] for row in (*page.rows, *second.rows)]
    assert ids == [f"i{number}" for number in range(1, 61)]
    assert len(by_prompt(cursor=page.next, who=AUDITOR).rows) == 50
    assert len(by_prompt("another", cursor=page.next).rows) == 1


def test_prompts_in_lists_are_redacted_for_everybody(store):
    prompt = "a card for +447700900123"
    store.put("IMAGE_RESPONSES", image(Prompt=prompt))
    for who in (ADMIN, AUDITOR):
        page = by_prompt(prompt, who=who)
        assert (page.rows[0].name, page.about) == ("a card for ***-***-0123",) * 2


def test_an_image_has_its_prompt_its_picture_and_ways_on(store):
    store.put("IMAGE_RESPONSES", image(Prompt="a card for +447700900123"))
    with store.calls() as seen:
        page = record("image", IMAGE)
    assert [call.operation for call in seen] == ["GetItem"]
    assert fact(page, "Prompt").value == "a card for +447700900123"
    assert page.picture == Picture(reference_of(IMAGE), URI, "images.example", "a card for +447700900123")
    assert record("image", IMAGE, show=reference_of(IMAGE)).picture.shown
    assert [link.place.parts for link in page.links] == [
        ("sessions", USER),
        ("prompt", "a card for +447700900123"),
    ]
    assert page.flaws == ()


def test_an_auditor_gets_the_prompt_redacted_and_no_picture(store):
    store.put("IMAGE_RESPONSES", image(Prompt="a card for +447700900123"))
    page = record("image", IMAGE, who=AUDITOR, raw=False, show=reference_of(IMAGE))
    assert page.picture is None
    assert fact(page, "Prompt").value == "a card for ***-***-0123"
    assert URI not in repr(page)


@pytest.mark.parametrize(
    "uri",
    [
        "http://images.example/a.png",
        "javascript:alert(1)",
        "data:image/png;base64,AAAA",
        "https://me:secret@images.example/a.png",
        "https://me@images.example/a.png",
        "https://localhost/a.png",
        "https://127.0.0.1/a.png",
        "https://[::1]/a.png",
        "https://169.254.169.254/latest",
        "https://images.example:8443/a.png",
        "https://images.example:x/a.png",
        "https://images.example;script-src/a.png",
        "https://images.example\\@evil.example/a.png",
        "https://images.example /a.png",
        "https://images.example/\nx",
        "https://ïmages.example/a.png",
        "https://-a.example/",
        "https://",
        "//images.example/a.png",
        "https://images.example/" + "a" * 3000,
        7,
        ["https://images.example/a.png"],
    ],
)
def test_what_is_no_https_address_of_a_plain_host_is_never_loaded(store, uri):
    assert host_of(uri) == ""
    store.put("IMAGE_RESPONSES", image(ImageURI=uri))
    page = record("image", IMAGE)
    assert page.picture is None
    assert any(flaw.startswith("ImageURI: ") for flaw in page.flaws)


@pytest.mark.parametrize(
    "uri", [URI, "HTTPS://Images.Example/a", "https://a.b-c.example:443/x?y=1&z=%20", "https://xn--mages-0sa.xn--p1ai/"]
)
def test_plain_https_addresses_are(uri):
    assert host_of(uri)


@pytest.mark.parametrize(
    ("drift", "flaw"),
    [
        ({"Prompt": ...}, "Prompt: missing"),
        ({"UserId": None}, "UserId: NULL"),
        ({"UserId": 7}, "UserId: number instead of text"),
        ({"ImageURI": ""}, "ImageURI: empty text"),
        ({"TimestampCreated": ...}, "TimestampCreated: missing"),
        ({"Model": "dall-e-3"}, "unknown attributes: Model"),
    ],
)
def test_an_odd_image_is_flagged(store, drift, flaw):
    store.put("IMAGE_RESPONSES", image(**drift))
    page = record("image", IMAGE)
    assert flaw in page.flaws
    assert bool(page.unknown) == ("Model" in drift)


def test_without_the_index_the_list_says_so(bare_store):
    create(bare_store, "IMAGE_RESPONSES", GlobalSecondaryIndexes=None)
    page = by_prompt()
    assert page.rows == ()
    assert page.notices == (
        "Images could not be found by their prompt: the index PromptGlobalIndex is missing in this environment.",
    )


def test_a_failing_table_is_an_error(store):
    with faults.fail_before(times=faults.ALWAYS):
        for ask in (by_prompt, lambda: record("image", IMAGE)):
            with pytest.raises(StoreUnavailable):
                ask()
    with pytest.raises(NotFound):
        record("image", IMAGE)
