"""Images as pictures that a browser may load: only over https, only from a plain host, only once a person asks."""

import re
from urllib.parse import urlsplit

from console.redaction import excerpt, redact
from console.refs import is_digest_of
from console.trees import clean, text_of
from conversations.records import Picture
from conversations.stores.chats.keys import reference_of
from conversations.stores.chats.models import Image

# Of a host name as DNS has them; never an address of numbers, nor one without a dot.
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]", re.ASCII)
_URI = re.compile(r"https://[!-\[\]-~]{1,2000}", re.ASCII | re.IGNORECASE)
PROMPT_IN_LIST = 80


def prompt_of(image: Image, *, raw: bool) -> str:
    """What was asked for, whole; "" where it is not kept."""
    value = image.plain("Prompt")
    text = clean(text_of(value)) if value not in (None, "") else ""
    return text if raw else redact(text)


def prompt_in_list(image: Image) -> str:
    """What was asked for, redacted and cut, whoever looks."""
    return excerpt(prompt_of(image, raw=True), PROMPT_IN_LIST)


def picture_of(image: Image, show: str) -> Picture | None:
    """The picture, for who may see everything; None where its address is none that is loaded. `show`: asked for."""
    host = host_of(uri := image.plain("ImageURI"))
    if not host:
        return None
    reference, shown = reference_of(image.ImageId), is_digest_of(show, image.ImageId)
    return Picture(reference, uri, host, prompt_of(image, raw=True), shown=shown)


def host_of(uri: object) -> str:
    """The host of an address that may be loaded; "" for any other."""
    if not isinstance(uri, str) or not _URI.fullmatch(uri):
        return ""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if "@" in parts.netloc or port not in (None, 443) or not _HOST.fullmatch(host) or len(host) > 253:
        return ""
    return host
