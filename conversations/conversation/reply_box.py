"""The reply box of the holder: whether it accepts text, over which channel, and until when."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.conf import settings
from django.utils.crypto import salted_hmac

from console.permissions import Staff
from console.store.connection import known_absent
from conversations.attention.panel import holds
from conversations.converting import hand_off_of
from conversations.models import Conversation
from conversations.outbox.replying import (
    MAX_CHARACTERS,
    Obstacle,
    ReplyFacts,
    channel_words,
    check_reply,
    explain_obstacle,
)
from conversations.outbox.rows import is_configured
from conversations.providers.templates import CHANNEL, StoredTemplate, read_template
from conversations.receiving import opt_outs
from conversations.sending.replies import obstacles_in, seal_form


@dataclass(frozen=True, slots=True)
class ReplyBox:
    """The reply box of the holder of a conversation.

    `token` is the sealed form, `limit` the maximum of characters, `until` when free text is no longer accepted,
    `was_heard` whether the customer has ever written.
    `obstacles` are sentences about what prevents any reply, `warnings` about what does not. With `template`, only that
    can be sent; `values` fill its blanks. `typed` is the text so far; `draft_key` encrypts the draft in the browser.
    """

    token: str
    channel: str
    limit: int
    counts_parts: bool
    until: datetime | None
    was_heard: bool
    obstacles: tuple[str, ...]
    warnings: tuple[str, ...]
    template: StoredTemplate | None
    draft_key: str
    typed: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    # Whether the customer wants no more messages, which a person's reason can lift.
    is_opted_out: bool = False

    @property
    def blanks(self) -> list[tuple[str, str, str]]:
        """The blanks of the template as (name, example, value)."""
        template = self.template.template if self.template else None
        return [
            (name, each, self.values.get(name, "")) for name, each in (template.variables if template else {}).items()
        ]

    @property
    def undo_seconds(self) -> int:
        """How many seconds a reply can be taken back."""
        return max(0, int(settings.REPLY_UNDO_SECONDS))


def may_reply(item: Conversation, staff: Staff) -> bool:
    """Return whether a person has a reply box: they hold the conversation, and replies are configured.

    And their table exists, of which this only knows what reads have found out.
    """
    return is_configured() and not known_absent("MESSAGES") and holds(hand_off_of(item), staff)


def reply_box(
    item: Conversation,
    staff: Staff,
    heard_at: datetime | None,
    now: datetime,
    typed: str = "",
    *,
    is_opted_out: bool | None = None,
) -> ReplyBox | None:
    """Return a person's reply box; None if they do not hold the conversation or replies are not configured.

    `heard_at` is when the customer last wrote, None for never. A GetItem unless `is_opted_out` says whether they want
    no more messages, and one if only a template can be sent; raises the store's errors.
    """
    if not may_reply(item, staff):
        return None
    is_opted_out = opt_outs.is_opted_out(item) if is_opted_out is None else is_opted_out
    facts = replace(ReplyFacts.of(item, heard_at), is_opted_out=is_opted_out)
    found, channel = obstacles_in(facts, now, None), channel_words(item)
    if facts.channel not in MAX_CHARACTERS:
        found = (Obstacle.LENGTH,)
    hard = tuple(explain_obstacle(each, channel) for each in found if each is not Obstacle.WINDOW)
    is_closed = Obstacle.WINDOW in found
    warns = not facts.has_consent and Obstacle.CONSENT not in found
    return ReplyBox(
        token=seal_form(item.primary_channel, item.conversation_id, staff),
        channel=channel,
        limit=MAX_CHARACTERS.get(facts.channel, 0),
        counts_parts=facts.channel == "sms",
        until=None if is_closed else check_reply(facts, now).until,
        was_heard=heard_at is not None,
        obstacles=hard,
        warnings=(explain_obstacle(Obstacle.CONSENT, channel),) if warns else (),
        template=read_template(facts.credentials) if is_closed and not hard and facts.channel == CHANNEL else None,
        draft_key=_draft_key(item, staff),
        typed=typed,
        is_opted_out=facts.is_opted_out,
    )


def _draft_key(item: Conversation, staff: Staff) -> str:
    """Return a key, 64 hex digits, for this person's drafts in this conversation. It never leaves their pages."""
    about = "\n".join((staff.username, item.primary_channel, item.conversation_id))
    return salted_hmac("reply draft", about, algorithm="sha256").hexdigest()
