"""What a message has beside its text, in words: whatever the provider calls it, and whatever is in it."""

import json
from typing import Any

import pytest

from conversations.messages.bodies import InboundMessage, inbound_message
from conversations.messages.message import REACTION
from tests.dynamodb import to_dynamodb

TWILIO = "https://api.twilio.com/2010-04-01/Accounts/ACx/Messages/MMb/Media/ME1"


def message(**content: Any) -> InboundMessage:
    address = {"from": "whatsapp:+447700900555", "to": "whatsapp:+441134960000", "message_sid": "MMb"}
    return inbound_message({**address, "body": "", **content})


def media(*kinds: str) -> dict[str, Any]:
    numbered = {f"MediaContentType{number}": kind for number, kind in enumerate(kinds)}
    return {"NumMedia": str(len(kinds)), **numbered, **{f"MediaUrl{number}": TWILIO for number in range(len(kinds))}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (media("audio/ogg"), "Voice note"),
        (media("audio/ogg; codecs=opus"), "Voice note"),
        (media("image/jpeg"), "Photo (JPEG)"),
        (media("image/webp"), "Sticker"),
        (media("audio/mpeg"), "Audio (MPEG)"),
        (media("video/mp4"), "Video (MP4)"),
        (media("text/vcard"), "Contact card"),
        (media("application/pdf"), "Document (PDF)"),
        (media("application/pdf") | {"MediaFilename0": "lease.pdf"}, "Document (lease.pdf)"),
        (media("x-unknown/x-y"), "Document (Y)"),
        (media(""), "Document"),
        (media("image/jpeg", "image/png"), "Photo (JPEG)\nPhoto (PNG)"),
        (media("image/jpeg") | {"body": "My door"}, "My door\nPhoto (JPEG)"),
        (media(*["image/png"] * 30), "\n".join(["Photo (PNG)"] * 20 + ["and 10 more"])),
        (
            {"Latitude": "51.5014", "Longitude": "-0.1419", "Address": "12 High Street", "Label": "Home"},
            "Location: Home, 12 High Street",
        ),
        ({"Latitude": 51.5, "Longitude": -0.1}, "Location: 51.5,-0.1"),
        ({"ButtonText": "Yes, please", "body": "Yes, please"}, "Yes, please"),
        ({"ButtonText": "Yes, please"}, "Button: Yes, please"),
        ({"ListTitle": "Tuesday"}, "List choice: Tuesday"),
        ({"MessageType": "reaction", "body": "👍"}, "Reaction 👍"),
        ({"ReactionEmoji": "👍"}, "Reaction 👍"),
        ({"subject": "My lease", "body": "See below"}, "See below\nSubject: My lease"),
        (
            {"attachments": [{"filename": "lease.pdf", "type": "application/pdf", "size": 200_000}]},
            "Attachment: lease.pdf, 200 kB",
        ),
        (
            {"attachments": "1", "attachment-info": json.dumps({"attachment1": {"filename": "a.png", "size": 2e6}})},
            "Attachment: a.png, 2.0 MB",
        ),
        ({}, "Message without words"),
        ({"MessageType": "poll"}, "Message without words (of the kind “poll”)"),
        ({"NumMedia": "0", "MessageType": "text", "body": "Hello"}, "Hello"),
    ],
)
def test_a_message_has_words(content, words):
    assert message(**content).content == words


def test_types_and_references_are_kept():
    [part] = message(**media("audio/ogg")).parts
    assert (part.content_type, part.url) == ("audio/ogg", TWILIO)
    [place] = message(Latitude="1", Longitude="2").parts
    assert place.url == "geo:1,2"
    [reaction] = message(MessageType="reaction", body="👍").parts
    assert reaction.kind == REACTION


@pytest.mark.parametrize("url", ["javascript:alert(1)", "http://a b", ["https://x"], "https://x/" + "a" * 3000])
def test_a_reference_that_is_no_address_is_not_kept(url):
    [part] = message(NumMedia=1, MediaContentType0="image/png", MediaUrl0=url).parts
    assert len(part.url) <= 1_000
    assert part.url.startswith(("https://", "http://")) or part.url == ""
    assert " " not in part.url


@pytest.mark.parametrize(
    "hostile",
    [
        {"NumMedia": "99999999999"},
        {"NumMedia": [1]},
        {"NumMedia": True},
        {"NumMedia": "-3", "MediaUrl0": TWILIO},
        {"attachments": "[" * 100_000},
        {"attachments": [1, None, {"filename": ["a"], "size": "x"}]},
        {"attachment-info": "{"},
        {"subject": {"a": 1}, "Latitude": [], "Longitude": {}},
        {"ButtonText": "x" * 100_000},
        {"MessageType": "<script>" * 1000},
    ],
    ids=lambda each: next(iter(each)),
)
def test_nothing_in_a_message_hides_its_text(hostile):
    found = message(body="Hello", **hostile)
    assert found.content.startswith("Hello")
    assert len(found.content) < 5_000
    assert to_dynamodb({"content": found.content})
