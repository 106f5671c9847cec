"""The filters of a review in words without personal data: for the pages made of it, and for the trail."""

from console.audit.events.keys import shown_key
from console.audit.review.filters import NOBODY, Review, action_groups, known_actions
from console.audit.review.forms import ReviewForm
from console.redaction import redact


def describe_filters(form: ReviewForm, review: Review, *, opened: bool = True) -> tuple[str, ...]:
    """One line for each filter that is set; none for all that a review begins with. Days as the person chose them.

    `opened`: False does not name what the address holds sealed, for a page of whoever holds the link.
    """
    lines = []
    if review.key:
        lines.append(f"Idempotency key {shown_key(review.key)}" if opened else "One idempotency key")
    elif review.conversation:
        lines.append(f"Conversation {redact(review.conversation)}" if opened else "One conversation")
    if review.actions:
        lines.append(f"Action types: {describe_actions(review.actions)}")
    if review.actor:
        lines.append("Who: nobody named" if review.actor == NOBODY else f"Who: {redact(review.actor)}")
    if review.result:
        lines.append(f"Result: {review.result}")
    if review.company:
        lines.append(f"Company: {redact(review.company)}")
    since, until = form.chosen("since", None), form.chosen("until", None)
    if since:
        lines.append(f"From {since}")
    if until:
        lines.append(f"To {until}")
    return tuple(lines)


def describe_actions(actions: tuple[str, ...]) -> str:
    """Whole groups by their name, others one by one, last those of no group."""
    wanted, words = set(actions), []
    for name, group in action_groups().items():
        if wanted.issuperset(group):
            words.append(f"{name[:1].lower()}{name[1:]}")
        else:
            words += [each for each in group if each in wanted]
    known = known_actions()
    return ", ".join([*words, *(redact(each) for each in actions if each not in known)])
