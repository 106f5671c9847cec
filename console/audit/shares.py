"""Confidences: shares of one, as writers store them, in per cent."""

from decimal import Decimal, InvalidOperation
from typing import Any


def share_of(value: Any) -> Decimal | None:
    """A confidence between 0 and 1; None for anything else."""
    try:
        share = Decimal(str(value)) if not isinstance(value, bool | dict | list) else None
    except (InvalidOperation, ValueError):
        return None
    return share if share is not None and share.is_finite() and 0 <= share <= 1 else None


def per_cent(share: Decimal) -> str:
    """A share of one in per cent, with one decimal at most: `87 %`, `99.5 %`."""
    return f"{round(float(share) * 100, 1):g} %"
