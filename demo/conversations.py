"""Turn dialogues into items of the conversations table, with the records of what colleagues did about them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from console.clock import to_epoch, to_iso
from demo import read_toml
from demo.dialogues import Dialogue, DialogueError, Turn, read, span
from demo.hand_offs import EVENTS, TIMED, WAITING, HandOffs
from demo.middleware import new_id, records

Item = dict[str, Any]
Record = tuple[str, Item]
# A turn and its time.
Timed = tuple[Turn, datetime]

FILES = (
    "waiting", "by-rule", "held", "handed-back", "drift", "long",
    "cucumber", "northwind", "lumen", "harbour", "europe", "right-to-left", "asia", "at-work",
)  # fmt: skip
DRIFT = {"set", "unset", "messages"}
HEADERS = DRIFT | {
    "id", "name", "phone", "email", "channel", "status", "updated", "call", "consent", "expires", "data",
}  # fmt: skip
PROMPT, CUSTOMER, ASSISTANT, RAW = "prompt", "customer", "assistant", "raw"
_ROLES = {PROMPT: "user", CUSTOMER: "user", ASSISTANT: "assistant", RAW: ""}
KINDS = {*_ROLES, *EVENTS}
# What customers write to people: before the demo begins, of which only the provider has some, and after somebody takes
# their conversation in it; and what the AI is answering as it begins.
QUEUED, DROPPED, NEXT, STAGED = "queued", "dropped", "next", "staged"
NOT_TOLD = (QUEUED, DROPPED, NEXT, STAGED)
_LIFETIME = timedelta(days=180)
# The share of conversations without a request for a human that have middleware records.
_WITH_MIDDLEWARE = 0.6
# The prefix of the platform's secrets for AI providers. Nothing here reads them.
_ARN = "arn:aws:secretsmanager:eu-west-2:123456789012:secret:ai-multi-comms"
PROVIDERS = {"whatsapp": "twilio", "sms": "twilio", "email": "sendgrid"}

# Companies and projects by the project's id.
Projects = Mapping[str, tuple[Item, Item]]


def index_projects(companies: Sequence[Item]) -> Projects:
    """Return each project of the companies, with its company, by its id."""
    return {project["id"]: (company, project) for company in companies for project in company["project"]}


COMPANIES: list[Item] = read_toml("companies")["company"]
PROJECTS = index_projects(COMPANIES)


def items(now: datetime) -> Iterator[Record]:
    """Yield conversations and all records about them, as (table key, item). Raises `DialogueError`."""
    for dialogue in dialogues():
        dialogue.turns = [turn for turn in dialogue.turns if turn.kind not in NOT_TOLD]
        yield from tell_story(dialogue, now)


def dialogues() -> Iterator[Dialogue]:
    """Yield every dialogue with a customer. Raises `DialogueError`."""
    for name in FILES:
        yield from read(name, 2, HEADERS, {*KINDS, *NOT_TOLD})


def key_of(dialogue: Dialogue, projects: Projects = PROJECTS) -> tuple[str, str]:
    """Return the key of a dialogue's item: `primary_channel` and `conversation_id`. Raises `DialogueError`."""
    project_id, request_id = dialogue.words
    if project_id not in projects:
        raise DialogueError(dialogue.place, f"no project “{project_id}” in companies.toml")
    recipient = dialogue.needed("email" if dialogue.needed("channel") == "email" else "phone")
    company_id = projects[project_id][0]["id"]
    return recipient, dialogue.get("id", f"{company_id}#{project_id}#{request_id}#{recipient.lstrip('+')}")


def tell_story(
    dialogue: Dialogue, now: datetime, projects: Projects = PROJECTS, *, has_middleware: bool = True
) -> Iterator[Record]:
    """Yield one conversation and its records. Raises `DialogueError`.

    Random numbers are seeded per dialogue, so others do not affect them.
    """
    rng = Random("/".join(dialogue.words))  # nosec B311
    timed = _timed(dialogue, now, rng)
    item = _item(dialogue, timed, now, rng, projects)
    acted = HandOffs(item, rng)
    for turn, at in timed:
        if turn.kind in EVENTS:
            acted.apply(turn, at)
    if DRIFT & set(dialogue.headers) or any(turn.kind == RAW or turn.more for turn in dialogue.turns):
        yield "CONVERSATIONS", dialogue.as_written(item)
        return
    yield "CONVERSATIONS", item
    yield from acted.records
    if has_middleware and (acted.asked or rng.random() < _WITH_MIDDLEWARE):
        _, project = projects[item["project_id"]]
        yield from records(item, project, acted.asked, now, rng)


# --- Times of turns


def _timed(dialogue: Dialogue, now: datetime, rng: Random) -> list[Timed]:
    """Return every turn with its time: messages are spread between the events, which have their own times."""
    email = dialogue.needed("channel") == "email"
    timed: list[Timed] = []
    messages: list[Turn] = []
    last: datetime | None = None
    for turn in dialogue.turns:
        if turn.kind not in EVENTS:
            messages.append(turn)
            continue
        at = now - turn.ago if turn.kind in TIMED else last
        if at is None:
            raise DialogueError(turn.place, f"“{turn.kind}” needs something with a time before it")
        if last and at < last:
            raise DialogueError(turn.place, f"“{turn.kind}” is longer ago than what comes before it")
        timed += [*_spread(messages, last, at - timedelta(seconds=2), email, rng), (turn, at)]
        messages, last = [], at
    if last is None:
        return _spread(messages, None, now - dialogue.span("updated"), email, rng)
    # Put later messages early in a wait: if no time is stored, only the last update shows how long it is.
    room = 0.15 if timed[-1][0].kind in WAITING else 0.9
    return timed + _spread(messages, last, last + room * (now - last), email, rng)


def _spread(turns: Sequence[Turn], begin: datetime | None, end: datetime, email: bool, rng: Random) -> list[Timed]:
    """Return messages with times after `begin`, with shorter gaps if needed to end by `end`; else ending at `end`."""
    gaps = [_gap(before, turn, email, rng) for before, turn in zip([None, *turns], turns, strict=False)]
    total = sum(gaps, timedelta())
    at = begin or end - total
    scale = min(1.0, (end - at) / total) if total else 1.0
    timed: list[Timed] = []
    for turn, gap in zip(turns, gaps, strict=True):
        at += scale * gap
        timed.append((turn, at))
    return timed


def _gap(before: Turn | None, turn: Turn, email: bool, rng: Random) -> timedelta:
    """Return the pause between `before` and `turn`: seconds for the assistant, minutes to hours for people."""
    kind = before.kind if before else ""
    if kind == PROMPT:
        return timedelta(seconds=4)
    if turn.kind == ASSISTANT and kind != ASSISTANT:
        return timedelta(seconds=rng.uniform(25, 110) if email else rng.uniform(3, 16))
    if turn.kind != ASSISTANT and kind == turn.kind:
        return timedelta(seconds=rng.uniform(6, 140))
    # The assistant follows up with news, and sometimes a person takes hours.
    if turn.kind == ASSISTANT or rng.random() < 0.1:
        return timedelta(hours=rng.uniform(2, 20))
    return timedelta(seconds=min(3600.0, 15 + rng.expovariate(1 / 150)))


# --- What the platform stores


def _item(dialogue: Dialogue, timed: Sequence[Timed], now: datetime, rng: Random, projects: Projects) -> Item:
    """Return the item with every attribute in the platform's schema."""
    said = [(turn, at) for turn, at in timed if turn.kind in _ROLES]
    project_id, request_id = dialogue.words
    primary_channel, conversation_id = key_of(dialogue, projects)
    company, project = projects[project_id]
    channel, status = dialogue.needed("channel"), dialogue.needed("status")
    if channel not in project["channels"]:
        raise DialogueError(dialogue.place, f"project “{project_id}” has no channel “{channel}” in companies.toml")
    begun = (timed[0][1] - timedelta(seconds=1) if timed else now - dialogue.span("updated")).replace(microsecond=0)
    updated = said[-1][1] if said else begun
    expires = dialogue.get("expires")
    done = status not in ("processing", "failed") or any(turn.kind == ASSISTANT for turn, _ in said)
    call = dialogue.get("call") or None
    item: Item = {
        "primary_channel": primary_channel,
        "conversation_id": conversation_id,
        "company_id": company["id"],
        "project_id": project_id,
        "channel_method": channel,
        "conversation_status": status,
        "request_id": request_id,
        "created_at": to_iso(begun, "seconds"),
        "updated_at": to_iso(updated, "seconds"),
        "initial_request_timestamp": to_iso(begun - timedelta(seconds=rng.uniform(0.3, 9))),
        "processor_version": rng.choice(("1.4.2", "1.5.0", "1.5.1-dev")),
        "router_version": rng.choice(("1.0.1-dev", "1.2.0")),
        "email_id": f"<{rng.getrandbits(64):016x}@mail.{company['email'].split('@')[1]}>"
        if channel == "email" and done
        else None,
        "task_complete": int(done),
        "comms_consent": dialogue.get("consent") != "no",
        "project_data": dialogue.json("data"),
        "function_call": call is not None,
        "function_call_type": call,
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
    }
    if done:
        item |= {"thread_id": f"thread_{rng.getrandbits(120):030x}", "processing_time_ms": rng.randint(1400, 7800)}
    if expires != "never":
        item["ttl"] = to_epoch(now + span(expires, dialogue.place) if expires else updated + _LIFETIME)
    # The messages come last: moto's own code measures the whole item again for each attribute it adds.
    messages: Any = _messages(said, rng)
    if dialogue.get("messages") == "json":
        messages = json.dumps(messages, ensure_ascii=False)
    return item | recipient_of(dialogue) | configuration(company, project, channel) | {"messages": messages}


def _messages(said: Sequence[Timed], rng: Random) -> list[Any]:
    """Return the `messages` list as in the schema; the assistant's entries have token counts and processing time."""
    context = 180
    made: list[Any] = []
    for turn, at in said:
        if turn.kind == RAW:
            made.append(turn.json())
            continue
        entry: Item = {
            "entry_id": new_id(rng),
            "message_timestamp": to_iso(at, "seconds"),
            "role": _ROLES[turn.kind],
            "content": turn.text,
        }
        tokens = len(turn.text.encode()) // 4 + 3
        if turn.kind == ASSISTANT:
            entry |= {
                "ai_prompt_tokens": context,
                "ai_completion_tokens": tokens,
                "ai_total_tokens": context + tokens,
                "processing_time_ms": rng.randint(420, 2600) + tokens * 9,
            }
        context = min(context + tokens, 16_000)
        made.append(entry | turn.more)
    return made


def recipient_of(dialogue: Dialogue) -> Item:
    """Return the customer's attributes of an item."""
    found: Item = {}
    for header, name in (("phone", "recipient_tel"), ("email", "recipient_email")):
        if value := dialogue.get(header):
            found |= {name: value, f"gsi_{name}": value}
    if name := dialogue.get("name"):
        first, _, last = name.rpartition(" ")
        found |= {"recipient_first_name": first, "recipient_last_name": last}
    return found


def credentials_of(company: Item, project: Item, channel: str) -> str:
    """Return the name of the secret with a project's credentials for a channel (schema platform-replies)."""
    account = company.get("account") or f"{company['slug']}/{project['id']}"
    return f"{channel}/{account}/{PROVIDERS[channel]}"


def configuration(company: Item, project: Item, channel: str) -> Item:
    """Return what the platform copies into each conversation, and the sparse index key that replies are matched by."""
    path, sms = f"{_ARN}/{company['slug']}", company.get("sms")
    key = project["id"].replace("-", "_")
    channels: dict[str, Item] = {
        "whatsapp": {"company_whatsapp_number": company["whatsapp"], "template_name": f"{key}_opening_v2"},
        "sms": {"company_sms_number": sms} if sms else {"sender_id": company["slug"].split("-")[0].upper()},
        "email": {"company_email": company["email"], "sender_name": f"{company['assistant']} at {company['name']}"},
    }
    config = {
        each: channels[each] | {f"{each}_credentials_id": credentials_of(company, project, each)}
        for each in project["channels"]
    }
    reply_keys = {f"gsi_{name}": value for name, value in channels[channel].items() if name.startswith("company_")}
    return {
        "company_name": company["name"],
        "project_name": project["name"],
        "project_status": project.get("status", "active"),
        "company_rep": {
            f"company_rep_{place}": name for place, name in enumerate([*company["representatives"], None], 1)
        },
        "allowed_channels": list(project["channels"]),
        "channel_config": config,
        "ai_config": {
            "openai_config": {
                channel: {
                    "api_key_reference": f"{path}/openai-api-key/{channel}-dev-Zk81Qc",
                    "assistant_id_template_sender": f"asst_{key}_Send7Yq2Lx",
                    "assistant_id_replies": f"asst_{key}_Reply4Tn8Vb",
                }
            },
            "model": "gpt-4o-mini" if channel != "email" else "gpt-4o",
            "max_completion_tokens": 600,
        },
        "auto_queue_initial_message": project.get("begins", False),
        "auto_queue_initial_message_from_number": [company["whatsapp"]] if project.get("begins") else [],
        "auto_queue_initial_message_from_email": [],
        "auto_queue_reply_message": False,
        "auto_queue_reply_message_from_number": [],
        "auto_queue_reply_message_from_email": [],
        **reply_keys,
    }
