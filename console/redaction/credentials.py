"""Finding and masking credentials by the words of a key and the shape of a text, in pages, logs and configuration."""

import json
import re
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from typing import Any

from console.redaction.masks import FULL_MASK, KEPT_TAIL, Claim, holds_any, is_mask, word_set

_SECRETS = word_set(
    "password passwords passwd passphrase passcode pwd secret secrets authorization cookie cookies apikey otp pin nino "
    "jwt privatekey accesskey secretkey clientsecret accesstoken authtoken refreshtoken sessiontoken"
)
_KEYS_OF = word_set("private secret access api signing encryption")
# Pagination tokens and the special tokens of language models are not credentials: next_token, stop_token.
_HARMLESS_TOKENS = word_set("next page continuation pagination stop special eos bos pad unk start end")
# In a configuration a reference to a credential is masked too; elsewhere too many things are called a key.
_REFERENCES = word_set("credential credentials cred creds token tokens key keys arn arns auth bearer signature")
# Found within keys written as one word, without a boundary to split at: `accesstoken`, `clientsecret`.
_WITHIN = ("secret", "credential", "password", "passwd", "apikey", "accesskey", "token")
_SIGNATURES = frozenset({"sig", "signature"})
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MAX_DEPTH = 64
_SHORTEST_WITH_TAIL = 12

# Prefixes of the API keys of well-known services.
KEY_PREFIX = (
    r"(?:[spr]k|xox[a-z]|xapp|gh[pousr]|github_pat|gl(?:pat|rt|dt)|whsec|hf|npm|shp(?:at|ss|ca|pa)|dop_v1|pypi"
    r"|sq0[a-z]{3})[\-_]"
)
# At least one digit, or a long piece without a hyphen, because `sk-learn-…` is not a key.
_OPAQUE = r"(?:(?=[A-Za-z_\-]{0,64}[0-9])[A-Za-z0-9_\-]{16,256}|[A-Za-z0-9]{20,256})(?![A-Za-z0-9_\-])"
# A cheap first test: a text without any of these cannot match _SHAPE, and most keys need a long piece.
_BEGINNINGS = ("eyJ", "ya29.", "earer ", "EARER ", "asic ", "PRIVATE KEY", "$", "://")
_BEGINNINGS_OF_LONG = (
    *("AKIA", "ASIA", "AIza", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xox", "ghp", "gho", "ghu", "ghs", "ghr"),
    *("github_pat_", "glpat-", "glrt-", "gldt-", "whsec_", "hf_", "npm_", "shp", "dop_v1_", "pypi-", "sq0", "xapp-"),
    *("SG.", "EAA", "key-", "-us", "hvs.", "GOCSPX-", "dckr_", "AC", "SK", "bc1", "0x"),
)
_has_long_piece = re.compile(r"\b[\w\-]{16}", re.ASCII).search
_SHAPE = re.compile(
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,128}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])AIza[A-Za-z0-9_\-]{30,40}(?![A-Za-z0-9_\-])"
    rf"|(?<![A-Za-z0-9]){KEY_PREFIX}{_OPAQUE}"
    r"|(?<![\w\-])eyJ[\w\-]{8,4096}\.[\w\-]{4,8192}(?:\.[\w\-]{0,4096})?"
    r"|(?<![A-Za-z0-9])(?:[Bb]earer|BEARER)[ ]{1,4}"
    r"(?P<bearer>(?=[A-Za-z._~+/=\-]{0,64}[0-9])[\w.~+/=\-]{8,4096}|[A-Za-z0-9]{16,4096})"
    # SendGrid, Google; an account of Twilio and its token; wallets
    r"|(?<![A-Za-z0-9])(?:SG\.[A-Za-z0-9_\-]{16,64}\.[A-Za-z0-9_\-]{16,128}|ya29\.[A-Za-z0-9_\-]{10,512})"
    r"|(?<![A-Za-z0-9])(?:AC|SK)[0-9a-f]{32}:[0-9a-zA-Z]{32}(?![0-9A-Za-z])"
    r"|(?<![A-Za-z0-9])(?:bc1[a-z0-9]{25,87}|0x[0-9A-Fa-f]{40})(?![0-9A-Za-z])"
    # the password in a link to a database, and links that let anyone send to a channel
    r"|://[^\s/:@\0]{0,64}:(?P<password>[^\s/@\0*]{1,128})@"
    r"|hooks\.slack\.com/(?P<slack>(?:services|workflows|triggers)/[^\s\"'<>)\0]{1,256})"
    r"|discord(?:app)?\.com/api/webhooks/(?P<discord>[^\s\"'<>)\0]{1,256})"
    r"|office\.com/webhook[a-z0-9]{0,8}/(?P<teams>[^\s\"'<>)\0]{1,512})"
    r"|api\.telegram\.org/(?P<telegram>bot[^\s\"'<>)/\0]{1,128})"
    r"|(?<![A-Za-z0-9])[Bb]asic[ ](?P<basic>(?=[A-Za-z+/]{0,64}[0-9=])[A-Za-z0-9+/]{8,4096}={0,2})"
    # Facebook, Mailgun, Mailchimp, Vault, Google, Docker
    r"|(?<![A-Za-z0-9])(?:EAA[A-Za-z0-9]{24,512}|key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2}|hvs\.[A-Za-z0-9_\-]{16,256}"
    r"|(?:GOCSPX-|dckr_pat_)[A-Za-z0-9_\-]{16,256})(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])(?:argon2|pbkdf2_|bcrypt|scrypt|md5)\w{0,20}\$[^\s'\"\0]{1,512}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^\-]|-(?!----)){0,16384}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
    re.ASCII,
)
# An & within a value: a password may contain one, so only one before another field ends it.
AMPERSAND = r"&(?!(?:amp;)?[\w.\-]{1,64}=)"
# ?token=…&sig=…
_PARAMETER = re.compile(
    rf"[?&#;](?P<key>[\w.\-]{{1,64}})=(?P<value>(?:[^\s&#;,\"'<>()\[\]{{}}|\0]|{AMPERSAND}){{1,4096}})",
    re.ASCII,
)
# An unquoted value of a field: up to the end of the line or the next key.
PHRASE = rf"[^\s;&|<>\"'{{}}\[\]](?:[^\s;&|<>\"{{}}]|{AMPERSAND}|[^\S\n](?![^\S\n]{{0,2}}[\w.\-]{{1,40}}=)){{0,120}}"
# password: hunter, in logs and configuration; for pages, fields.py finds all fields.
_FIELD = re.compile(
    rf"(?<![\w.\-])(?P<key>[\w.\-]{{1,64}})[\"']?[ ]?[=:]++>?[ ]?"
    rf"(?P<value>\"[^\"\n]{{1,400}}\"|'[^'\n]{{1,400}}'|{PHRASE})",
    re.ASCII,
)
_NO_VALUE = word_set("null none true false")
# ARNs may name a credential; they are masked in configuration and logs only.
_RESOURCE = re.compile(r"arn:[a-z\-]{0,20}:\S*", re.ASCII)


def may_hold_credential(text: str) -> bool:
    """Return whether a text has the beginning of a credential that is recognised by its shape."""
    return holds_any(text, _BEGINNINGS) or (_has_long_piece(text) is not None and holds_any(text, _BEGINNINGS_OF_LONG))


def mask_credential(text: str) -> str:
    """Mask a credential; a long one keeps its last four characters, so that two can be told apart."""
    return FULL_MASK + text[-KEPT_TAIL:] if len(text) >= _SHORTEST_WITH_TAIL else FULL_MASK


def is_secret(words: tuple[str, ...]) -> bool:
    """Return whether the words of a key, in any payload, say that its value grants access or proves an identity."""
    if not _SECRETS.isdisjoint(words) or words[:2] == ("national", "insurance"):
        return True
    if words[-1:] == ("token",):
        return len(words) == 1 or words[-2] not in _HARMLESS_TOKENS
    return "key" in words and not _KEYS_OF.isdisjoint(words)


def is_credential_key(key: str) -> bool:
    """Return whether a key of a configuration says that its value is a credential or refers to one."""
    words = _words_of(key)
    lowered = key.lower()
    return is_secret(words) or not _REFERENCES.isdisjoint(words) or any(part in lowered for part in _WITHIN)


def credential_claims(text: str) -> list[Claim]:
    """Claim the credentials in a text; they are not personal data, but masked for readers who get redacted text."""
    return [(start, end, FULL_MASK) for start, end in _without_overlaps(_found(text))]


def mask_text(text: str) -> str:
    """Mask every credential, and every resource that may name one, in the text of a log or a configuration."""
    pieces: list[str] = []
    done = 0
    fields = [each.span("value") for each in _FIELD.finditer(text) if _is_secret_field(*each.groups())]
    for start, end in _without_overlaps(_found(text) + fields):
        pieces += (text[done:start], mask_credential(text[start:end]))
        done = end
    return _RESOURCE.sub(lambda found: mask_credential(found[0]), "".join((*pieces, text[done:])))


def mask_credentials(value: Any) -> Any:
    """Mask the credentials in a plain value of a configuration: those named by a key, and those that look like one.

    Long ones keep their last four characters; short ones keep nothing. Counts of tokens, true, false and null stay.
    JSON stored as text is masked inside.
    """
    return _walk(value, secret=False, depth=0)


def restore_credentials(typed: Any, stored: Any) -> Any:
    """Return a value that a person edited as `mask_credentials(stored)`, with what the masks stand for.

    A mask is only replaced where it was: in the same part of an object, or in an unchanged member of a list. Raises
    `ValueError` for any other.
    """
    restored = _restored(typed, stored, mask_credentials(stored))
    if _count_masks(restored) > _count_masks(stored):
        raise ValueError(f"{FULL_MASK} hides a stored secret. Leave it where it was, or enter the secret in full.")
    return restored


def _restored(typed: Any, stored: Any, masked: Any) -> Any:
    # Not by ==, for which true is 1.
    if repr(typed) == repr(masked):
        return stored
    if isinstance(typed, dict) and isinstance(stored, dict):
        return {
            key: _restored(each, stored[key], masked[key]) if key in stored else each for key, each in typed.items()
        }
    if isinstance(typed, list) and isinstance(stored, list):
        hidden = dict(zip(map(repr, masked), stored, strict=True))
        # Two members that look alike are only told apart in a list that is unchanged.
        alike = {name for name, number in Counter(map(repr, masked)).items() if number > 1}
        return [each if repr(each) in alike else hidden.get(repr(each), each) for each in typed]
    return typed


def _count_masks(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count_masks, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and FULL_MASK in value


def _found(text: str) -> list[tuple[int, int]]:
    """Return the spans of credentials; of a link, only the value of the parameter."""
    found: list[tuple[int, int]] = []
    if may_hold_credential(text):
        found += [each.span(each.lastgroup or 0) for each in _SHAPE.finditer(text)]
    if "=" in text:
        found += [each.span("value") for each in _PARAMETER.finditer(text) if _is_secret_parameter(*each.groups())]
    return found


def _without_overlaps(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort spans and drop overlaps: the first one wins, or of two with the same start the longer one."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def _is_secret_field(key: str, value: str) -> bool:
    value = value.strip("\"'")
    return is_secret(_words_of(key)) and value.lower() not in _NO_VALUE and not is_mask(value)


def _is_secret_parameter(key: str, value: str) -> bool:
    words = _words_of(key)
    return (is_secret(words) or not _SIGNATURES.isdisjoint(words[-1:])) and not is_mask(value)


def _words_of(key: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _SPLIT.findall(key))


def _counts_tokens(key: str, value: Any) -> bool:
    """Return whether the value is a number of tokens, not a token: `max_tokens: 400`."""
    return "tokens" in key.lower() and isinstance(value, int | float | Decimal)


def _walk(value: Any, *, secret: bool, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return FULL_MASK
    if isinstance(value, dict):
        return {
            key: each
            if _counts_tokens(str(key), each) and not secret
            else _walk(each, secret=secret or is_credential_key(str(key)), depth=depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_walk(each, secret=secret, depth=depth + 1) for each in value]
    if value is None or isinstance(value, bool):
        return value
    if secret:
        return mask_credential(str(value))
    return _text(value, depth) if isinstance(value, str) else value


def _text(text: str, depth: int) -> str:
    if text.lstrip()[:1] in ("{", "["):
        # Text that is not JSON after all is masked as any other text.
        with suppress(ValueError, RecursionError):
            return json.dumps(_walk(json.loads(text), secret=False, depth=depth + 1), ensure_ascii=False, default=str)
    return mask_text(text)
