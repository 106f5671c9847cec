"""Lengths of time counted in buckets, each 15 % longer than the one before: half and nine tenths of them, to 7 %.

A bucket can be added to that of another day, which a median cannot. Values are whole: seconds, or milliseconds.
"""

from collections.abc import Mapping
from math import floor, log

_BASE = 1.15
_LOG = log(_BASE)
# Nothing waits for longer, in whatever unit.
MOST = 10**12


def bucket_of(value: float) -> int:
    """The bucket of a value: 0 for less than 1."""
    if value < 1:
        return 0
    return 1 + floor(log(min(value, MOST)) / _LOG)


def value_of(bucket: int) -> float:
    """The value that stands for a bucket: between its ends, no further than 7 % from each."""
    return 0.0 if bucket <= 0 else _BASE ** (bucket - 1) * (2 * _BASE / (1 + _BASE))


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """The value that so large a share of all do not exceed; None where there are none."""
    total = sum(counts.values())
    if total <= 0:
        return None
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        # A share such as 0.9 is no exact number.
        if passed >= share * total - 1e-9:
            return value_of(bucket)
    return value_of(max(counts))
