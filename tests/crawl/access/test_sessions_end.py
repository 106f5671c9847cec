"""A session ends at once, wherever its cookie was copied to."""

from collections.abc import Callable
from dataclasses import dataclass

import pyotp
import pytest
from django.conf import settings
from django.test import Client

from console import clock, refs
from console.permissions import Role, Staff
from console.staff import accounts, own, password_links, second_factor, services, session_list, sessions
from console.staff.models import StaffAccount
from console.trail.recording import COMMAND_LINE
from conversations.converting import hand_off_of, reference_of
from conversations.handoff import HandOffAction, intent_for, seal_intent
from conversations.models import Conversation
from tests.people import COMPANY, admin, signed_in
from tests.scenario import HTMX, PASSWORD, person

NAME = settings.SESSION_COOKIE_NAME
SECRET = pyotp.random_base32()


def sign_in(client: Client, username: str) -> str:
    """Signs in through the page; the token of the new session."""
    answer = client.post("/sign-in/", {"username": username, "password": PASSWORD})
    assert answer.status_code == 302
    return client.cookies[NAME].value


def copy_of(token: str) -> Client:
    """Another browser with the same cookie."""
    client = Client()
    client.cookies[NAME] = token
    return client


def is_signed_in(client: Client) -> bool:
    """Whether a page that every role has is answered."""
    answer = client.get("/")
    assert answer.status_code == 302
    return not answer["Location"].startswith("/sign-in/")


@dataclass
class Scene:
    """Somebody who is signed in in two browsers: `token` is the cookie of one, `other` the other browser."""

    username: str
    token: str
    other: Client
    admin: Client

    def account(self) -> StaffAccount:
        return accounts.get(self.username)

    def manage(self, page: str, **form: str) -> None:
        """An administrator sends a form about the account."""
        seen = {"seen": str(self.account().updated_at)}
        answer = self.admin.post(f"/staff/{self.username}/{page}/", seen | form)
        assert answer.status_code in (200, 302), answer.content.decode()

    def change(self, **chosen: str) -> None:
        """An administrator changes the account."""
        kept = {"display_name": "Robin", "role": "agent", "other": COMPANY, "time_zone": "UTC"}
        self.manage("change", **(kept | chosen))

    def send(self, client: Client, page: str, **form: str) -> None:
        """The person sends a form about their own account."""
        answer = client.post(f"/account/{page}/", form)
        assert answer.status_code in (200, 302), answer.content.decode()
        assert b"errorlist" not in answer.content

    def reference(self, token: str) -> str:
        """What the form that ends that one session carries."""
        return refs.seal(session_list.KIND, self.username, sessions.read_token(token).session_id)

    def set_up(self) -> dict[str, str]:
        """The form that switches a second factor on."""
        begun = own.begin_set_up(Staff.of(self.account()))
        return {"pending": begun.pending, "code": pyotp.TOTP(begun.key).now(), "current_password": PASSWORD}

    def with_second_factor(self) -> "Scene":
        """The account as if it had been signed in with a second factor."""
        secret = second_factor.sealed_secret(self.username, SECRET)
        at = StaffAccount.second_factor_at.set(clock.to_iso(clock.now()))
        self.account().update(actions=[StaffAccount.totp_secret.set(secret), at])
        return self


def by_link(scene: Scene) -> None:
    """An administrator hands over a link, and the person sets a password with it."""
    _, code = services.issue_password_link(scene.username, actor=COMMAND_LINE)
    new = "a fine new passphrase"
    assert Client().post("/set-password/", {"code": code, "password": new, "repeated": new}).status_code == 302


def link_only(scene: Scene) -> None:
    """As when the link's code was redeemed by whoever has it."""
    link = password_links.make(scene.username)
    scene.account().update(
        actions=[
            StaffAccount.password_link_hash.set(link.digest),
            StaffAccount.password_link_expires_at.set(link.expires_at),
        ]
    )
    password_links.redeem(link.code, "a fine new passphrase")


Ending = Callable[[Scene], object]
# Of one session only; the other browser's goes on.
OF_ONE: dict[str, Ending] = {
    "signed out where it was copied from": lambda scene: copy_of(scene.token).post("/sign-out/"),
    "signed in anew in the same browser": lambda scene: sign_in(copy_of(scene.token), scene.username),
    "somebody else signed in in the same browser": lambda scene: sign_in(copy_of(scene.token), "ada.admin"),
    "ended from the own account's page": lambda scene: scene.send(
        scene.other, "sessions/end", session=scene.reference(scene.token), current_password=PASSWORD
    ),
    "ended from its own page": lambda scene: scene.send(
        copy_of(scene.token), "sessions/end", session=scene.reference(scene.token)
    ),
    "ended by an administrator": lambda scene: scene.manage("sessions/end", session=scene.reference(scene.token)),
}
# Of all sessions, by the person in the other browser, which goes on with a new cookie.
ASKED_FOR: dict[str, Ending] = {
    "password changed": lambda scene: scene.send(
        scene.other,
        "password",
        current_password=PASSWORD,
        new_password="another fine passphrase",
        repeated="another fine passphrase",
    ),
    "second factor set up": lambda scene: scene.send(scene.other, "second-factor", **scene.set_up()),
    "second factor removed": lambda scene: scene.with_second_factor().send(
        scene.other, "second-factor/remove", current_password=PASSWORD
    ),
    "all others ended": lambda scene: scene.send(scene.other, "sessions/end", session="all", current_password=PASSWORD),
}
# Of all sessions, by others.
OF_ALL: dict[str, Ending] = {
    "password reset": lambda scene: services.reset_password(scene.username, "a fine new one", actor=COMMAND_LINE),
    "password voided for a link": lambda scene: scene.manage("password"),
    "password set with a link": by_link,
    "link redeemed": link_only,
    "another role": lambda scene: services.change(scene.username, role=Role.AUDITOR, actor=COMMAND_LINE),
    "a higher role": lambda scene: scene.change(role="admin"),
    "a narrower scope": lambda scene: services.change(scene.username, scope=[], actor=COMMAND_LINE),
    "another scope": lambda scene: scene.change(other="company:ci-bbb-002"),
    "a wider scope": lambda scene: scene.change(other="", everything="on"),
    "disabled": lambda scene: scene.manage("disable"),
    "disabled and enabled": lambda scene: (scene.manage("disable"), scene.manage("enable")),
    "disabled at the command line": lambda scene: services.disable(scene.username, actor=COMMAND_LINE),
    "second factor removed by an administrator": lambda scene: scene.with_second_factor().manage(
        "second-factor/remove"
    ),
    "signed out everywhere": lambda scene: services.end_sessions(scene.username, actor=COMMAND_LINE),
    "signed out everywhere by an administrator": lambda scene: scene.manage("sessions/end", session="all"),
}


@pytest.fixture
def scenes(scenario) -> Callable[[], Scene]:
    """`scenes()`: a new agent of our company, signed in in two browsers."""
    manager = signed_in(accounts.get("ada.admin"))
    made: list[str] = []

    def scenes() -> Scene:
        made.append(f"person.{len(made)}")
        person(made[-1], "agent", [COMPANY])
        token, other = sign_in(Client(), made[-1]), Client()
        sign_in(other, made[-1])
        return Scene(made[-1], token, other, manager)

    return scenes


def assert_dead(token: str, forms: dict[str, dict[str, str]], page: str) -> None:
    """No request with that cookie gets anything but the way to sign in, and the browser forgets it."""
    for headers in ({}, HTMX, HTMX | {"X-Poll": "1"}):
        copy = copy_of(token)
        answer = copy.get(page, headers=headers)
        assert answer.status_code == (401 if headers else 302)
        assert (answer["HX-Redirect"] if headers else answer["Location"]).startswith("/sign-in/")
        # What the page asks by itself leaves the cookie, which may be a newer session's by then.
        assert copy.cookies[NAME].value == (token if "X-Poll" in headers else "")
        assert answer.content in (b"", None)
    assert copy_of(token).head("/queue/")["Location"].startswith("/sign-in/")
    for url, form in forms.items():
        assert copy_of(token).post(url, form).status_code == 401, url
    assert copy_of(token).get("/sign-in/").status_code == 200
    assert sessions.authenticate_request(token) is None


@pytest.mark.parametrize("kind", [OF_ONE, ASKED_FOR, OF_ALL], ids=["of one", "asked for", "of all"])
def test_a_copied_cookie_is_dead_on_the_very_next_request(store, scenario, scenes, kind):
    page = f"/conversations/{scenario.ours.conversation_ref}/"
    before, waiting = store.all("CONVERSATIONS"), Conversation.get(*scenario.ours.keys["waiting"])
    for ending, end in kind.items():
        scene = scenes()
        other_token = scene.other.cookies[NAME].value
        take = seal_intent(intent_for(HandOffAction.TAKE, waiting, hand_off_of(waiting)), Staff.of(scene.account()))
        forms = {
            f"/conversations/{reference_of(*scenario.ours.keys['waiting'])}/hand-off/": {"intent": take},
            f"{page}reveal/": {},
            "/queue/release-mine/": {},
            "/account/time-zone/": {"time_zone": "Asia/Tokyo"},
        }
        # Both are in use until then: that nothing is remembered of it shows only so.
        assert copy_of(scene.token).get(page).status_code == 200
        assert is_signed_in(copy_of(other_token))
        end(scene)
        try:
            assert_dead(scene.token, forms, page)
            assert is_signed_in(copy_of(other_token)) == (kind is OF_ONE)
            assert is_signed_in(scene.other) == (kind is not OF_ALL)
        except AssertionError as error:
            raise AssertionError(f"{ending}: {error}") from error
    assert store.all("CONVERSATIONS") == before


def test_what_ends_no_session_ends_none(scenario, scenes):
    scene = scenes()
    scene.change(display_name="Somebody Else")
    scene.change(time_zone="Asia/Tokyo")
    scene.send(scene.other, "time-zone", time_zone="Europe/Paris")
    scene.with_second_factor().send(scene.other, "recovery-codes", current_password=PASSWORD)
    assert is_signed_in(copy_of(scene.token))
    assert is_signed_in(scene.other)


def test_signing_out_with_a_dead_cookie_brings_nothing_back(store):
    token = sign_in(Client(), person("amira.haddad", "agent", [COMPANY]).username)
    for _ in range(2):
        assert copy_of(token).post("/sign-out/").status_code == 302
    assert not is_signed_in(copy_of(token))


def test_a_session_of_another_account_is_not_ended_by_its_reference(store):
    mine, theirs = person("amira.haddad", "agent", [COMPANY]), person("tom.becker", "agent", [COMPANY])
    token = sign_in(Client(), theirs.username)
    reference = refs.seal(session_list.KIND, theirs.username, sessions.read_token(token).session_id)
    client = signed_in(mine)
    assert client.post("/account/sessions/end/", {"session": reference}).status_code == 404
    for junk in ("", "junk", sessions.read_token(token).session_id, reference_of("tom.becker", "x")):
        assert client.post("/account/sessions/end/", {"session": junk}).status_code == 404
    manager = signed_in(admin())
    assert manager.post(f"/staff/{mine.username}/sessions/end/", {"session": reference}).status_code == 404
    assert is_signed_in(copy_of(token))
