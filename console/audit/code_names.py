"""Names in code, as services write intents, templates and the like, in words."""

from console.redaction import redact


def is_code_name(text: str) -> bool:
    """Whether text is one word of letters, digits, dashes and underscores: `need_order_number`."""
    return text.replace("_", "").replace("-", "").isalnum()


def format_code_name(text: str) -> str:
    """A name in code without its underscores, and other text as it is, redacted.

    Also what was redacted before: with blanks, what was a name in code may be a number.
    """
    return redact(text.replace("_", " ").strip() if is_code_name(text) else text)
