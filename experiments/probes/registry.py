"""The list of probes by the word that a person gives: what each measures, and the functions that do.

A probe is `function(gpu) -> list[Row]`, to be called by anybody with any card or slice of one; a row that is
a point of a curve names its series and place. Those of a group are independent, so that they can run in
processes of their own. `PROBES[name].rows(gpu)` runs a whole group here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from experiments.probes import bandwidth, latency, launches, operations, shared, strides, synchronisation
from experiments.probes.curve import curve
from experiments.probes.dram_card import dram_of_card
from experiments.probes.dram_peers import dram_peers
from experiments.probes.footprints import footprints
from experiments.probes.row import Row
from experiments.probes.streams import streams
from experiments.probes.working_sets import working_sets
from hwmodels import Gpu

ProbeFunction = Callable[[Gpu], list[Row]]


@dataclass(frozen=True, slots=True)
class Probe:
    """A group of measurements: a sentence for help, and the parts that it is made of."""

    sentence: str
    seconds: int
    """About how long its longest part takes: what takes longest is begun first."""
    parts: tuple[ProbeFunction, ...]

    def rows(self, gpu: Gpu) -> list[Row]:
        """All rows of the group, one part after the other."""
        return [row for part in self.parts for row in part(gpu)]


def l2_read(gpu: Gpu) -> list[Row]:
    """L2 bandwidth alone, since it takes as long as all others of its group."""
    return [bandwidth.l2_read(gpu)]


def sm_read(gpu: Gpu) -> list[Row]:
    """L1 and shared memory of one SM."""
    return [bandwidth.l1_read(gpu), *shared.bandwidth(gpu)]


def dram_alone(gpu: Gpu) -> list[Row]:
    """One channel by itself under synthetic streams; beside it the bound that the timings set."""
    rows = []
    for figures in dram_of_card(gpu.dram):
        bound = figures["bound_over_peak"]
        how = "one channel alone" + (f"; bound {bound:.3f}" if bound is not None else "")
        share = figures["achieved_over_peak"]
        rows.append(Row(gpu.name, f"DRAM channel, {figures['pattern']}", "of peak", share, None, how))
    return rows


PROBES: dict[str, Probe] = {
    "latency": Probe(
        "pointer chases: shared memory, L1, L2 near and far, DRAM",
        20,
        (latency.inside_sm, latency.l2_hits, latency.dram, latency.between_partitions),
    ),
    "conflicts": Probe("shared-memory bank conflicts, matrix loads, shared atomics", 4, (shared.conflicts,)),
    "strides": Probe("L1 loads at strides 1 to 33", 10, (strides.strides,)),
    "barrier": Probe(
        "barriers of one and two blocks, atomics of the card on one word",
        5,
        (synchronisation.barriers, synchronisation.global_atomics),
    ),
    "operations": Probe("latency and issue interval of every operation", 10, (operations.operations,)),
    "bandwidth": Probe(
        "L1, shared memory, L2, and DRAM read, written and copied",
        35,
        (sm_read, l2_read, bandwidth.dram_shares),
    ),
    "chase": Probe("a pointer chase over 4 KiB to 4 GiB: plateaus and edges", 30, (footprints,)),
    "cliffs": Probe("read bandwidth against the working set, L1 to DRAM", 30, (working_sets,)),
    "curves": Probe("DRAM read bandwidth against resident threads", 15, (curve,)),
    "streams": Probe("write, scale and triad bandwidth against resident threads", 15, (streams,)),
    "launch": Probe("empty kernels in a stream and in a graph, empty blocks", 5, (launches.launches,)),
    "dram": Probe("one DRAM channel alone under synthetic streams", 10, (dram_alone,)),
    "peers": Probe("a DRAM channel beside published simulators, under their timings", 60, (dram_peers,)),
}
