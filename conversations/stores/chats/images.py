"""Generated images (table ImageResponses): as rows of lists, by exact prompt, and as pages."""

import re
from datetime import datetime
from urllib.parse import urlsplit

from console import clock
from console.errors import NotFound
from console.redaction import beginning_of, excerpt, redact
from console.refs import is_digest_of
from console.trees import Fact, clean, instant_fact, text_of
from conversations.messages.facts import unknown_names, unknown_tree
from conversations.records import Picture
from conversations.stores.adapter import ListParameters
from conversations.stores.chats import queries
from conversations.stores.chats.keys import image_place, reference_of, short, user_link
from conversations.stores.chats.models import Image
from conversations.stores.chats.reading import flaws_of
from conversations.stores.records import Cell, RecordLink, RecordPage, RecordRow, list_place

COLUMNS = ("Prompt", "When", "User")
PROMPT_IN_LIST = 80
# A DNS host name: no IP address, and at least one dot.
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]", re.ASCII)
_URI = re.compile(r"https://[!-\[\]-~]{1,2000}", re.ASCII | re.IGNORECASE)


def image_row(image_id: str, image: Image | None, at: datetime | None, is_lost: bool = False) -> RecordRow:
    """Return an image as a row. `at` is when its message was written; `is_lost`: the images could not be read."""
    if image is None:
        flaws = () if is_lost else ("it is not in ImageResponses",)
        return RecordRow(f"Image {short(image_id)}", None, (Cell(at=at), Cell()), flaws=flaws)
    owner = image.plain("UserId")
    return RecordRow(
        name=prompt_in_list(image) or "Image",
        place=image_place(image_id),
        cells=(
            Cell(at=clock.parse_instant(image.plain("TimestampCreated")) or at),
            Cell(short(owner) if isinstance(owner, str) else "", mono=True),
        ),
        flaws=flaws_of(image),
    )


def load_image(image_id: str) -> Image:
    """Load an image with one GetItem. Raises `NotFound` and the store's errors."""
    found = queries.image(image_id)
    if found is None:
        raise NotFound
    return found


def image_page(image: Image, parameters: ListParameters, *, raw: bool) -> RecordPage:
    """Return the page of an image; only `raw` ones can be loaded by the browser. Reads nothing and never raises."""
    uri, owner, prompt = image.plain("ImageURI"), image.plain("UserId"), image.plain("Prompt")
    flaws = (*flaws_of(image), *unknown_names(image))
    if isinstance(uri, str) and uri and not host_of(uri):
        flaws += ("ImageURI: no https address of a plain host, so that it cannot be shown",)
    of_user = (user_link(owner),) if isinstance(owner, str) and owner else ()
    can_find = isinstance(prompt, str) and queries.is_prompt(prompt)
    of_prompt = (RecordLink("Images of the same prompt", list_place("prompt", prompt)),) if can_find else ()
    return RecordPage(
        title="Image",
        about="" if raw else "The prompt is redacted, and the image is not shown to your role.",
        facts=(
            Fact("Prompt", prompt_of(image, raw=raw)),
            Fact("User", short(owner) if isinstance(owner, str) else redact(text_of(owner or ""))[:24], mono=True),
            instant_fact("Made", image.plain("TimestampCreated"), "ago", clock.now()),
            Fact("Image", short(image.ImageId), mono=True),
            Fact("Host", host_of(uri)),
        ),
        picture=picture_of(image, parameters.show, prompt_of(image, raw=True)) if raw else None,
        flaws=flaws,
        unknown=unknown_tree(image),
        links=(*of_user, *of_prompt),
        crumbs=of_user,
    )


# --- Pictures that a browser may load: only over https, from a plain host, after a click ------------------------------


def prompt_of(image: Image, *, raw: bool) -> str:
    """Return the whole prompt; "" if none is stored."""
    return first_of_prompt(image, None, raw=raw)[0]


def first_of_prompt(image: Image, most: int | None, *, raw: bool) -> tuple[str, int]:
    """Return the prompt, or the beginning of one with more than `most` characters, and how many are left out."""
    value = image.plain("Prompt")
    text = clean(text_of(value)) if value not in (None, "") else ""
    shown = beginning_of(text, len(text) if most is None else most, clean if raw else redact)
    return shown, len(text) - len(shown) if most is not None and len(text) > most else 0


def prompt_in_list(image: Image) -> str:
    """Return the prompt, redacted and shortened for everybody."""
    return excerpt(prompt_of(image, raw=True), PROMPT_IN_LIST)


def picture_of(image: Image, show: str, prompt: str) -> Picture | None:
    """Return the picture for people who may see everything; None if its address may not be loaded.

    `show` is the digest of the picture that was requested, `prompt` what is shown of its prompt.
    """
    host = host_of(uri := image.plain("ImageURI"))
    if not host:
        return None
    reference, shown = reference_of(image.ImageId), is_digest_of(show, image.ImageId)
    return Picture(reference, uri, host, prompt, shown=shown)


def host_of(uri: object) -> str:
    """Return the host of an address that may be loaded; "" for any other."""
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
