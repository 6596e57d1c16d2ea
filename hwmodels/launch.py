"""Kernel launch and block dispatch: gaps between kernels, the host's pace, the rate and cost of starting a
block.

Starting and ending a block costs nearly equal times in ns on three cards of different clocks, so those are
ns here. Driver and CPU variation (about 30 %) is not modelled. Published figures of empty kernels hold the
block's own turn round, which is taken off before it enters a card.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What happens before and after the instructions of a kernel."""

    stream_gap_ns: int = number(
        unit="ns", low=0, high=10**9, doc="End of a kernel to start of the next in its stream."
    )
    graph_gap_ns: int = number(unit="ns", low=0, high=10**9, doc="The same inside a graph.")
    host_period_ns: int = number(
        unit="ns", low=0, high=10**9, doc="The host issues no kernel faster than this."
    )
    dispatch_blocks_per_kilocycle: int = number(
        unit="blocks in 1000 SM cycles", low=1, high=1_000_000, doc="Rate of the chip-wide block dispatcher."
    )
    block_launch_ns: int = number(
        unit="ns",
        low=1,
        high=10**6,
        doc="From the dispatcher's decision until the block's first warp may issue.",
    )
    block_done_ns: int = number(
        unit="ns", low=1, high=10**6, doc="From a freed place until the dispatcher knows it."
    )
