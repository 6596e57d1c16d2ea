"""Data of the second demonstration: every window of the longest fusible chain, replayed inside its chain.

A window is an interval of the chain that becomes one kernel; the operators beside it stay kernels of their
own, and the whole chain is replayed, so that L2 between kernels and launch gaps are in the cycles.
Registers and spills are those of the emitted programs under a few caps (launch bounds), the last of which
makes long windows spill. What a limit of seconds does not reach is left out and counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hwmodels.errors import InputError, ResultError
from simulator.trace.tally import tally

if TYPE_CHECKING:
    from experiments.config import Config
    from hwmodels import Gpu
    from simulator.statistics.result import Result
    from simulator.trace.schema import KernelTrace
    from simulator.workload.graph import Graph, Operator

LONGEST = 12
LOWEST_CAP = 16
REFERENCE_INSTRUCTIONS = 20_000
"""Below so many warp instructions the reference engine is done before the other has loaded."""
Report = Callable[[float, int], None]


def chain_of(parts: Sequence[Graph]) -> tuple[Graph, tuple[Operator, ...]] | None:
    """The longest group that fuses by legality alone, with its part; None where nothing fuses."""
    from simulator.workload.groups import groups_for

    found = [(part, group.operators) for part in parts for group in groups_for(part, "vertical")]
    part, chain = max(found, key=lambda one: len(one[1]), default=(None, ()))
    return None if part is None or len(chain) < 2 else (part, chain[:LONGEST])


def windows(
    config: Config, parts: Sequence[Graph], gpu: Gpu, seconds: float, report: Report | None = None
) -> dict[str, Any] | None:
    """The document, or None where the graph has no chain of two operators."""
    found = chain_of(parts)
    if found is None:
        return None
    part, chain = found
    maker = Chain(part, chain, gpu)
    caps = maker.caps(config["registers.cap"])
    places = [(first, size) for size in range(1, len(chain) + 1) for first in range(len(chain) - size + 1)]
    # Windows that begin with the chain come first: what a short time reaches is then a growing window.
    wanted = sorted(((cap, *place) for cap in caps for place in places), key=lambda one: one[1])
    until, rows = time.monotonic() + seconds, []
    for at, (cap, first, size) in enumerate(wanted):
        if time.monotonic() > until:
            break
        if size == 1 and first:
            continue  # the same run as the first window of one
        rows.append(maker.row(config, cap, first, size))
        if report is not None:
            report((at + 1) / len(wanted), 0)
    expected = len(caps) * sum(1 for first, size in places if size > 1 or not first)
    return {
        "gpu": gpu.name,
        "operators": [{"name": one.name, "kind": one.kind} for one in chain],
        "caps": caps,
        "windows": rows,
        "left_out": expected - len(rows),
        "registers_max": gpu.register_file.max_per_thread,
        "marks": {str(cap): marks_of([row for row in rows if row["cap"] == cap]) for cap in caps},
    }


def marks_of(rows: Sequence[dict[str, Any]]) -> dict[str, int | None]:
    """Sizes of the window from the chain's first operator where spilling begins, and where growing begins to
    lose: the first size above the fastest one.
    """
    growing = sorted(
        (row for row in rows if not row["first"] and "cycles" in row), key=lambda row: row["size"]
    )
    spilling = [row["size"] for row in growing if row["spill_bytes_per_thread"]]
    if not growing:
        return {"spills_from": None, "loses_from": None}
    best = min(growing, key=lambda row: (row["cycles"], row["size"]))
    losing = [row["size"] for row in growing if row["size"] > best["size"]]
    return {"spills_from": spilling[0] if spilling else None, "loses_from": losing[0] if losing else None}


class Chain:
    """A chain of operators on a card: makes the kernels around a window, and replays them."""

    def __init__(self, part: Graph, chain: tuple[Operator, ...], gpu: Gpu) -> None:
        from simulator.workload.build import KernelMaker
        from simulator.workload.target import Target

        self.chain, self.gpu = chain, gpu
        self.maker = KernelMaker(part, Target.of(gpu))

    def traces(self, cap: int | None, operators: tuple[Operator, ...]) -> list[KernelTrace]:
        """The kernels of one group."""
        from simulator.workload.allocate import allocate
        from simulator.workload.groups import Group
        from simulator.workload.lower import trace_of

        return [trace_of(allocate(kernel, cap)) for kernel in self.maker.kernels(Group(operators))]

    def caps(self, own: int | None) -> list[int | None]:
        """The config's cap, and about 7/8 and a half of what the whole chain takes under it."""
        most = max(trace.registers_per_thread for trace in self.traces(own, self.chain))
        lower = [max(LOWEST_CAP, most * eighths // 64 * 8) for eighths in (7, 4)]
        return list(dict.fromkeys([own, *(cap for cap in lower if cap < most)]))

    def row(self, config: Config, cap: int | None, first: int, size: int) -> dict[str, Any]:
        """One window, or why it can't be."""
        row: dict[str, Any] = {"cap": cap, "first": first, "size": size}
        try:
            before = [one for operator in self.chain[:first] for one in self.traces(cap, (operator,))]
            window = self.traces(cap, self.chain[first : first + size])
            after = [one for operator in self.chain[first + size :] for one in self.traces(cap, (operator,))]
            result = self._replay(config, [*before, *window, *after])
        except (InputError, ResultError) as error:
            return {**row, "why_not": str(error)}
        return {**row, **numbers(result, len(before), len(window))}

    def _replay(self, config: Config, traces: list[KernelTrace]) -> Result:
        from simulator import replay

        small = sum(int(sum(tally(trace))) for trace in traces) <= REFERENCE_INSTRUCTIONS
        return replay(
            traces,
            self.gpu,
            "reference" if small else "compiled",
            launch=config["launch"],
            interval_cycles=0,
            l2_state=config["workload.l2_state"],
            sample=config["sample"],
        )


def numbers(result: Result, first: int, count: int) -> dict[str, Any]:
    """What the page shows of a run: the window's kernel, and the chain as a whole (gaps included)."""
    rows = result.kernels.to_dict("records")
    own = max(rows[first : first + count], key=lambda row: row["cycles"])
    names = (
        "registers_per_thread",
        "spill_bytes_per_thread",
        "shared_bytes_per_block",
        "theoretical_occupancy_pct",
        "achieved_occupancy_pct",
        "limiters",
        "l1_hit_pct",
        "l2_hit_pct",
    )
    return {
        **{name: own[name] for name in names},
        "window_cycles": sum(row["cycles"] for row in rows[first : first + count]),
        "cycles": result.cycles + result.launch_cycles,
        "dram_bytes": result.dram_bytes + int(result.kernels["dirty_bytes_left"].sum()),
        "launches": len(rows),
    }
