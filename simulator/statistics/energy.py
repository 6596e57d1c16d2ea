"""Energy of a kernel by level: the bytes that it moved and the instructions that it issued.

Bytes between DRAM and L2 are its sectors read and written while the run lasted; between L2 and SMs the data
in crossbar packets; at L1 whole sectors of all accesses; at shared memory the bytes of active lanes.
Instructions count by active lanes, with the kernel's mean for every class; tensor instructions by their
multiply-adds. Static power is not in it, so neither is what a longer run costs. Sums are whole femtojoules,
so levels add up exactly.
"""

from __future__ import annotations

from typing import Any

from simulator.statistics.record import KernelRecord
from simulator.statistics.source import SECTOR_BYTES, Source, count

FJ_PER_UJ = 10**9
LANES = 32
MATRIX_PIPELINE = "tensor"
LEVELS = ("dram", "l2", "l1", "shared", "instructions", "matrix")
ENERGY_COLUMNS = ("gpu", "variant", "kernel", "level", "bytes", "energy_uj", "pct")
_L1_SECTORS = tuple(
    f"l1_{kind}_sectors"
    for kind in (
        "global_load",
        "local_load",
        "async_copy",
        "global_store",
        "local_store",
        "global_atomic",
        "global_reduction",
    )
)


def level_bytes(kernel: KernelRecord) -> dict[str, int]:
    """Bytes that a kernel moved at each level of the memory."""
    return {
        "dram": SECTOR_BYTES * count(kernel, "dram_read_sectors", "dram_write_sectors"),
        "l2": count(kernel, "request_bytes", "reply_bytes"),
        "l1": SECTOR_BYTES * count(kernel, *_L1_SECTORS),
        "shared": count(kernel, "shared_load_bytes", "shared_store_bytes"),
    }


def energy_fj(source: Source, place: int) -> dict[str, int]:
    """Femtojoules of a launch by level, in the order of LEVELS."""
    kernel, card = source.record.kernels[place], source.card
    moved = level_bytes(kernel)
    energies = {level: moved[level] * each for level, each in zip(LEVELS, card.fj_per_byte, strict=False)}
    vector = matrix = 0
    for warps, each, pipeline in zip(kernel.operations, card.warp_fj, card.pipelines, strict=False):
        if pipeline == MATRIX_PIPELINE:
            matrix += warps * each
        else:
            vector += warps * each
    issued = LANES * count(kernel, "warp_instructions")
    lanes = count(kernel, "thread_instructions")
    energies["instructions"] = vector * lanes // issued if issued else 0
    energies["matrix"] = matrix
    return energies


def energy_uj(source: Source, place: int) -> float:
    """Microjoules of a launch, all levels."""
    return sum(energy_fj(source, place).values()) / FJ_PER_UJ


def energy_rows(source: Source) -> list[dict[str, Any]]:
    """energy.csv: one row a launch and level."""
    rows = []
    for place, kernel in enumerate(source.record.kernels):
        energies, moved = energy_fj(source, place), level_bytes(kernel)
        total = sum(energies.values())
        rows += [
            {
                **source.prefix(place),
                "level": level,
                "bytes": moved.get(level),
                "energy_uj": energies[level] / FJ_PER_UJ,
                "pct": 100 * energies[level] / total if total else float("nan"),
            }
            for level in LEVELS
        ]
    return rows
