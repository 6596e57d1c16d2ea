"""A chain of operators on a card: the kernels around a window of it, what they cost to replay, and the
numbers that a replay gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Position:
    """One window with the kernels of the whole chain, or why there are none."""

    cap: int | None
    first: int
    size: int
    kernels: tuple[KernelTrace, ...] = ()
    before: int = 0
    """Kernels in front of the window."""
    own: int = 0
    """Kernels of the window."""
    alone: tuple[int, ...] = ()
    """Of a window of one operator, how many kernels each operator of the chain has: one run shows all."""
    work: int = 0
    """Warp instructions of all kernels."""
    why_not: str = ""


def chain_of(parts: Sequence[Graph]) -> tuple[Graph, tuple[Operator, ...]] | None:
    """The longest group that fuses by legality alone, with its part; None where nothing fuses."""
    from simulator.workload.groups import groups_for

    found = [(part, group.operators) for part in parts for group in groups_for(part, "vertical")]
    part, chain = max(found, key=lambda one: len(one[1]), default=(None, ()))
    return None if part is None or len(chain) < 2 else (part, chain[:LONGEST])


class Chain:
    """Makes the kernels around a window, and replays them."""

    def __init__(self, part: Graph, chain: tuple[Operator, ...], gpu: Gpu) -> None:
        from simulator.workload.build import KernelMaker
        from simulator.workload.target import Target

        self.operators, self.gpu = chain, gpu
        self.maker = KernelMaker(part, Target.of(gpu))

    def traces(self, cap: int | None, operators: tuple[Operator, ...]) -> list[KernelTrace]:
        """The kernels of one group."""
        from simulator.workload.allocate import allocate
        from simulator.workload.groups import Group
        from simulator.workload.lower import trace_of

        return [trace_of(allocate(kernel, cap)) for kernel in self.maker.kernels(Group(operators))]

    def caps(self, own: int | None) -> list[int | None]:
        """The config's cap, and about 7/8 and a half of what the whole chain takes under it."""
        most = max(trace.registers_per_thread for trace in self.traces(own, self.operators))
        lower = [max(LOWEST_CAP, most * eighths // 64 * 8) for eighths in (7, 4)]
        return list(dict.fromkeys([own, *(cap for cap in lower if cap < most)]))

    def position(self, cap: int | None, first: int, size: int) -> Position:
        """One window, or why it can't be."""
        last = first + size
        try:
            before = [one for operator in self.operators[:first] for one in self.traces(cap, (operator,))]
            window = self.traces(cap, self.operators[first:last])
            after = [one for operator in self.operators[last:] for one in self.traces(cap, (operator,))]
            kernels = (*before, *window, *after)
            each = self.operators if size == 1 else ()
            alone = tuple(len(self.traces(cap, (operator,))) for operator in each)
            work = sum(int(sum(tally(one))) for one in kernels)
        except (InputError, ResultError) as error:
            return Position(cap, first, size, why_not=str(error))
        return Position(cap, first, size, kernels, len(before), len(window), alone, work)

    def rows(self, config: Config, one: Position) -> list[dict[str, Any]]:
        """What the page shows of a position: a row, or one for each operator where none is fused."""
        row: dict[str, Any] = {"cap": one.cap, "first": one.first, "size": one.size}
        if one.why_not:
            return [{**row, "why_not": one.why_not}]
        try:
            result = self._replay(config, one)
        except (InputError, ResultError) as error:
            return [{**row, "why_not": str(error)}]
        if not all(one.alone):
            return [{**row, **numbers(result, one.before, one.own)}]
        starts = [sum(one.alone[:at]) for at in range(len(one.alone))]
        places = list(zip(starts, one.alone, strict=True)) or [(one.before, one.own)]
        return [
            {**row, "first": one.first + at, **numbers(result, *place)} for at, place in enumerate(places)
        ]

    def _replay(self, config: Config, one: Position) -> Result:
        from simulator import replay

        return replay(
            one.kernels,
            self.gpu,
            "reference" if one.work <= REFERENCE_INSTRUCTIONS else "compiled",
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


def recorded(results: Sequence[Result], gpu: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """What the results at hand say of the same chain on the whole card: of each variant whose kernels make
    up just these operators, their number and cycles with gaps.
    """
    found = []
    for result in results:
        if result.card.name != gpu or result.partial:
            continue
        kernels = [
            (kernel, header.operators)
            for kernel, header in zip(result.record.kernels, result.source.headers, strict=True)
            if header.operators and set(header.operators) <= set(names)
        ]
        if sorted(name for _, done in kernels for name in done) != sorted(names):
            continue
        cycles = sum(
            result.source.kernel_cycles(kernel)
            + result.source.cycles(kernel.start_fs - kernel.launch_fs, kernel.start_fs)
            for kernel, _ in kernels
        )
        found.append({"variant": result.variant, "launches": len(kernels), "cycles": cycles})
    return found
