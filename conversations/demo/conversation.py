"""From what was said to an item of the platform's conversations table (schema platform-conversations)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from console.clock import to_epoch, to_iso
from conversations.demo import companies
from conversations.demo.companies import Company, Project
from conversations.demo.facts import Facts, facts_of, project_data
from conversations.demo.people import Person
from conversations.demo.script import ASSISTANT, USER
from conversations.demo.timeline import Said

Item = dict[str, Any]

_PROCESSORS = ("1.4.2", "1.4.2", "1.5.0", "1.5.1-dev")
_ROUTERS = ("1.0.1-dev", "1.2.0", "1.2.0")


@dataclass(slots=True)
class Draft:
    """A conversation before it is an item."""

    company: Company
    project: Project
    person: Person
    channel: str
    request_id: str
    facts: Facts
    status: str
    said: list[Said] = field(default_factory=list)
    call: str | None = None
    created: datetime | None = None
    lifetime: timedelta | None = timedelta(days=180)

    @property
    def tel(self) -> str | None:
        """The recipient's number where the conversation knows it."""
        return self.person.tel if self.channel != "email" or int(self.person.tel[-1]) % 2 else None

    @property
    def email(self) -> str | None:
        """The recipient's address where the conversation knows it."""
        return self.person.email if self.channel == "email" or int(self.person.tel[-2]) < 6 else None


def new_id(rng: Random) -> str:
    """A random UUID (version 4) out of the seeded generator."""
    return str(UUID(int=rng.getrandbits(128), version=4))


def draft(project_id: str, person: Person, channel: str, status: str, at: datetime, rng: Random) -> Draft:
    """A conversation without messages, and the facts that its texts may mention as of `at`."""
    company, project = companies.PROJECTS[project_id]
    request_id = f"req-{rng.getrandbits(32):08x}"
    return Draft(company, project, person, channel, request_id, facts_of(company, person, request_id, at, rng), status)


def prompt(each: Draft, before: datetime) -> Said:
    """The instruction that opens the conversation, written just before its first message."""
    return Said(USER, each.project.prompt.format_map(each.facts), before - timedelta(seconds=4), prompt=True)


def channel_for(medium: str, project_id: str, rng: Random) -> str:
    """A channel of that medium that the project may use."""
    if medium == "email":
        return "email"
    return "sms" if "sms" in companies.PROJECTS[project_id][1].channels and rng.random() < 0.32 else "whatsapp"


def entries(said: Sequence[Said], rng: Random) -> list[Item]:
    """The `messages` list: entries of the schema, with token counts and processing time on the assistant's."""
    context = 180
    made: list[Item] = []
    for each in said:
        entry: Item = {
            "entry_id": new_id(rng),
            "message_timestamp": to_iso(each.at, "seconds"),
            "role": each.role,
            "content": each.text,
        }
        tokens = len(each.text.encode()) // 4 + 3
        if each.role == ASSISTANT:
            entry |= {
                "ai_prompt_tokens": context,
                "ai_completion_tokens": tokens,
                "ai_total_tokens": context + tokens,
                "processing_time_ms": rng.randint(420, 2600) + tokens * 9,
            }
        context = min(context + tokens, 16_000)
        made.append(entry)
    return made


def conversation_id(each: Draft, rng: Random) -> str:
    """`company#project#request#recipient` as the router makes it; a few of older routers have another shape."""
    recipient = each.person.email if each.channel == "email" else each.person.tel.lstrip("+")
    usual = f"{each.company.company_id}#{each.project.project_id}#{each.request_id}"
    draw = rng.random()
    if draw < 0.012:
        return new_id(rng)
    if draw < 0.025:
        return usual
    if draw < 0.04:
        return f"{usual}#{recipient}#retry-{rng.randint(1, 3)}"
    return f"{usual}#{recipient}"


def to_item(each: Draft, now: datetime, rng: Random) -> Item:
    """The item of a draft, every attribute as the schema says. Without messages, `created` says when it began."""
    said = each.said
    begun = each.created or (said[0].at - timedelta(seconds=rng.uniform(0.4, 2)) if said else now)
    begun = begun.replace(microsecond=0)  # as it is stored
    updated = max(begun, said[-1].at if said else begun)
    done = each.status not in ("processing", "failed") or any(one.role == ASSISTANT for one in said)
    messages = entries(said, rng)
    item: Item = {
        "primary_channel": each.person.email if each.channel == "email" else each.person.tel,
        "conversation_id": conversation_id(each, rng),
        "company_id": each.company.company_id,
        "project_id": each.project.project_id,
        "channel_method": each.channel,
        "conversation_status": each.status,
        "request_id": each.request_id,
        "messages": messages,
        "created_at": to_iso(begun, "seconds"),
        "updated_at": to_iso(updated, "seconds"),
        "initial_request_timestamp": to_iso(begun - timedelta(seconds=rng.uniform(0.3, 9))),
        "processor_version": rng.choice(_PROCESSORS),
        "router_version": rng.choice(_ROUTERS),
        "email_id": _email_id(each, done, rng),
        "task_complete": int(done),
        "comms_consent": rng.random() > 0.08,
        "company_name": each.company.name,
        "project_name": each.project.name,
        "company_rep": companies.company_rep(each.company),
        "allowed_channels": list(each.project.channels),
        "project_status": each.project.status,
        "project_data": project_data(each.project.project_id, each.facts, rng),
        "ai_config": companies.ai_config(each.company, each.project, each.channel),
        "channel_config": companies.channel_config(each.company, each.project),
        "function_call": each.call is not None,
        "function_call_type": each.call,
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
    }
    item |= companies.routing(each.company, each.project)
    item |= _recipient(each, rng)
    item |= _reply_keys(each, item["channel_config"])
    if done:
        item["thread_id"] = f"thread_{rng.getrandbits(120):030x}"
        item["processing_time_ms"] = rng.randint(1400, 7800)
    if each.lifetime is not None:
        item["ttl"] = to_epoch(updated + each.lifetime)
    return item


def _email_id(each: Draft, done: bool, rng: Random) -> str | None:
    return (
        f"<{rng.getrandbits(64):016x}@mail.{each.company.email.split('@')[1]}>"
        if each.channel == "email" and done
        else None
    )


def _recipient(each: Draft, rng: Random) -> Item:
    found: Item = {}
    if each.tel:
        found |= {"recipient_tel": each.tel, "gsi_recipient_tel": each.tel}
    if each.email:
        found |= {"recipient_email": each.email, "gsi_recipient_email": each.email}
    if rng.random() < 0.97:
        found |= {"recipient_first_name": each.person.first, "recipient_last_name": each.person.last}
    return found


_REPLY_KEYS = {"whatsapp": "company_whatsapp_number", "sms": "company_sms_number", "email": "company_email"}


def _reply_keys(each: Draft, config: Item) -> Item:
    """The `gsi_company_*` attribute of the conversation's own channel, only where the configuration has the value."""
    name = _REPLY_KEYS[each.channel]
    value = config.get(each.channel, {}).get(name)
    return {f"gsi_{name}": value} if value else {}
