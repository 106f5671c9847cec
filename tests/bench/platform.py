"""Conversations as the platform writes them, 8 KB each, by the hundred thousand, into dynoxide.

Items are filled-in text of DynamoDB JSON, sent without botocore: to build and sign each would take longer than to
store it.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

import urllib3

from console import clock
from conversations.handoff.stored import attention_in, held_in, urgent_in, waiting_in
from tests.dynamodb import to_dynamodb

BATCH = 25
WRITERS = 4
MESSAGES, LONG = 20, 200
# dynoxide wants to see one with a date, and does not check it.
_SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-2/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
)
PROJECT = "pi-aaa-001"
MARKS = ("@number@", "@company@", "@created@", "@updated@")


def item(messages: int = MESSAGES) -> dict[str, object]:
    """One conversation with 55 attributes; what differs from one to the next is marked."""
    number, company, created, updated = MARKS
    said = [
        {
            "entry_id": f"entry-{number}-{each}",
            "message_timestamp": updated,
            "role": "assistant" if each % 2 else "user",
            "content": ("I am still waiting for my parcel and nobody has called me back about it. " * 2).strip(),
            "ai_prompt_tokens": 1180,
            "ai_completion_tokens": 96,
            "ai_total_tokens": 1276,
            "processing_time_ms": 850,
        }
        for each in range(messages)
    ]
    config = {"model": "gpt-4o", "temperature": 0.4, "instructions": "Answer kindly and briefly. " * 20}
    more = {f"x_platform_attribute_{each:02}": f"value {each}" for each in range(14)}
    return {
        "primary_channel": f"+44770{number}",
        "conversation_id": f"{company}#{PROJECT}#req-{number}#44770{number}",
        "recipient_tel": f"+44770{number}",
        "company_id": company,
        "project_id": PROJECT,
        "channel_method": "whatsapp",
        "conversation_status": "awaiting_reply",
        "request_id": f"req-{number}",
        "messages": said,
        "created_at": created,
        "updated_at": updated,
        "initial_request_timestamp": created,
        "processor_version": "1.4.0",
        "router_version": "1.0.1",
        "thread_id": f"thread_{number}",
        "task_complete": 0,
        "processing_time_ms": 1500,
        "recipient_first_name": "Ingeborg",
        "recipient_last_name": "Vandersteen",
        "comms_consent": True,
        "project_data": {"job_ref": f"JR{number}", "source": "web", "notes": "Prefers the morning. " * 4},
        "company_name": "Cucumber Recruitment",
        "project_name": "Clarify CV",
        "company_rep": {"name": "Sam", "role": "Recruiter", "email": "sam@example.com"},
        "allowed_channels": ["whatsapp", "email"],
        "project_status": "active",
        "auto_queue_initial_message": False,
        "auto_queue_initial_message_from_number": ["+447588713814"],
        "auto_queue_initial_message_from_email": ["replies@example.com"],
        "auto_queue_reply_message": True,
        "auto_queue_reply_message_from_number": ["+447588713814"],
        "auto_queue_reply_message_from_email": ["replies@example.com"],
        "ai_config": config,
        "channel_config": {"whatsapp": {"company_whatsapp_number": "+447588713814"}},
        "function_call": False,
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
        "ttl": 4102444800,
        "gsi_recipient_tel": f"+44770{number}",
        "gsi_company_whatsapp_number": "+447588713814",
        **more,
    }


def size_of_an_item() -> int:
    """Bytes of one item as JSON, for the report."""
    return len(json.dumps(item()))


class Company:
    """So many conversations of one company, the newest first; `waiting` and `held` of them have a hand-off.

    Of those that wait, `urgent` are; and of the others, `attention` need attention.
    """

    def __init__(
        self,
        company_id: str,
        conversations: int,
        waiting: int,
        held: int = 0,
        now: datetime | None = None,
        *,
        urgent: int = 0,
        attention: int = 0,
    ):
        self.company_id = company_id
        self.conversations = conversations
        self.waiting, self.urgent = waiting, urgent
        self.held, self.attention = held, attention
        self._now = now or clock.now()

    def puts(self) -> Iterator[str]:
        """Each conversation as a PutRequest."""
        plain = json.dumps(to_dynamodb(item()))
        handed = json.dumps(
            to_dynamodb(item() | {"hand_off_to_human": True, "hand_off_to_human_reason": "Wants a person"})
        )
        marked = self.waiting + self.held + self.attention
        every = max(1, self.conversations // max(1, marked))
        given = 0
        for number in range(self.conversations):
            updated = self._now - timedelta(seconds=number * 7)
            is_marked = number % every == 0 and given < marked
            text = handed if is_marked and given < self.waiting + self.held else plain
            if is_marked:
                text = text[:-1] + ", " + self._hand_off(given, updated) + "}"
                given += 1
            values = (f"{number:07}", self.company_id, clock.to_iso(updated - timedelta(days=1)), clock.to_iso(updated))
            for mark, value in zip(MARKS, values, strict=True):
                text = text.replace(mark, value)
            yield f'{{"PutRequest":{{"Item":{text}}}}}'

    def _hand_off(self, given: int, at: datetime) -> str:
        values: dict[str, object] = {"hand_off_requested_at": clock.to_iso(at)}
        if given < self.urgent:
            values |= {"gsi_hand_off_queue": urgent_in(self.company_id), "hand_off_urgent": "by hand"}
        elif given < self.waiting:
            values["gsi_hand_off_queue"] = waiting_in(self.company_id)
        elif given >= self.waiting + self.held:
            values |= {"gsi_hand_off_queue": attention_in(self.company_id), "hand_off_attention": "unanswered"}
        else:
            values["gsi_hand_off_queue"] = held_in(self.company_id)
            values |= {
                "hand_off_agent": f"agent.{given % 20}",
                "hand_off_taken_at": clock.to_iso(at),
                "hand_off_wanted": True,
            }
        return json.dumps(to_dynamodb(values))[1:-1]


class Conversations(Protocol):
    """What gives conversations to be written."""

    def puts(self) -> Iterator[str]:
        """Each conversation as a PutRequest."""


def write(endpoint: str, table: str, companies: Sequence[Conversations]) -> None:
    """Write all conversations of these companies."""
    pool = urllib3.PoolManager(maxsize=WRITERS)
    headers = {
        "X-Amz-Target": "DynamoDB_20120810.BatchWriteItem",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": _SIGNATURE,
        "X-Amz-Date": "20260101T000000Z",
    }

    def send(batch: list[str]) -> None:
        body = f'{{"RequestItems":{{"{table}":[{",".join(batch)}]}}}}'
        answer = pool.request("POST", endpoint, body=body.encode(), headers=headers)
        if answer.status != 200 or answer.json().get("UnprocessedItems"):
            raise RuntimeError(f"dynoxide refused items: {answer.status} {answer.data[:300]!r}")

    with ThreadPoolExecutor(WRITERS) as writers:
        pending = []
        for company in companies:
            puts = company.puts()
            while batch := list(islice(puts, BATCH)):
                pending.append(writers.submit(send, batch))
                if len(pending) > 8 * WRITERS:  # so that not all of it is in memory at once
                    pending.pop(0).result()
        for each in pending:
            each.result()
