"""The shared memory of an SM: carve-outs, per-block limits, banks, and what conflicts and atomics cost.

Passes of one instruction are two cycles apart while passes of two instructions alternate, which gives
published conflict latencies and throughputs together. Distributed shared memory of clusters is not
modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number, numbers


@dataclass(frozen=True, slots=True)
class SharedMemorySpec:
    """Shared memory, carved out of the same array as L1."""

    size_kib: int = number(unit="KiB", low=1, high=2048, doc="Largest carve-out.")
    carveouts_kib: tuple[int, ...] = numbers(
        unit="KiB",
        low=0,
        high=2048,
        doc="Sizes to choose from; those above size_kib fall away, size_kib is always one.",
    )
    per_block_max_bytes: int = number(
        unit="bytes", low=1024, high=2 << 20, doc="Most that a block may ask for."
    )
    reserved_per_block_bytes: int = number(
        unit="bytes", low=0, high=65536, doc="Taken by the system in each block."
    )
    allocation_unit_bytes: int = number(
        unit="bytes", low=1, high=65536, doc="A block takes multiples of this."
    )
    default_limit_bytes: int = number(
        unit="bytes", low=1024, high=2 << 20, doc="Most without the opt-in attribute."
    )
    banks: int = number(unit="banks", low=1, high=128, doc="Banks, by word address.")
    bank_bytes: int = number(unit="bytes", low=1, high=16, doc="Word of a bank.")
    access_latency_cycles: int = number(unit="SM cycles", low=1, high=200, doc="Data access of a pass.")
    pass_interval_cycles: int = number(
        unit="SM cycles", low=1, high=16, doc="Between passes of one instruction."
    )
    atomic_base_latency_cycles: int = number(
        unit="SM cycles", low=1, high=200, doc="Extra time of a shared atomic before any contention."
    )
    atomic_contention_tenths: int = number(
        unit="tenths of an SM cycle",
        low=0,
        high=1000,
        doc="Extra for each lane on the most contended address.",
    )
