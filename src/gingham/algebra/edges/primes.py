"""Prime factors of slides."""

from __future__ import annotations

import math
from functools import cache, lru_cache

_SIEVE_LIMIT = 1 << 12
# With these bases the test of Miller and Rabin is right for all numbers below 3e24.
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


@lru_cache(maxsize=1 << 16)
def factorized(number: int) -> tuple[tuple[int, int], ...]:
    """Factorize a window's slide into pairs (prime, exponent).

    >>> factorized(360), factorized(86_400_000_001)
    (((2, 3), (3, 2), (5, 1)), ((7, 1), (659, 1), (18729677, 1)))
    """
    exponents: dict[int, int] = {}
    for prime in small_primes():
        if prime * prime > number:
            break
        while number % prime == 0:
            exponents[prime] = exponents.get(prime, 0) + 1
            number //= prime
    for prime in _large_factors(number):
        exponents[prime] = exponents.get(prime, 0) + 1
    return tuple(sorted(exponents.items()))


@cache
def small_primes() -> tuple[int, ...]:
    """The primes below 4096, by which slides are divided before larger factors are searched."""
    composite = bytearray(_SIEVE_LIMIT)
    for i in range(2, math.isqrt(_SIEVE_LIMIT) + 1):
        composite[i * i :: i] = b"\1" * len(range(i * i, _SIEVE_LIMIT, i))
    return tuple(i for i in range(2, _SIEVE_LIMIT) if not composite[i])


def _large_factors(number: int) -> list[int]:
    """Factorize what is left of a slide once its small prime factors are divided out."""
    if number == 1:
        return []
    if number < _SIEVE_LIMIT * _SIEVE_LIMIT or _is_prime(number):
        return [number]
    divisor = _proper_divisor(number)
    return _large_factors(divisor) + _large_factors(number // divisor)


def _is_prime(number: int) -> bool:
    """Test whether an odd factor of a slide is prime, by Miller and Rabin."""
    odd = number - 1
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    return all(_may_be_prime(base, odd, twos, number) for base in _BASES if base < number)


def _may_be_prime(base: int, odd: int, twos: int, number: int) -> bool:
    """One Miller-Rabin round: whether a base fails to prove odd * 2 ** twos + 1 composite."""
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


def _proper_divisor(number: int) -> int:
    """Find a proper divisor of a composite factor of a slide with Pollard's rho."""
    for step in range(1, 100):
        slow = fast = 2
        divisor = 1
        while divisor == 1:
            slow = (slow * slow + step) % number
            fast = (fast * fast + step) % number
            fast = (fast * fast + step) % number
            divisor = math.gcd(slow - fast, number)
        if divisor != number:
            return divisor
    raise AssertionError(number)
