"""The two halves of a company sign-in: sending the browser to the provider, and handling its return."""

from dataclasses import dataclass, field, replace

from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_variables

from console import instrumentation
from console.refs import as_letters
from console.staff import authentication, sessions, throttling
from console.staff.authentication import VISITOR, SignedIn, Visit
from console.staff.oidc import admission, attempts, claims, configuration, id_token, provider
from console.staff.oidc.attempts import Attempt
from console.staff.oidc.configuration import Configuration
from console.staff.oidc.provider import OidcProvider
from console.staff.oidc.refusals import Denied, ProviderFailed, Refusal, ReturnUnusable
from console.staff.throttling import TooManyAttempts
from console.trail.actions import Action, Result
from console.trail.recording import SYSTEM_TRAIL, TrailEntry, record_where_possible, staff_trail

MAX_CODE = 4_096
# Error codes if the person or a rule of the company stopped the sign-in there (OAuth 2.0, section 4.1.2.1).
DENIALS = frozenset({"access_denied", "interaction_required", "login_required", "consent_required"})


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """The query parameters of the return from the provider, "" for absent ones."""

    state: str = field(repr=False)
    code: str = field(repr=False)
    error: str
    issuer: str


def start(destination: str, *, redirect_uri: str, again: bool = False) -> tuple[str, str]:
    """Return the provider's URL to redirect to, and the cookie to set. Raises `ProviderFailed`.

    `again` lets the person choose another account there.
    """
    using = configuration.current()
    found = provider.discover(using)
    attempt = attempts.begin(using.issuer, destination)
    return provider.authorization_url(found, using, attempt, redirect_uri=redirect_uri, again=again), attempt.sealed()


@sensitive_variables()
def finish(answer: ProviderAnswer, cookie: str, visit: Visit, *, redirect_uri: str) -> tuple[SignedIn, str]:
    """Start a session; return it and the destination. Every refusal is recorded in the trail.

    Raises `Refusal`, `TooManyAttempts`, and the store's errors: then no session was started.
    """
    _count(visit)
    using = configuration.current()
    subject = ""
    try:
        attempt = attempts.resume(cookie, using.issuer, answer.state)
        found = _identify(answer, attempt, using, redirect_uri)
        subject = claims.subject(found, using)
        account = admission.admit(subject, found, using)
    except Refusal as refusal:
        _record(refusal, subject, visit)
        raise
    is_stated = using.states_second_factor and claims.has_second_factor(found, using)
    token = authentication.start_session(account, visit, sessions.COMPANY_SIGN_IN, second_factor_stated=is_stated)
    return SignedIn(account.username, token), attempt.destination


def _identify(answer: ProviderAnswer, attempt: Attempt, using: Configuration, redirect_uri: str) -> dict[str, object]:
    """Return the verified claims of the person that the answer is about. Raises `Refusal`."""
    found = provider.discover(using)
    _check_answer(answer, found)
    tokens = provider.exchange(found, using, code=answer.code, verifier=attempt.verifier, redirect_uri=redirect_uri)
    return id_token.verified_claims(*tokens, nonce=attempt.nonce, provider=found, configuration=using)


def _check_answer(answer: ProviderAnswer, found: OidcProvider) -> None:
    if (answer.issuer or found.names_itself) and answer.issuer != found.issuer:
        raise ReturnUnusable("answer of another provider")
    if answer.error in DENIALS:
        raise Denied("refused by the provider")
    if answer.error:
        raise ProviderFailed("error of the provider")
    if not 0 < len(answer.code) <= MAX_CODE:
        raise ReturnUnusable("no code")


def _count(visit: Visit) -> None:
    """Count one attempt of the address only: the username is not known yet."""
    try:
        throttling.count("", visit.address)
    except TooManyAttempts:
        instrumentation.SIGN_IN_FAILURES.labels(authentication.TOO_MANY_ATTEMPTS).inc()
        result = f"{Result.FAILED}: too many attempts"
        entry = TrailEntry(SYSTEM_TRAIL, Action.SIGN_IN_THROTTLED, VISITOR, result=result, payload=_with(visit))
        authentication.record_once(entry, "company-sign-in")
        raise


def _record(refusal: Refusal, subject: str, visit: Visit) -> None:
    """Record a refusal in the account's trail; else in the system's, with a keyed hash of the subject if known.

    Without a subject, anybody can cause a refusal: it is recorded once in a quarter of an hour for each reason.
    """
    instrumentation.SIGN_IN_FAILURES.labels(refusal.kind).inc()
    trail = staff_trail(refusal.username) if refusal.username else SYSTEM_TRAIL
    result = f"{Result.FAILED}: {refusal.reason}"
    entry = TrailEntry(trail, Action.SIGN_IN_FAILED, VISITOR, result=result, payload=_with(visit))
    if refusal.username:
        record_where_possible(entry)
    elif subject:
        digest = salted_hmac("console.staff.oidc.subject", subject, algorithm="sha256").digest()
        record_where_possible(replace(entry, payload={**_with(visit), "subject_hmac": as_letters(digest[:16])}))
    else:
        authentication.record_once(entry, f"company-sign-in.{refusal.reason.replace(' ', '-')}")


def _with(visit: Visit) -> dict[str, str]:
    return {"with": sessions.COMPANY_SIGN_IN, **visit.recorded}
