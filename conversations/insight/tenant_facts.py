"""The facts of a tenant's conversations: one per conversation and day, and one for the tenant's message limit that day.

The fields of `data`, each absent if empty:

- of a conversation: `channel`: from its partition; `user`, `assistant`, `other`: numbers of messages that day; `until`:
  when the last of them was written; `expires`, on its latest day only: when it expires, in epoch seconds;
- `#limit`: `limit`: the tenant's messages per day, as last read on that day.

The platform only stores the latest messages of a conversation (`max_conversation_history`): counts never go down, and
messages written later are added. A message without a time gets that of the one before it. Schema tenants.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from console import clock
from console.errors import TableMissing
from conversations.handoff.stored import Raw
from conversations.insight.facts import UNDATED, FactDay, FactKey, FactKind, InsightFact, day_of, fact_data
from conversations.insight.identity import pseudonym_of
from conversations.insight.sources import (
    FactSource,
    KnownFacts,
    SourceReference,
    counted_day,
    hash_content,
    latest_expiry,
)
from conversations.insight.words import OTHER, code_of
from conversations.records import Speaker
from conversations.stores.items import speaker_of
from conversations.stores.reading import get_item
from conversations.stores.tenant_conversations.reading import StoredTenantConversation, TenantConversation, written_at
from tenants import settings_text
from tenants.keys import META, TYPES, partition_of
from tenants.models import TenantMeta

CONVERSATION, TENANT = "tenant conversation", "tenant"
LIMIT = "limit"
READ = ("pk", "sk", "messages", "updated_at", "ttl")
_ROLES = {Speaker.CUSTOMER: "user", Speaker.AI: "assistant"}


@dataclass
class TenantConversationSource(FactSource):
    """A conversation of a tenant. `said`: by day, who wrote and when."""

    partition: str
    conversation_id: str
    said: dict[str, list[tuple[str, datetime | None]]] = field(default_factory=dict)
    expires: int | None = None

    @property
    def tenant_id(self) -> str:
        """The tenant, which is the first part of the partition; channel and user may follow."""
        return tenant_in(self.partition)

    def keys(self) -> list[FactKey]:
        """Return one key for each day of its messages."""
        pseudonym = self._pseudonym
        return [(FactDay(FactKind.TENANTS, self.tenant_id, day), pseudonym) for day in sorted(self.said)]

    def read(self) -> Self | None:
        """Read the conversation with one GetItem; None if it is gone or has expired."""
        raw = get_item("TENANT_CONVERSATIONS", {"pk": {"S": self.partition}, "sk": {"S": self.conversation_id}})
        found = None if raw is None else _conversation_of(raw)
        return None if found is None else replace(self, said=found.said, expires=found.expires)

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return one fact for each day of its messages."""
        latest = max((day for day in self.said if day != UNDATED), default=UNDATED)
        return [
            InsightFact(day, fact_id, self._of_day(day.day, before or {}, is_latest=day.day == latest))
            for (day, fact_id), before in known.items()
            if day.day in self.said
        ]

    def _of_day(self, day: str, before: Any, *, is_latest: bool) -> dict[str, Any]:
        said, until = self.said[day], clock.parse_instant(before.get("until"))
        counts = Counter(who for who, _ in said)
        later = Counter(who for who, at in said if until is not None and at is not None and at > until)
        times = [each for each in (until, *(at for _, at in said)) if each is not None]
        return fact_data(
            channel=channel_in(self.partition),
            **{who: max(counts[who], before.get(who, 0) + later[who]) for who in (*_ROLES.values(), OTHER)},
            until=clock.to_iso(max(times), "microseconds") if times else None,
            expires=self.expires if is_latest else None,
        )

    def reference(self) -> SourceReference:
        """Return the link to its key."""
        return SourceReference(self._pseudonym, (self.partition, self.conversation_id), self.expires)

    @property
    def _pseudonym(self) -> str:
        return pseudonym_of(CONVERSATION, self.partition, self.conversation_id)


@dataclass
class LimitSource(FactSource):
    """A tenant's message limit on some days; `limit` is the current one of its settings, once read."""

    tenant_id: str
    days: tuple[str, ...]
    limit: int = 0

    def keys(self) -> list[FactKey]:
        """Return one key for each day."""
        fact_id = f"{self._pseudonym}#{LIMIT}"
        return [(FactDay(FactKind.TENANTS, self.tenant_id, day), fact_id) for day in self.days]

    def read(self) -> Self | None:
        """Read the limit with one GetItem; None if the tenant or its limit is unknown."""
        try:
            raw = get_item("TENANTS", {"pk": {"S": partition_of(self.tenant_id)}, "sk": {"S": META}})
        except TableMissing:
            return None
        text = None if raw is None else TenantMeta.from_raw_data(raw).plain("settings")
        limit = settings_text.read(text if isinstance(text, str) else None).value("messages_per_day")
        return replace(self, limit=limit) if isinstance(limit, int) and 0 < limit < 10**12 else None

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return one fact for each day; past days keep the limit already stored."""
        today = day_of(clock.now())
        return [
            InsightFact(day, fact_id, dict(before) if before and day.day != today else fact_data(limit=self.limit))
            for (day, fact_id), before in known.items()
        ]

    def reference(self) -> SourceReference:
        """Return the link to the tenant."""
        return SourceReference(self._pseudonym, (self.tenant_id,))

    @property
    def _pseudonym(self) -> str:
        return pseudonym_of(TENANT, self.tenant_id)


def conversations_in(items: list[Raw]) -> Iterator[FactSource]:
    """Yield the unexpired conversations of a page, then the limits of their tenants on the days of their messages."""
    found = [each for each in map(_conversation_of, items) if each is not None]
    days: dict[str, set[str]] = {}
    for each in found:
        yield each
        days.setdefault(each.tenant_id, set()).update(set(each.said) - {UNDATED})
    for tenant_id, theirs in days.items():
        if theirs:
            # The same state as long as nobody writes: only today's limit can change.
            state = hash((tuple(sorted(theirs)), sum(each.state for each in found if each.tenant_id == tenant_id)))
            name = ("limit", tenant_id, found[0].partition, found[0].conversation_id)
            yield LimitSource(tenant_id, tuple(sorted(theirs)), name=name, state=state)


def tenant_in(partition: str) -> str:
    """Return the tenant of a partition: `{tenant}`, or `{tenant}#{channel}#{user}`."""
    return partition.partition("#")[0]


def channel_in(partition: str) -> str:
    """Return the channel that a partition names; "" if none or unknown."""
    parts = partition.split("#")
    channel = code_of(parts[1]).lower() if len(parts) > 1 else ""
    return channel if channel in TYPES else ""


def _conversation_of(raw: Raw) -> TenantConversationSource | None:
    item = TenantConversation.from_raw_data(raw)
    partition, conversation_id = str(item.plain("pk")), str(item.plain("sk"))
    if clock.is_expired(item.plain("ttl"), clock.now()) or not tenant_in(partition):
        return None
    said: dict[str, list[tuple[str, datetime | None]]] = {}
    at: datetime | None = None
    for entry in StoredTenantConversation.of(item).entries:
        role = entry.get("role") if isinstance(entry, dict) else None
        at = written_at(entry) or at
        said.setdefault(counted_day(at), []).append((_ROLES.get(speaker_of(role, "role")[0], OTHER), at))
    return TenantConversationSource(
        partition,
        conversation_id,
        said,
        latest_expiry([item.plain("ttl")]),
        name=("conversation", partition, conversation_id),
        state=hash_content(raw),
    )
