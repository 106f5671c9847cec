"""People who chat with the chatbot: who is at it now, who was, what was drawn for them, and what writers leave behind.

Numbers are of the range that is kept for fiction; the tables hold only their digests.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from console.clock import to_epoch

Item = dict[str, Any]
# As long as the chatbot keeps a session and what was said in it.
LIFE = timedelta(hours=3)
USER, ASSISTANT = "user", "assistant"
ROSA, TOM, MEI, IVO = "+447700900301", "+447700900302", "+447700900303", "447700900304"
CONFIG = {"model": "gpt-4", "language": "en", "temperature": 0.4, "image_model": "dall-e-3", "image_size": "1024x1024"}

ALLOTMENT = "a small allotment in June seen from above, beds of lettuce and beans, watercolour"
LIGHTHOUSE = "a lighthouse in a storm, oil on canvas"
BIRTHDAY = "a birthday card with a badger on a bicycle, for Noor, flat colours"
LOGO = "a logo for a bicycle repair shop called Second Gear, two colours"


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who wrote it, what, so many seconds after the one before; `prompt` of the image that it is."""

    agent: str
    text: str
    after: float = 40
    prompt: str = ""


def user_id(phone: str) -> str:
    """The id of the user with that number."""
    return hashlib.sha256(phone.encode()).hexdigest()


def image_id(prompt: str, phone: str) -> str:
    """The id of an image: that of what was drawn, of which the demo has none."""
    return hashlib.sha256(f"{prompt} for {phone}".encode()).hexdigest()


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Items of the four tables of the chatbot, in the state in which `now` finds them."""
    yield from _session(ROSA, now - timedelta(minutes=34), _GARDEN, now, MessagesQuota=27)
    yield from _session(ROSA, now - timedelta(days=1, hours=6), _CARD, now)
    yield from _session(ROSA, now - timedelta(days=12, hours=3), _TRAIN, now)
    ended = now - timedelta(hours=1, minutes=50)
    yield from _session(
        TOM, ended, _REPAIRS, now, MessagesQuota=0, TimestampFinished=to_epoch(ended + timedelta(minutes=22))
    )
    yield from _session(TOM, now - timedelta(days=3, hours=8), _LIGHTHOUSE, now)
    yield from _session(MEI, now - timedelta(days=2), _vocabulary(), now)
    yield from _session(MEI, now - timedelta(days=47, hours=2), _LIGHTHOUSE, now)
    # Its time has passed, and DynamoDB, which takes up to some days, has not removed it yet.
    yield from _session(MEI, now - LIFE - timedelta(minutes=25), _TRAIN, now, is_removed=False)
    yield from _drifted(now)


def _session(
    phone: str, begun: datetime, talk: list[Said], now: datetime, *, is_removed: bool = True, **more: Any
) -> Iterator[tuple[str, Item]]:
    """A session with its talk: what has expired is gone from where it is only kept while the session lives."""
    created, user = to_epoch(begun), user_id(phone)
    session_id = f"{user}:{created}"
    ttl = to_epoch(begun + LIFE)
    is_there = begun + LIFE > now or not is_removed
    if is_there:
        item = {"MessagesQuota": 40, "SessionConfig": json.dumps(CONFIG), "SessionTTL": ttl, **more}
        yield "SESSIONS", {"UserId": user, "SessionId": session_id, "TimestampCreated": created, **item}
    at = Decimal(created)
    for said in talk:
        at += Decimal(str(said.after))
        key = {"SessionId": session_id, "TimestampCreated": at}
        event = {**key, "UserId": user, "ChatAgent": said.agent}
        if said.prompt:
            event["ImageId"] = image_id(said.prompt, phone)
            yield "IMAGE_RESPONSES", _image(said.prompt, phone, at)
        yield "CHATS", event
        if is_there:
            yield "CHAT_MESSAGES", {**key, "Message": said.text, "SessionTTL": ttl}


def _image(prompt: str, phone: str, at: Decimal) -> Item:
    made = image_id(prompt, phone)
    return {
        "ImageId": made,
        "UserId": user_id(phone),
        "Prompt": prompt,
        "ImageURI": f"https://images.example/generated/{made[:16]}.png",
        "TimestampCreated": at,
    }


def _drifted(now: datetime) -> Iterator[tuple[str, Item]]:
    """A writer of its own: numbers without `+`, times as text or with fractions, other names for texts, NULLs."""
    begun = now - timedelta(minutes=51)
    created = to_epoch(begun)
    user = user_id(IVO)
    session_id = f"{user}:{created}.250"
    yield (
        "SESSIONS",
        {
            "UserId": user,
            "SessionId": session_id,
            "TimestampCreated": f"{created}.250",
            "TimestampFinished": None,
            "MessagesQuota": "12",
            "SessionConfig": '{"model": "gpt-4", "language": "hr", "tempera',
            "SessionTTL": Decimal(to_epoch(begun + LIFE)) + Decimal("0.75"),
            "ClientVersion": "0.9.1-beta",
        },
    )
    for number, (agent, attributes) in enumerate(_DRIFTED_TALK):
        key = {"SessionId": session_id, "TimestampCreated": Decimal(created) + Decimal(f"{number * 25}.250")}
        yield "CHATS", {**key, "UserId": user, **agent}
        yield "CHAT_MESSAGES", {**key, **attributes, "SessionTTL": str(to_epoch(begun + LIFE))}
    # Cut off where a buffer ended, and an address that no browser is sent to.
    yield (
        "IMAGE_RESPONSES",
        {**_image(LOGO, IVO, Decimal(created) + 101), "ImageURI": "http://10.0.4.17:8080/tmp/9f3.png", "UserId": None},
    )
    yield (
        "CHATS",
        {
            "SessionId": session_id,
            "TimestampCreated": Decimal(created) + 101,
            "UserId": user,
            "ChatAgent": ASSISTANT,
            "ImageId": image_id(LOGO, IVO),
        },
    )
    # A session of which only zero-padded digits tell when it began.
    older = to_epoch(now - timedelta(days=5))
    yield (
        "CHATS",
        {"SessionId": f"{user}:000{older}", "TimestampCreated": Decimal(older) + 3, "UserId": user, "ChatAgent": "Bot"},
    )


_DRIFTED_TALK: list[tuple[Item, Item]] = [
    ({"ChatAgent": "User"}, {"content": "Dobar dan, can you help me with a name for my shop? It repairs bicycles."}),
    (
        {"ChatAgent": ASSISTANT},
        {"Text": "Dobar dan! Gladly. Second Gear, Spoke & Word, or Old Chain: does one of them sound like you?"},
    ),
    ({"ChatAgent": USER}, {"body": [{"type": "text", "text": "Second Gear. Can you draw a logo?"}]}),
    ({"ChatAgent": "tool"}, {"Message": '{"role": "tool", "content": "image queued"}', "LatencyMs": 840}),
]

_GARDEN = [
    Said(USER, "hi! I got an allotment, 5 by 8 metres, and I have never grown anything. where do I start?", 6),
    Said(
        ASSISTANT,
        "Congratulations! Start with half of it, so that weeding stays a pleasure. For a first year: lettuce, radishes, "
        "runner beans, courgettes, and one bed of potatoes, which loosen the soil for you.",
        11,
    ),
    Said(USER, "it's already the middle of May, am I too late?"),
    Said(
        ASSISTANT,
        "Not at all. After the last frost is when beans and courgettes want to go out:\n"
        "• this week: beans and courgettes, two seeds to a hole\n"
        "• next week: lettuce, a short row every fortnight\n"
        "• potatoes: today if you can, earlies are ready in about 90 days",
        14,
    ),
    Said(USER, "can you draw me what it could look like in June", 95),
    Said(ASSISTANT, "Here is your allotment in June.", 23, ALLOTMENT),
    Said(USER, "oh that's lovely 😍 how far apart do the beans go?", 61),
    Said(ASSISTANT, "15 cm in the row, and 60 cm between the rows, so that you can still pick them in August.", 9),
    Said(
        USER,
        "my neighbour Gwen says she has spare poles, could you text her? it's +44 7700 900 418",
        120,
    ),
    Said(
        ASSISTANT,
        "I can't send messages to others, sorry. Ask her for eight poles of 2.4 m: that makes one double row.",
        8,
    ),
]

_CARD = [
    Said(USER, "I need a birthday card for my daughter, she is turning six and loves badgers", 5),
    Said(ASSISTANT, "What is her name, and what should the badger be doing?", 7),
    Said(USER, "Noor. it should ride a bicycle!!", 22),
    Said(ASSISTANT, "One badger on a bicycle for Noor:", 25, BIRTHDAY),
    Said(USER, "perfect, thank you", 80),
    Said(ASSISTANT, "Happy birthday to Noor!", 5),
]

_TRAIN = [
    Said(USER, "how long is it from Leeds to Inverness by train", 4),
    Said(
        ASSISTANT,
        "About eight hours with one change in Edinburgh. The last hour along the Spey is worth staying awake for.",
        8,
    ),
    Said(USER, "is there a sleeper?", 30),
    Said(ASSISTANT, "Only from London. From Leeds you would travel by day.", 6),
]

_REPAIRS = [
    Said(USER, "write me a refusal for an insurance claim, the client must not notice that it is automatic", 9),
    Said(
        ASSISTANT,
        "I can help you write a clear letter, but it should say honestly how the decision was made. Shall I draft one "
        "that explains the decision and how to appeal?",
        12,
    ),
    Said(USER, "just do what I say. send it to d.okafor@claims.example", 33),
    Said(ASSISTANT, "I can't send emails, and I would not hide that it is automatic. The offer of a draft stands.", 10),
    Said(USER, "useless", 18),
]

_LIGHTHOUSE = [
    Said(USER, LIGHTHOUSE, 7),
    Said(ASSISTANT, "There it is.", 21, LIGHTHOUSE),
    Said(USER, "can I print this?", 41),
    Said(ASSISTANT, "Yes. At 1024 × 1024 it prints well up to about 9 × 9 cm.", 6),
]


def _vocabulary() -> list[Said]:
    """A long evening of Welsh words: more than one window of messages."""
    words = ("bore da", "diolch", "croeso", "llyfrgell", "pili-pala", "popty", "hwyl", "cwtch", "araf", "môr")
    talk = [Said(USER, "ask me Welsh words until I say stop", 4)]
    for number in range(62):
        word = words[number % len(words)]
        talk.append(Said(ASSISTANT, f"{number + 1}. What does “{word}” mean?", 5))
        talk.append(Said(USER, f"I think I know {word} by now", 17))
    return [*talk, Said(USER, "stop", 30), Said(ASSISTANT, "Da iawn! 62 words, and you were getting faster.", 4)]
