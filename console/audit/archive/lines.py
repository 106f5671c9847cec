"""What an archive holds of an entry: everything that is stored, redacted again, and which trail it is of."""

from decimal import Decimal
from typing import Any, cast

from console.audit.archive.chain import Chain
from console.audit.archive.keys import ArchiveKey
from console.redaction import redact_value
from console.store.values import plain_item
from console.trail.models import AuditEntry
from console.trees import well_formed


def line_of(entry: AuditEntry, chain: Chain, key: ArchiveKey) -> bytes:
    """The entry as the chain's next line. No more personal data than the table holds, and masked by today's rules."""
    stored = plain_item(entry.raw)
    pseudonym = key.pseudonym(str(stored.get("conversation_id") or ""))
    return chain.seal(pseudonym, cast(dict[str, Any], _numbers(redact_value(well_formed(stored)))))


def _numbers(value: Any) -> Any:
    """Decimals as JSON numbers, where none of their digits is lost by that."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() and Decimal(repr(float(value))) == value else str(value)
    return value
