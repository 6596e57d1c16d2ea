"""The L2 cache: slices, partitions, misses in flight, atomics.

A card with two partitions keeps, in the SM's own partition, copies of lines whose home is in the other one.
Numbers are a slice's unless the sentence says the whole cache's. Compression and the persisting set-aside
are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number


@dataclass(frozen=True, slots=True)
class L2Spec:
    """L2 in its own clock domain, which it shares with the crossbar."""

    clock_mhz: int = number(unit="MHz", low=1, high=20_000, doc="Clock of L2 and crossbar.")
    size_kib: int = number(unit="KiB", low=1, high=4 << 20, doc="The whole L2, all partitions.")
    slices: int = number(unit="slices", low=1, high=1024, doc="Slices of the whole L2.")
    partitions: int = number(
        unit="partitions", low=1, high=2, doc="Partitions, each near to half of the SMs."
    )
    ways: int = number(unit="ways", low=1, high=512, doc="Associativity.")
    slice_bytes_per_cycle: int = number(
        unit="bytes an L2 cycle", low=1, high=1024, doc="Data array of a slice, and its port for replies."
    )
    slice_request_bytes_per_cycle: int = number(
        unit="bytes an L2 cycle", low=1, high=1024, doc="Port of a slice for requests: data of stores."
    )
    access_latency_cycles: int = number(
        unit="L2 cycles", low=1, high=1000, doc="Queue, tag and data, without waiting."
    )
    miss_latency_cycles: int = number(
        unit="L2 cycles", low=2, high=1000, doc="Between a slice and its DRAM controller, both ways together."
    )
    queue_depth: int = number(
        unit="packets", low=1, high=4096, doc="Requests that may wait in front of a slice."
    )
    mshr_entries: int = number(
        unit="lines", low=1, high=4096, doc="Lines of a slice that may be outstanding."
    )
    mshr_merges: int = number(unit="requests", low=1, high=4096, doc="Requests that may wait on one line.")
    atomic_interval_tenths: int = number(
        unit="tenths of an L2 cycle", low=1, high=10_000, doc="Between atomic warp requests on one line."
    )
    write_back_lines: int = number(
        unit="lines",
        low=1,
        high=1024,
        doc="Neighbours in a slice that an eviction writes back, if they are dirty and cold; 1: itself.",
    )
