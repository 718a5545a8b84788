"""Decimals of any length: Python rounds what it computes with them to 28 digits unless told not."""

from decimal import Context, Decimal

_EXACT = Context(prec=200)


def shifted(value: int | Decimal, places: int) -> Decimal:
    """The value times 10 to the power of `places`, with all its digits.

    >>> shifted(12345678901234567890123456789012345678, -2)
    Decimal('123456789012345678901234567890123456.78')
    """
    return Decimal(value).scaleb(places, _EXACT)
