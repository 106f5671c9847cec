"""What an answer holds."""

import html
from typing import Any


def body_of(response: Any) -> bytes:
    """The whole body, of a streamed answer too; a stream can be read once."""
    return b"".join(response.streaming_content) if response.streaming else bytes(response.content)


def text_of(response: Any) -> str:
    """The page as it reads: its HTML without escapes."""
    return html.unescape(response.content.decode())
