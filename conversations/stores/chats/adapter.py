"""The adapter of the chatbot's store: its lists and records by the parts of their addresses."""

from console.audit.queries import trails_of
from console.errors import ConsoleError, NotFound
from console.forms import lookups_by_name
from console.permissions import Permission, Staff
from console.search.meanings import MeaningKind
from console.trail.recording import CHAT_TRAIL, chat_trail
from conversations.stores.adapter import Adapter, ListParameters, Subject
from conversations.stores.chats.ending import EndSession
from conversations.stores.chats.images import image_page, load_image
from conversations.stores.chats.keys import begun_at, check, is_usable, owner_of, session_place, short, user_link
from conversations.stores.chats.lookups import ByImage, ByPhone, ByPrompt, BySession, ChatsByUser
from conversations.stores.chats.models import Image
from conversations.stores.chats.over_time import list_chats, list_images, list_of_prompt
from conversations.stores.chats.queries import is_prompt
from conversations.stores.chats.session import LoadedSession, load_session, name_of, session_page, subject_of
from conversations.stores.chats.sessions import list_sessions
from conversations.stores.records import Listing, RecordLink, RecordPage, RecordRow, StoreStart

FOR_WHOM = "Chats belong to no company, so only people with all companies in scope can read them."
# The person's newest trail entries that are read, and the sessions among them that are shown.
ENTRIES_READ, OPENED_SHOWN = 100, 12


class Chats(Adapter):
    """Sessions of people with the chatbot, and the images that it made (schema chatbot-sessions).

    Lists: `sessions`, `chats` and `images` of a user, `users` of a number that several users have, `prompt`. Records:
    `session` (its user's id and its own), `image`.
    """

    name = "chats"
    title = "Chats"
    icon = "chats"
    about = (
        "People's sessions with the chatbot, found by phone number. Texts are kept for about 3 hours, times and "
        "images for good."
    )
    tables = ("SESSIONS", "CHATS", "CHAT_MESSAGES", "IMAGE_RESPONSES")
    lookups = lookups_by_name(ByPhone, ChatsByUser, BySession, ByImage, ByPrompt)
    actions = {"end": EndSession()}
    unsearched = "not searched, because they belong to no company and your scope is limited."
    found_by = {
        MeaningKind.PHONE: (("phone", "phone"),),
        MeaningKind.SESSION: (("session", "session_id"),),
        MeaningKind.DIGEST: (("user", "user_id"), ("image", "image_id")),
    }

    def start(self, staff: Staff) -> StoreStart:
        """Return the person's recently opened chats: no index lists all sessions by time. One Query of the trail."""
        staff.require(Permission.CONVERSATION_READ)
        if not staff.scope.everything:
            return StoreStart(notices=(FOR_WHOM,))
        try:
            trails = trails_of(staff.username, CHAT_TRAIL, ENTRIES_READ)
        except ConsoleError:
            # The rest of the page is useful without it.
            return StoreStart(notices=("The chats you opened recently could not be read.",))
        ids = [each.removeprefix(CHAT_TRAIL) for each in trails]
        links = tuple(
            RecordLink(name_of(each, None, staff), place, note=f"User {short(owner_of(each))}")
            for each in ids
            if begun_at(each) and (place := session_place(owner_of(each), each)) is not None
        )
        return StoreStart(links[:OPENED_SHOWN], "Recently opened by you")

    def is_in_use(self, owner_id: str) -> bool:
        """Return False, as chats belong to no company. Reads nothing."""
        return False

    def listing(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Listing:
        """Return one page of a list. Raises `NotFound`, and the store's errors if nothing could be read."""
        check(staff)
        match parts:
            case ("sessions", user_id) if is_usable(user_id):
                return list_sessions(user_id, staff, parameters.cursor)
            case ("chats", user_id) if is_usable(user_id):
                return list_chats(user_id, staff, parameters)
            case ("images", user_id) if is_usable(user_id):
                return list_images(user_id, staff, parameters)
            case ("users", *user_ids) if all(is_usable(each) for each in user_ids):
                return _users(tuple(user_ids))
            case ("prompt", prompt) if is_prompt(prompt):
                return list_of_prompt(prompt, staff, parameters)
        raise NotFound

    def load(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> LoadedSession | Image:
        """Load a session or an image. Raises `NotFound`, and the store's errors."""
        check(staff)
        match parts:
            case ("session", user_id, session_id):
                return load_session(user_id, session_id, staff, parameters)
            case ("image", image_id) if is_usable(image_id):
                return load_image(image_id)
        raise NotFound

    def subject(self, loaded: LoadedSession | Image) -> Subject:
        """Return the trail of a session or of an image."""
        if isinstance(loaded, LoadedSession):
            return subject_of(loaded.session_id)
        return Subject(chat_trail(f"image {loaded.ImageId}"), payload={"image": short(loaded.ImageId)})

    def page(self, loaded: LoadedSession | Image, staff: Staff, parameters: ListParameters, *, raw: bool) -> RecordPage:
        """Return the page of a session or of an image."""
        if isinstance(loaded, LoadedSession):
            return session_page(loaded, staff, parameters, raw=raw)
        return image_page(loaded, parameters, raw=raw)


def _users(user_ids: tuple[str, ...]) -> Listing:
    """Return the users of one number, which writers stored with and without `+`. Reads nothing."""
    links = [user_link(each) for each in user_ids]
    return Listing(
        title="Users of this number",
        columns=("User",),
        rows=tuple(RecordRow(link.label, link.place) for link in links),
        about="The number is stored in several formats. Each is a separate user.",
    )
