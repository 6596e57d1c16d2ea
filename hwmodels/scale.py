"""Cutting a card to an honest slice: `1/N` of SMs, memory partitions, L2, channels, partition link, dispatch
rate.

Everything that is counted must divide, and a card with two L2 partitions keeps an even number of memory
partitions, so that each SM still has half of the memory near. Rates of the link and the dispatcher are
rounded to their unit (below 1 %). Latencies and per-SM numbers stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hwmodels.errors import InputError

COUNTED = ("sm_count", "memory_partitions", "l2.slices", "l2.size_kib", "dram.channels")
RATES = ("crossbar.partition_link_bytes_per_cycle", "launch.dispatch_blocks_per_kilocycle")


def divisor_of(text: str, place: str = "gpu.scale") -> int:
    """N of `1/N`; the form is checked here, whether it divides elsewhere."""
    match = re.fullmatch(r"1/([1-9][0-9]{0,3})", text.replace(" ", ""))
    if match is None:
        raise InputError(place, f"{text[:40]!r} is no scale", "write 1/N with a whole N, such as '1/4'")
    return int(match.group(1))


def valid_divisors(values: Mapping[str, Any]) -> list[int]:
    """Every N by which the card can be cut."""
    most = min(values[key] for key in COUNTED)
    return [divisor for divisor in range(1, most + 1) if not _undivided(values, divisor)]


def scaled(values: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The values of the slice; the rest is copied."""
    divisor = divisor_of(text)
    wrong = _undivided(values, divisor)
    if wrong:
        valid = valid_divisors(values)
        below = [one for one in valid if one < divisor][-1:]
        above = [one for one in valid if one > divisor][:1]
        near = " or ".join(f"1/{one}" for one in below + above)
        listed = ", ".join(f"{key} ({values[key]})" for key in wrong)
        raise InputError("gpu.scale", f"1/{divisor} does not divide {listed}", f"the nearest valid is {near}")
    result = dict(values)
    for key in COUNTED:
        result[key] = values[key] // divisor
    for key in RATES:
        rounded = (2 * values[key] + divisor) // (2 * divisor)
        result[key] = max(rounded, 1) if values[key] else 0
    return result


def _undivided(values: Mapping[str, Any], divisor: int) -> list[str]:
    if divisor == 1:
        return []
    wrong = [key for key in COUNTED if values[key] % divisor]
    if not wrong and values["l2.partitions"] == 2 and values["memory_partitions"] // divisor % 2:
        wrong = ["memory_partitions"]
    return wrong
