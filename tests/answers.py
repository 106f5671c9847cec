"""What an answer holds."""

from typing import Any


def body_of(response: Any) -> bytes:
    """The whole body, of a streamed answer too; a stream can be read once."""
    return b"".join(response.streaming_content) if response.streaming else bytes(response.content)
