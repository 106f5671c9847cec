"""What a reader should know of a customer's message, in words: an edit, a doubt about who has it, another number."""

from typing import Any

AS_TAKEN, AS_YOU_TOOK = (f"said as {who} took over: the AI may answer it too" for who in ("people", "you"))
# By the `doubt` of a message's row.
_DOUBTS = {
    "taking": AS_TAKEN,
    "returning": "said as it went back to the AI",
    "ai": "said to the AI, which has not answered yet",
}
FOUND_AT_PROVIDER = "recovered from the provider"
NUMBER_DIFFERS = "number written differently"
# By the `number_note` of a message's row.
OTHER_FORM, PUT_HERE = "other form", "put here"
_NUMBERS = {OTHER_FORM: NUMBER_DIFFERS, PUT_HERE: "placed here by a colleague"}


# By the `opt_out` of a message's row.
_OPT_OUTS = {
    "out": "asks for no more messages",
    "in": "asks for messages again",
    "hint": "may ask for no more messages",
}


def notes_of(entry: dict[str, Any], *, is_edit: bool) -> tuple[str, ...]:
    """Return the notes of an entry of `messages`, or of a row in its shape."""
    doubt = _DOUBTS.get(str(entry.get("doubt")), "")
    number = _NUMBERS.get(str(entry.get("number_note")), "")
    opt_out = _OPT_OUTS.get(str(entry.get("opt_out")), "")
    found = FOUND_AT_PROVIDER if entry.get("found_at") == "provider" else ""
    return tuple(filter(None, ("edited" if is_edit else "", doubt, number, opt_out, found)))
