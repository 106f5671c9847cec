"""The reasons for which a company sign-in fails, in words for the page and for the trail.

A refusal contains no claim's value and nothing that the provider sent, only our own words.
"""

from console.errors import ConsoleError


class Refusal(ConsoleError):
    """A company sign-in failed. The text (default: `words`) is for the person, the short `reason` for the trail.

    `username` is the account concerned, if any. `kind` is the metrics' label.
    """

    kind = "company_sign_in_refused"
    words = ""
    username = ""
    # Whether starting again may help.
    may_repeat = True

    def __init__(self, reason: str, text: str = "") -> None:
        self.reason = reason
        super().__init__(text or self.words)


class ProviderFailed(Refusal):
    """The provider gave no usable answer: too late, malformed, too long, or not from this provider."""

    kind = "company_sign_in_no_answer"
    status = 503
    retry_after = 5
    title = "Your company's sign-in did not answer"
    words = (
        "The console got no usable answer, so you were not signed in. Try again in a moment. If it keeps "
        "happening, tell an administrator."
    )


class ReturnUnusable(Refusal):
    """The answer belongs to no attempt of this browser, or to one that has expired."""

    kind = "company_sign_in_unusable"
    status = 400
    title = "This sign-in cannot be finished"
    words = (
        "You were not signed in. Finish signing in within 10 minutes, in the browser where you started. Each "
        "sign-in works once. Start again."
    )


class Denied(Refusal):
    """The provider itself refused."""

    kind = "company_sign_in_denied"
    status = 403
    title = "Your company did not let you sign in"
    words = (
        "You cancelled the sign-in, or your company does not let you use this console. Start again, or ask "
        "the people who manage your company's accounts."
    )


class NotAdmitted(Refusal):
    """The provider knows the person, but they have no account here, or may not use it."""

    kind = "company_sign_in_not_admitted"
    status = 403
    title = "No access to this console"
    may_repeat = False
    words = "Your company's sign-in worked, but you have no account here that you can use. Ask an administrator."
