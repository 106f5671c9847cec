"""Keyed pseudonyms for Insight, and sealed links back to sources that still exist.

The key is made once and stored in the console's own table, sealed with SECRET_KEY. It therefore survives a rotation of
SECRET_KEY; otherwise every conversation would be counted twice. Facts contain only pseudonyms. The link back to a
conversation is a separate item in another table than the facts: sealed, and removed with the conversation.
"""

import hashlib
import hmac
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console.caching import cached_for
from console.errors import BadReference, NotConfigured, NotFound
from console.refs import as_letters, seal_data, unseal_data
from console.store.calls import ConditionFailed
from console.store.models import ConsoleItem, LenientItem

_PARTITION, _KEY = "INSIGHT", "KEY"
_SEALED_AS = "insight key"
_LINK, _LINKS = "LINK", "INSIGHT_LINK#"


class InsightKey(ConsoleItem):
    """The key of all pseudonyms, sealed."""

    pk = UnicodeAttribute(hash_key=True, default=_PARTITION)
    sk = UnicodeAttribute(range_key=True, default=_KEY)
    sealed = UnicodeAttribute()


class SourceLink(LenientItem):
    """A sealed link from a pseudonym to its source, removed with it."""

    sk = UnicodeAttribute(range_key=True, default=_LINK)
    sealed = UnicodeAttribute()
    expires_at = NumberAttribute(null=True)


@cached_for(seconds=3600, entries=4)
def _key() -> bytes:
    """Return the key, creating it if there is none. Raises `NotConfigured`, and the store's errors."""
    while True:
        try:
            stored = InsightKey.get(_PARTITION, _KEY, consistent_read=True)
        except NotFound:
            made = InsightKey(sealed=seal_data(_SEALED_AS, secrets.token_hex(32)))
            try:
                made.save(InsightKey.pk.does_not_exist())
            except ConditionFailed:
                # Another process created the key first: use that one.
                continue
            stored = made
        _seal_again(stored)
        return bytes.fromhex(_unsealed(stored))


def seal_again() -> bool:
    """Seal the key with the current SECRET_KEY, so that the fallback can be removed; return whether that was needed.

    Raises `NotFound` if there is no key yet, `BadReference` if no SECRET_KEY opens it, and the store's errors.
    """
    try:
        return _seal_again(InsightKey.get(_PARTITION, _KEY, consistent_read=True))
    except NotConfigured as error:
        raise BadReference from error


def _seal_again(stored: InsightKey) -> bool:
    if (sealed := seal_data(_SEALED_AS, _unsealed(stored))) == stored.sealed:
        return False
    InsightKey(sealed=sealed).save()
    return True


def _unsealed(stored: InsightKey) -> str:
    try:
        return str(unseal_data(_SEALED_AS, stored.sealed))
    except BadReference as error:
        raise NotConfigured(
            "The key of Insight cannot be opened: SECRET_KEY was changed without SECRET_KEY_FALLBACKS."
        ) from error


def _derived(purpose: str, length: int) -> bytes:
    return HKDF(SHA256(), length=length, salt=None, info=f"insight {purpose}".encode()).derive(_key())


@cached_for(seconds=3600, entries=4)
def _mac_key() -> bytes:
    return _derived("pseudonym", 32)


@cached_for(seconds=3600, entries=4)
def _cipher() -> AESSIV:
    return AESSIV(_derived("link", 64))


def pseudonym_of(kind: str, *parts: str) -> str:
    """Return the permanent pseudonym of something of a kind: 24 letters that do not reveal the parts.

    Raises `NotConfigured`, and the store's errors if the key is not cached.
    """
    named = "\0".join((kind, *parts)).encode("utf-8", "surrogatepass")
    return as_letters(hmac.digest(_mac_key(), named, hashlib.sha256)[:12])


def save_link(pseudonym: str, parts: Collection[str], expires_at: int | None) -> None:
    """Save the link from a pseudonym to its source, until `expires_at` (epoch seconds; None for no expiry).

    Raises the errors of `pseudonym_of`.
    """
    SourceLink(pk=_LINKS + pseudonym, sealed=_sealed(pseudonym, parts), expires_at=expires_at).save()


def extend_link(pseudonym: str, parts: Collection[str], expires_at: int | None) -> None:
    """Save a link like `save_link`, but never shorten its lifetime: its source expires part by part.

    Raises the errors of `pseudonym_of`.
    """
    link = SourceLink(pk=_LINKS + pseudonym, sealed=_sealed(pseudonym, parts), expires_at=expires_at)
    longer = None if expires_at is None else SourceLink.pk.does_not_exist() | (SourceLink.expires_at < expires_at)
    with suppress(ConditionFailed):
        link.save(longer)


def forget_link(pseudonym: str) -> None:
    """Remove the link to a source that is gone. Raises the store's errors."""
    SourceLink(pk=_LINKS + pseudonym).delete()


def links_of(pseudonyms: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the sources of those pseudonyms whose links still exist. One BatchGetItem per hundred.

    Raises the errors of `pseudonym_of`.
    """
    found = SourceLink.batch_get([(_LINKS + each, _LINK) for each in pseudonyms])
    sealed = {each.pk.removeprefix(_LINKS): each.sealed for each in found}
    return {name: parts for name, each in sealed.items() if (parts := _opened(name, each)) is not None}


def _sealed(pseudonym: str, parts: Collection[str]) -> str:
    text = json.dumps(list(parts), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return b64encode(_cipher().encrypt(text, [pseudonym.encode()])).decode()


def _opened(pseudonym: str, sealed: Any) -> tuple[str, ...] | None:
    """Return what was sealed for this pseudonym; None for anything else."""
    try:
        text = _cipher().decrypt(b64decode(str(sealed), validate=True), [pseudonym.encode()])
        return tuple(str(each) for each in json.loads(text.decode("utf-8", "surrogatepass")))
    except (InvalidTag, ValueError, TypeError):
        return None
