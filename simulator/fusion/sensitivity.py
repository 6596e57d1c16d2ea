"""Which property of a card decides: the graph is planned again with half and twice the bandwidth, L2,
register file and launch gap, and the pairs of operators that change between one kernel and two are named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hwmodels import Gpu
from hwmodels.errors import InputError
from simulator.fusion.groups import Partition
from simulator.fusion.planner import Planner
from simulator.fusion.price import FS_PER_NS
from simulator.fusion.strategies import partition_for

FACTORS = ((1, 2), (2, 1))


@dataclass(frozen=True, slots=True)
class Shift:
    """A card with one property changed: the plan's time and kernels, and pairs (writer, reader) that are in
    one kernel only there (`joined`) or only on the card itself (`parted`). `refused` says why the card can't
    be changed so.
    """

    what: str
    factor: str
    total_ns: int = 0
    kernels: int = 0
    joined: tuple[tuple[str, str], ...] = ()
    parted: tuple[tuple[str, str], ...] = ()
    refused: str = ""

    @property
    def flips(self) -> bool:
        """Whether any decision changes."""
        return bool(self.joined or self.parted)


def bandwidth(gpu: Gpu, up: int, down: int) -> dict[str, object]:
    """Data rate of the memory, its timings in ns kept."""
    return {"dram.data_rate_mbps": gpu.dram.data_rate_mbps * up // down}


def l2_size(gpu: Gpu, up: int, down: int) -> dict[str, object]:
    """Capacity of L2, of the whole card where this is a slice."""
    whole = gpu.l2.size_kib * int(gpu.scale.partition("/")[2])
    return {"l2.size_kib": whole * up // down}


def registers(gpu: Gpu, up: int, down: int) -> dict[str, object]:
    """The register file of an SM."""
    return {"register_file.size_kib": gpu.register_file.size_kib * up // down}


def launch_gap(gpu: Gpu, up: int, down: int) -> dict[str, object]:
    """Gaps between kernels, and the host's pace."""
    launch = gpu.launch
    return {
        "launch.stream_gap_ns": launch.stream_gap_ns * up // down,
        "launch.graph_gap_ns": launch.graph_gap_ns * up // down,
        "launch.host_period_ns": launch.host_period_ns * up // down,
    }


PROPERTIES: dict[str, Callable[[Gpu, int, int], dict[str, object]]] = {
    "DRAM bandwidth": bandwidth,
    "L2 size": l2_size,
    "register file": registers,
    "launch gap": launch_gap,
}


def sensitivity(planner: Planner, partition: Partition, strategy: str) -> list[Shift]:
    """The plan on eight cards, each with one property halved or doubled."""
    here = pairs_of(planner, partition)
    found = []
    for what, change in PROPERTIES.items():
        for up, down in FACTORS:
            factor = f"{up}/{down}" if down > 1 else f"{up}"
            try:
                gpu = planner.gpu.with_overrides(change(planner.gpu, up, down))
            except InputError as error:
                found.append(Shift(what, factor, refused=f"{error.place}: {error.problem}"))
                continue
            other = planner.on(gpu)
            made = partition_for(strategy, other)
            there = pairs_of(other, made)
            found.append(
                Shift(
                    what,
                    factor,
                    other.total(made) // FS_PER_NS,
                    sum(len(other.kernels(group)) for group in made),
                    tuple(sorted(there - here)),
                    tuple(sorted(here - there)),
                )
            )
    return found


def pairs_of(planner: Planner, partition: Partition) -> set[tuple[str, str]]:
    """Writers and readers of a value that are in one vertical kernel."""
    legality = planner.legality
    found = set()
    for group in partition:
        for leaf in group.leaves():
            inside = set(leaf.operators)
            for name in leaf.operators:
                for output in legality.operators[name].outputs:
                    for reader in legality.consumers.get(output, []):
                        if reader.name in inside:
                            found.add((name, reader.name))
    return found
