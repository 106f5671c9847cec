"""Rounding as people expect it: a half is rounded up, so 12.5 % is 13 %. Python alone rounds it to the even 12."""

from decimal import ROUND_HALF_UP, Decimal


def round_half_up(value: float | Decimal, decimals: int = 0) -> Decimal:
    """Round a finite number to that many decimals."""
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
