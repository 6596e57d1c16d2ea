"""Address translation: how much memory the first level covers and what a miss there adds.

One level is enough for streams (a 2-MiB page serves 16,384 lines) and for chases of some gigabytes. Page
walks, which show only in cold first touches and random access beyond 8 GiB, are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number


@dataclass(frozen=True, slots=True)
class TlbSpec:
    """First-level translation of an SM."""

    reach_mib: int = number(
        unit="MiB", low=0, high=1 << 20, doc="Memory that is covered; 0 switches translation off."
    )
    page_mib: int = number(unit="MiB", low=1, high=1024, doc="Page.")
    miss_latency_cycles: int = number(
        unit="SM cycles", low=0, high=10_000, doc="Added by a miss of this level."
    )
