"""Exact decimals: by default Python rounds the results of decimals to 28 digits."""

from decimal import Context, Decimal

_EXACT = Context(prec=200)


def shifted(value: int | Decimal, exponent: int) -> Decimal:
    """Multiply a decimal by 10 to the power of `exponent` without rounding to Python's 28 digits.

    >>> shifted(12345678901234567890123456789012345678, -2)
    Decimal('123456789012345678901234567890123456.78')
    """
    return Decimal(value).scaleb(exponent, _EXACT)
