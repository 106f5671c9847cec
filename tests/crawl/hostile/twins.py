"""For everything of another company a twin: of the same shape and length, and of nothing that there is."""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from django.urls import Resolver404, resolve

from console.errors import BadReference
from console.permissions import Staff
from console.refs import seal_data, unseal_data
from conversations.handoff import seal_intent, unseal_intent
from conversations.insight.reports import PAGES
from tenants.status import StatusStep
from tenants.views.onboarding import STEPS

# How references are sealed: what a route's `ref` may be. A new kind of reference needs a word here.
REFERENCE_KINDS: tuple[str, ...] = ("conversation", "recipient", "replies", "trail", "entry", "about", "event", "list")
REFERENCE_KINDS += ("user", "channel", "company", "tenant", "resolve", "tenant-conversation", "search")
REFERENCE_KINDS += ("first message", "not placed", "sent reply", "saved reply", "saved view", "presence", "destination")
REFERENCE_KINDS += ("destination test", "message to place")
REFERENCE_KINDS += tuple(f"{kind} of {source}" for kind in ("list", "record") for source in ("threads", "chats"))
# What keeps its meaning in a twin: prefixes of trails and of scopes, names of lists and channels, filters, words.
_KEPT = re.compile(
    r"(?:STAFF|TENANT|THREAD)#|SAVED_REPLIES#(?:all\Z|company#|staff#)|VIEWS#(?:ALL\Z|COMPANY#|STAFF#)|(?:company|tenant):|SYSTEM\Z"
)
KEPT_NAMES = {"list", "look", "channel", "tab", "filters", "status", "hand_off", "task", "since", "until", "before"}
KEPT_NAMES |= {"at", "shown", "role", "time_zone", "display_name", "reason", "note", "what", "kind"}
KEPT_NAMES |= {"waited", "order", "group", "action", "result", "nobody", "format"}
KEPT_NAMES |= {"type", "version", "seen", "name", "token", "show", "verso", "comment", "decision"}
KEPT_NAMES |= {"topic", "m", "day", "period", "compare", "week"}
# Parameters of paths that choose what to do, and name nothing of anybody.
WORDS_OF_PATHS = {"next", "previous", "threads", "chats", "feedback", "end", *STEPS, *StatusStep, *PAGES}
# The first part of a list's reference says which list it is of a store.
_LISTS = {"org", "triage", "user", "users", "sessions", "session", "chats", "images", "image", "prompt"}
_CHANNELS = {"whatsapp", "sms", "email"}
_OTHERS = str.maketrans("0123456789aeiouAEIOU", "5678901234eiouaEIOUA")
_SEALED = re.compile(r"[A-Za-z0-9_-]{22,}")


def twin(value: str, staff: Staff | None = None) -> str:
    """The twin of an id, number, address, reference, list context, form's intent (of `staff`), or cursor."""
    if _SEALED.fullmatch(value):
        for kind in REFERENCE_KINDS:
            try:
                return seal_data(kind, _other(unseal_data(kind, value)))
            except BadReference:
                continue
        if staff is not None and (form := _twin_intent(value, staff) or _twin_reply(value)):
            return form
    kept = found[0] if (found := _KEPT.match(value)) else ""
    return value if value in _CHANNELS | _LISTS else kept + value.removeprefix(kept).translate(_OTHERS)


def _twin_intent(token: str, staff: Staff) -> str:
    try:
        intent = unseal_intent(token, staff)
    except BadReference:
        return ""
    names = ("primary_channel", "conversation_id", "company_id")
    return seal_intent(replace(intent, **{name: twin(getattr(intent, name)) for name in names}), staff)  # type: ignore[arg-type]


def _twin_reply(token: str) -> str:
    """The form of a reply by the same person, in the twin of its conversation."""
    try:
        username, primary_channel, conversation_id, reply_id = unseal_data("reply", token)
    except BadReference:
        return ""
    return seal_data("reply", [username, twin(primary_channel), twin(conversation_id), reply_id])


def _other(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: each if name in KEPT_NAMES else _other(each) for name, each in data.items()}
    if isinstance(data, list):
        return [_other(each) for each in data]
    return twin(data) if isinstance(data, str) else data


def twin_url(url: str) -> str:
    """The same address with the twin of each of its parameters, in path and query."""
    parts = urlsplit(url)
    path = parts.path
    try:
        parameters = resolve(unquote(path)).kwargs
    except Resolver404:
        parameters = {}
    for value in parameters.values():
        # A store is the same for everybody.
        if isinstance(value, str) and value not in WORDS_OF_PATHS:
            path = path.replace(quote(value), quote(twin(value)))
    query = [(name, value if name in KEPT_NAMES else twin(value)) for name, value in parse_qsl(parts.query)]
    return path + (f"?{urlencode(query)}" if query else "")


def malformed(reference: str) -> dict[str, str]:
    """References that this console did not make, made from one that it did."""
    last = "A" if reference[-5] != "A" else "B"
    return {
        "a changed character": reference[:-5] + last + reference[-4:],
        "cut short": reference[:-7],
        "longer": reference + "AAAA",
        "another kind's": seal_data("cursor", unseal_any(reference)),
        "no base64": "!" + reference[1:],
        "not ours": "x",
        "beyond any length": "A" * 8_500,
        "another spelling": reference + "=",
        "control characters": "\x00\n",
    }


def unseal_any(reference: str) -> Any:
    """What a reference of whichever kind holds. Raises `BadReference`."""
    for kind in REFERENCE_KINDS:
        try:
            return unseal_data(kind, reference)
        except BadReference:
            continue
    raise BadReference
