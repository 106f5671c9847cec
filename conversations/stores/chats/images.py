"""Generated images (table ImageResponses): as rows of lists, by exact prompt, and one of them."""

from dataclasses import replace
from datetime import datetime

from console import clock
from console.errors import ConsoleError, NotAccepted, NotFound, TableMissing
from console.facts import Fact, instant_fact
from console.permissions import Staff
from console.redaction import excerpt, redact
from console.store.paging import PageRead, PageSource, read_page
from console.trees import text_of
from conversations.facts import unknown_names, unknown_tree
from conversations.stores.adapter import ListParameters
from conversations.stores.chats import queries
from conversations.stores.chats.flaws import flaws_of
from conversations.stores.chats.keys import image_place, short, user_link
from conversations.stores.chats.models import PROMPT, Image
from conversations.stores.chats.pictures import host_of, picture_of, prompt_in_list, prompt_of
from conversations.stores.chats.tolerance import is_designed, notice_of
from conversations.stores.records import Cell, Listing, RecordLink, RecordPage, RecordRow, a_list

COLUMNS = ("Prompt", "When", "User")
WANTED = ("ImageId", "UserId", "Prompt", "ImageURI", "TimestampCreated")


def image_row(image_id: str, image: Image | None, at: datetime | None, is_lost: bool = False) -> RecordRow:
    """An image in a list. `at` is when its message was written; `is_lost`: the images could not be read."""
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


def list_of_prompt(prompt: str, staff: Staff, parameters: ListParameters) -> Listing:
    """The images of one prompt, newest first: one Query. Raises the store's errors."""
    listing = Listing(
        title="Images of one prompt",
        columns=COLUMNS,
        rows=(),
        about=excerpt(prompt, 200),
        empty="No images",
        empty_text="There is no longer an image with exactly that prompt.",
    )
    source = PageSource(model=Image, partition=prompt, attributes=WANTED, index=PROMPT, descending=True)
    try:
        read: PageRead[Image] = read_page(source, staff.username, parameters.cursor)
    except (TableMissing, NotAccepted) as error:
        if not is_designed(error, "IMAGE_RESPONSES", PROMPT):
            raise
        return replace(listing, notices=absent(error))
    rows = tuple(image_row(item.ImageId, item, None) for item in read.items)
    return replace(listing, rows=rows, next=read.next, back=read.back)


def absent(error: ConsoleError) -> tuple[str, ...]:
    """Why images cannot be found by their prompts."""
    return notice_of(error, "Images could not be found by their prompt", "IMAGE_RESPONSES", PROMPT)


def load_image(image_id: str) -> Image:
    """An image: one GetItem. Raises `NotFound` and the store's errors."""
    found = queries.image(image_id)
    if found is None:
        raise NotFound
    return found


def image_page(image: Image, parameters: ListParameters, *, raw: bool) -> RecordPage:
    """An image as shown: who may see everything may load it. Reads nothing and never raises."""
    uri, owner, prompt = image.plain("ImageURI"), image.plain("UserId"), image.plain("Prompt")
    flaws = (*flaws_of(image), *unknown_names(image))
    if isinstance(uri, str) and uri and not host_of(uri):
        flaws += ("ImageURI: no https address of a plain host, so that it cannot be shown",)
    links = []
    if isinstance(owner, str) and owner:
        links.append(user_link(owner))
    if isinstance(prompt, str) and queries.is_prompt(prompt):
        links.append(RecordLink("Images of the same prompt", a_list("prompt", prompt)))
    return RecordPage(
        title="Image",
        about="" if raw else "The prompt is redacted, and the image is not shown to your role.",
        facts=(
            Fact("Prompt", prompt_of(image, raw=raw)),
            Fact("User", short(owner) if isinstance(owner, str) else redact(text_of(owner or ""))[:24], mono=True),
            instant_fact("Made", image.plain("TimestampCreated"), "ago", clock.now()),
            Fact("Image", short(image.ImageId), mono=True),
            Fact("Lies at", host_of(uri)),
        ),
        picture=picture_of(image, parameters.show) if raw else None,
        flaws=flaws,
        unknown=unknown_tree(image),
        links=tuple(links),
        crumbs=tuple(links[:1]) if links and links[0].label.startswith("User") else (),
    )
