"""Parameters that a calibration may move: latencies of parts, widths of ports, depths of queues, costs of a
launch.

Each has a meaning in hardware and bounds around the card's own value, so that a fit can't turn a part into
something that it is not; and the replays that it can move, so that others are not repeated. What is known
from specifications (clocks, counts, sizes, the DRAM standard's timings) is never fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels import Gpu
from hwmodels.errors import unknown
from hwmodels.gpu import gpu_keys
from hwmodels.kinds import Number

CHASES = ("chase", "cluster", "one location")
STREAMS = ("stream", "turnaround", "graph", "repeated copy")
L2 = ("l2 read", "l2 write", "shared buffer")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A key of the card, the smallest and largest share of its own value, and what it can move."""

    key: str
    least: float
    most: float
    replays: tuple[str, ...]


PARAMETERS = (
    Parameter("shared_memory.access_latency_cycles", 0.25, 4, ("shared chase", *CHASES)),
    Parameter("l1.tag_latency_cycles", 0.25, 4, CHASES),
    Parameter("l2.access_latency_cycles", 0.5, 2, (*CHASES, *STREAMS, *L2)),
    Parameter("crossbar.partition_link_latency_cycles", 0.5, 2, ("chase", "cluster", "stream", "turnaround")),
    Parameter("dram.controller_latency_ns", 0.5, 2, (*CHASES, "stream", "turnaround")),
    Parameter("tlb.miss_latency_cycles", 0.25, 8, ("chase",)),
    Parameter("l1.bytes_per_cycle", 0.5, 2, ("l1 read", "shared buffer")),
    Parameter("crossbar.reply_fifo_packets", 0.25, 4, L2),
    Parameter("dram.read_queue_depth", 0.25, 4, STREAMS),
    Parameter("dram.drain_high", 0.25, 4, STREAMS),
    Parameter("launch.block_launch_ns", 0.5, 2, ("stream", "turnaround", "launch")),
    Parameter("launch.stream_gap_ns", 0.5, 2, ("launch", "graph")),
    Parameter("launch.graph_gap_ns", 0.5, 2, ("launch",)),
    Parameter("launch.host_period_ns", 0.5, 2, ("launch",)),
)


@dataclass(frozen=True, slots=True)
class Range:
    """A parameter of one card: its value there and its bounds, in the unit of card files."""

    parameter: Parameter
    value: float
    low: float
    high: float
    unit: str

    @property
    def key(self) -> str:
        """The card's key."""
        return self.parameter.key


def ranges(gpu: Gpu, names: tuple[str, ...] = ()) -> list[Range]:
    """The parameters of a card that may be fitted: those named, or all that it uses."""
    known = {one.key: one for one in PARAMETERS}
    for name in names:
        if name not in known:
            raise unknown("--parameter", "parameter", name, known)
    chosen = [known[name] for name in names] if names else list(PARAMETERS)
    found = [range_of(gpu, one) for one in chosen]
    return [one for one in found if one.value > 0 or names]


def range_of(gpu: Gpu, parameter: Parameter) -> Range:
    """One parameter's value and bounds; never outside what a card may hold."""
    value = value_of(gpu, parameter.key)
    kind = gpu_keys()[parameter.key]
    low, high = value * parameter.least, value * parameter.most
    if isinstance(kind, Number):
        low, high = max(low, kind.low), min(high, kind.high)
    return Range(parameter, value, low, max(low, high), kind.unit)


def value_of(gpu: Gpu, key: str) -> float:
    """A number of a card by its dotted key."""
    found = gpu.dump()
    for part in key.split("."):
        found = found[part]
    return float(str(found))


def overrides(keys: list[str], values: list[float]) -> dict[str, int]:
    """Whole numbers, as cards hold them."""
    return {key: round(value) for key, value in zip(keys, values, strict=True)}
