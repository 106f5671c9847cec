"""Durations counted in buckets, each 15% wider than the one before: quantiles are accurate to 7%.

Unlike medians, buckets of different days can be added up. Values are whole seconds or milliseconds.
"""

from collections.abc import Mapping
from math import floor, log

_BASE = 1.15
_LOG = log(_BASE)
# Larger than any wait, in either unit.
MOST = 10**12


def bucket_of(value: float) -> int:
    """Return the bucket of a value: 0 for less than 1."""
    if value < 1:
        return 0
    return 1 + floor(log(min(value, MOST)) / _LOG)


def value_of(bucket: int) -> float:
    """Return the value that represents a bucket: within 7% of both of its ends."""
    return 0.0 if bucket <= 0 else _BASE ** (bucket - 1) * (2 * _BASE / (1 + _BASE))


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """Return the value that this share of all values do not exceed; None if there are none."""
    total = sum(counts.values())
    if total <= 0:
        return None
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        # A share such as 0.9 has no exact binary representation.
        if passed >= share * total - 1e-9:
            return value_of(bucket)
    return value_of(max(counts))
