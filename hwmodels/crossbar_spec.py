"""The crossbar between SMs and L2 slices, and the link between two L2 partitions.

Ports of finite width, a reply FIFO a slice of which only the oldest few packets may leave: this
head-of-line blocking is enough to explain the 77 to 89 % of nominal L2 bandwidth that cards reach. The
hierarchy inside (GPCs, TPCs) is not modelled. Latencies and widths count in the clock of L2.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number


@dataclass(frozen=True, slots=True)
class CrossbarSpec:
    """Request and reply networks."""

    request_latency_cycles: int = number(
        unit="L2 cycles",
        low=2,
        high=1000,
        doc="SM to slice without waiting, split over the two links of the way.",
    )
    reply_latency_cycles: int = number(
        unit="L2 cycles", low=2, high=1000, doc="Slice to SM, split the same way."
    )
    spread_cycles: int = number(
        unit="L2 cycles",
        low=0,
        high=500,
        doc="Difference between the nearest and the farthest SM and slice, round trip.",
    )
    request_bytes_per_cycle: int = number(
        unit="bytes an L2 cycle", low=1, high=1024, doc="An SM's request port."
    )
    reply_bytes_per_cycle: int = number(unit="bytes an L2 cycle", low=1, high=1024, doc="An SM's reply port.")
    packet_bytes: int = number(unit="bytes", low=32, high=128, doc="Data of a packet, whole sectors.")
    reply_fifo_packets: int = number(unit="packets", low=1, high=1024, doc="Reply FIFO of a slice.")
    reply_lookahead: int = number(
        unit="packets", low=1, high=64, doc="Oldest replies of a slice that may leave."
    )
    sm_credits: int = number(
        unit="packets", low=1, high=4096, doc="Packets of an SM inside the request network."
    )
    partition_link_bytes_per_cycle: int = number(
        unit="bytes an L2 cycle",
        low=0,
        high=100_000,
        doc="Link between two partitions, each way; 0 with one partition.",
    )
    partition_link_latency_cycles: int = number(
        unit="L2 cycles", low=0, high=1000, doc="One crossing of the link; there and back is twice this."
    )
