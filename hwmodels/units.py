"""Conversions between the units that people write and the integers that the model counts in.

Time inside the model is a whole number of femtoseconds: a signed 64-bit integer then spans two and a half
hours, and every clock of a GPU has a period that is exact to better than one part in a million. Rounding is
to the nearest femtosecond and happens once, here, when a description is built.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

FEMTOSECONDS_PER_NANOSECOND = 1_000_000
FEMTOSECONDS_PER_MICROSECOND = 1_000_000_000
FEMTOSECONDS_PER_SECOND = 1_000_000_000_000_000


def mhz_to_period_fs(mhz: int) -> int:
    """Whole femtoseconds of one clock period, rounded to the nearest."""
    if mhz <= 0:
        raise ValueError(f"a clock of {mhz} MHz has no period; it must be at least 1 MHz")
    return (2 * FEMTOSECONDS_PER_MICROSECOND + mhz) // (2 * mhz)


def ns_to_fs(ns: int | float | Decimal) -> int:
    """Nanoseconds to whole femtoseconds; a float is read as the decimal that it prints as."""
    exact = ns if isinstance(ns, Decimal) else Decimal(str(ns))
    return int((exact * FEMTOSECONDS_PER_NANOSECOND).to_integral_value(ROUND_HALF_EVEN))


def fs_to_ns(time_fs: int) -> int | float:
    """Femtoseconds to nanoseconds for a person to read: an int where it is whole, else a float."""
    whole, rest = divmod(time_fs, FEMTOSECONDS_PER_NANOSECOND)
    return whole if rest == 0 else time_fs / FEMTOSECONDS_PER_NANOSECOND


def cycles_ceil(time_fs: int, period_fs: int) -> int:
    """The fewest whole cycles of `period_fs` that last at least `time_fs`."""
    return -(-time_fs // period_fs)
