"""Numbers of a card that follow from others: memory clock and burst, and what shared memory's size limits.

They are worked out each time a description is built, so that an override or a swept value takes them along.
Which ones they are is stated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hwmodels.dram.spec import SECTOR_BYTES
from hwmodels.dram.standards import standard
from hwmodels.errors import InputError

FOLLOW_SHARED_MEMORY = (
    "shared_memory.carveouts_kib",
    "shared_memory.per_block_max_bytes",
    "shared_memory.default_limit_bytes",
)


def memory_clock(values: Mapping[str, Any]) -> dict[str, int]:
    """The memory's clock period and burst time, from standard, data rate and width."""
    kind = standard(values["dram.standard"])
    width, pins = values["dram.width_bits"], 8 * SECTOR_BYTES // kind.burst_beats
    if width != pins:
        problem = f"a burst of {kind.name} on {width} pins is not one sector of {SECTOR_BYTES} bytes"
        raise InputError("gpu.dram.width_bits", problem, f"{pins} pins make it one")
    tck_fs = kind.period_fs(values["dram.data_rate_mbps"])
    return {"dram.timing.tck_fs": tck_fs, "dram.timing.burst_fs": kind.burst_clocks * tck_fs}


def fit_shared_memory(values: dict[str, Any]) -> None:
    """Let the carve-outs and the limits of a block follow a smaller or larger shared memory."""
    size = values["shared_memory.size_kib"]
    carveouts, *limits = FOLLOW_SHARED_MEMORY
    values[carveouts] = (*(one for one in values[carveouts] if one < size), size)
    most = size * 1024 - values["shared_memory.reserved_per_block_bytes"]
    for key in limits:
        values[key] = min(values[key], most)


def refuse_swallowed(overridden: set[str], given: Mapping[str, Any], resolved: Mapping[str, Any]) -> None:
    """An override that shared memory's size would undo at once is an error, not a number without effect."""
    for key in FOLLOW_SHARED_MEMORY:
        if key in overridden and resolved[key] != given[key]:
            size = resolved["shared_memory.size_kib"]
            problem = f"{given[key]} does not fit shared_memory.size_kib ({size})"
            raise InputError(f"gpu.{key}", problem, f"{resolved[key]} would, or change both")
