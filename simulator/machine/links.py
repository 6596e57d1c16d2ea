"""How long each link between an SM, the crossbar and an L2 slice is, from the card's end-to-end latencies.

The request latency of a card holds the arbitration (which costs no cycle when nobody contends) and the mean
distance on the die. The distance itself, 0 to `spread_cycles`, is a delay inside the crossbar, so the two
links share what is left: `request_latency_cycles − spread_cycles // 2`; an unloaded request takes exactly
that plus the distance of its pair. A crossing of the partition link is cut in two as well. Every link takes
at least one cycle: the shortest is the window of parallel engines.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.errors import InputError
from hwmodels.gpu import Gpu
from hwmodels.units import ns_to_fs


@dataclass(frozen=True, slots=True)
class LinkDelays:
    """One-way delays in femtoseconds, and the reply packets that a slice may have under way."""

    sm_to_crossbar_fs: int
    crossbar_to_slice_fs: int
    slice_to_crossbar_fs: int
    crossbar_to_sm_fs: int
    crossing_in_fs: int
    """Slice to crossbar, for a message that crosses the partition link; 0 on a card with one partition."""
    crossing_out_fs: int
    """The second half of such a crossing: crossbar to the slice in the other partition."""
    crossing_cycles: int
    reply_credits: int
    """The reply FIFO and what the link to it and the credits on their way back hold at full rate."""
    crossed_credits: int
    """The same for replies to SMs of the other partition, which are under way longer by a crossing."""


def link_delays(gpu: Gpu) -> LinkDelays:
    """The links of a card; an InputError names a latency that leaves a link no time."""
    crossbar = gpu.crossbar
    request = crossbar.request_latency_cycles - crossbar.spread_cycles // 2
    reply = crossbar.reply_latency_cycles
    crossing = crossbar.partition_link_latency_cycles if gpu.l2.partitions > 1 else 0
    for name, cycles, least in (
        ("request_latency_cycles", request, crossbar.spread_cycles // 2 + 2),
        ("reply_latency_cycles", reply, 2),
        ("partition_link_latency_cycles", crossing if gpu.l2.partitions > 1 else 2, 2),
    ):
        if cycles < 2:
            raise InputError(
                f"gpu.crossbar.{name}", "each of its two links needs a cycle", f"at least {least}"
            )
    period = gpu.l2_period_fs
    return LinkDelays(
        sm_to_crossbar_fs=request // 2 * period,
        crossbar_to_slice_fs=(request - request // 2) * period,
        slice_to_crossbar_fs=reply // 2 * period,
        crossbar_to_sm_fs=(reply - reply // 2) * period,
        crossing_in_fs=crossing // 2 * period,
        crossing_out_fs=(crossing - crossing // 2) * period,
        crossing_cycles=crossing,
        reply_credits=crossbar.reply_fifo_packets + 2 * (reply // 2),
        crossed_credits=crossbar.reply_fifo_packets + 2 * (reply // 2) + crossing if crossing else 0,
    )


@dataclass(frozen=True, slots=True)
class Lead:
    """How far ahead of each other components may go, in femtoseconds: the shortest message from the middle of
    the star (crossbar and launcher) to the SMs and to the memory partitions, and from each of these back.
    """

    to_sms_fs: int
    to_partitions_fs: int
    from_sms_fs: int
    from_partitions_fs: int

    @property
    def window_fs(self) -> int:
        """For components that all go on from the same moment: the shortest of all."""
        return min(self.to_sms_fs, self.to_partitions_fs, self.from_sms_fs, self.from_partitions_fs)

    @property
    def round_fs(self) -> int:
        """The longest that any component goes on in one turn."""
        return max(self.to_sms_fs + self.from_sms_fs, self.to_partitions_fs + self.from_partitions_fs)


def lead(gpu: Gpu) -> Lead:
    """The shortest messages between the components of a card."""
    links = link_delays(gpu)
    # A credit for a reply goes to its slice in the time in which the reply came.
    there, back = [links.crossbar_to_slice_fs, links.slice_to_crossbar_fs], [links.slice_to_crossbar_fs]
    if gpu.l2.partitions > 1:
        there.append(links.crossing_out_fs)
        back.append(links.crossing_in_fs)
    return Lead(
        to_sms_fs=min(links.crossbar_to_sm_fs, ns_to_fs(gpu.launch.block_launch_ns)),
        to_partitions_fs=min(there),
        from_sms_fs=min(links.sm_to_crossbar_fs, ns_to_fs(gpu.launch.block_done_ns)),
        from_partitions_fs=min(back),
    )
