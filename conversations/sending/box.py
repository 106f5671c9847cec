"""The reply box of whoever holds a conversation: whether it takes a text, over what, by when, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.utils.crypto import salted_hmac

from console.permissions import Staff
from conversations.models import Conversation
from conversations.panel import holds
from conversations.reading import hand_off_of
from conversations.replying import LONGEST, Obstacle, ReplyFacts, channel_words, check_reply, words_of
from conversations.sending.outbox import obstacles_in, seal_form
from conversations.sending.reading import is_configured
from conversations.sending.templates import CHANNEL, StoredTemplate, read_template


@dataclass(frozen=True, slots=True)
class ReplyBox:
    """What the holder may send. `token` is the sealed form; `limit` counts characters; `until`: so long free text goes.

    `obstacles` are sentences about what stands in the way of any reply, `warnings` about what does not. `template`:
    only that can be sent now; `values` were filled into it. `typed` is what was typed before; `draft_key` encrypts what
    the browser keeps of it.
    """

    token: str
    channel: str
    limit: int
    counts_parts: bool
    until: datetime | None
    obstacles: tuple[str, ...]
    warnings: tuple[str, ...]
    template: StoredTemplate | None
    draft_key: str
    typed: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def blanks(self) -> list[tuple[str, str, str]]:
        """What is to be filled in of the template: its name, an example, and what was filled in."""
        template = self.template.template if self.template else None
        return [
            (name, each, self.values.get(name, "")) for name, each in (template.variables if template else {}).items()
        ]

    @property
    def undo_seconds(self) -> int:
        """For so long a reply can be taken back."""
        return max(0, int(settings.REPLY_UNDO_SECONDS))


def reply_box(
    item: Conversation, staff: Staff, heard_at: datetime | None, now: datetime, typed: str = ""
) -> ReplyBox | None:
    """The reply box of a person in a conversation; None where they do not hold it, or replies are not configured.

    `heard_at`: when the customer last wrote. One GetItem where only a template can be sent; raises the store's errors.
    """
    if not is_configured() or not holds(hand_off_of(item), staff):
        return None
    facts = ReplyFacts.of(item, heard_at)
    found, channel = obstacles_in(facts, now, None), channel_words(item)
    if facts.channel not in LONGEST:
        found = (Obstacle.LENGTH,)
    hard = tuple(words_of(each, channel) for each in found if each is not Obstacle.WINDOW)
    is_closed = Obstacle.WINDOW in found
    warnings = [words_of(Obstacle.CONSENT, channel)] if not facts.has_consent and Obstacle.CONSENT not in found else []
    return ReplyBox(
        token=seal_form(item.primary_channel, item.conversation_id, staff),
        channel=channel,
        limit=LONGEST.get(facts.channel, 0),
        counts_parts=facts.channel == "sms",
        until=None if is_closed else check_reply(facts, now).until,
        obstacles=hard,
        warnings=tuple(warnings),
        template=read_template(facts.credentials) if is_closed and not hard and facts.channel == CHANNEL else None,
        draft_key=_draft_key(item, staff),
        typed=typed,
    )


def _draft_key(item: Conversation, staff: Staff) -> str:
    """A key of this person for this conversation, 64 hex digits: it never leaves their pages."""
    about = "\n".join((staff.username, item.primary_channel, item.conversation_id))
    return salted_hmac("reply draft", about, algorithm="sha256").hexdigest()
