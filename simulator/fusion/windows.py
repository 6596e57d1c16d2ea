"""Every legal group of a graph with its numbers: registers and spills from the emitted program, occupancy,
hit rates, bytes that stay inside, time against the same operators alone, and which of them no other one
beats.

Two marks are read off the windows that start at the same operator: the first that spills, and the first that
takes longer than the best way to cut it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from simulator.fusion.candidates import Choice, Part, parts_of
from simulator.fusion.chains import cheapest_cuts
from simulator.fusion.planner import Planner
from simulator.fusion.price import FS_PER_NS, Price
from simulator.fusion.problem import bits

SPILLS, LOSES = "spilling begins", "begins to lose"


@dataclass(frozen=True, slots=True)
class Window:
    """One group. `saved_ns` is against its operators alone, `saved_bytes` the values that no longer go out
    and in; `mark` names what begins here.
    """

    operators: tuple[str, ...]
    stored: int
    registers: int
    spill_bytes: int
    blocks_per_sm: int
    occupancy_pct: float
    l1_hit_pct: float | None
    l2_hit_pct: float | None
    dram_bytes: int
    saved_bytes: int
    cycles: int
    total_ns: int
    saved_ns: int
    pareto: bool = False
    marks: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Operators."""
        return len(self.operators)


def windows_of(planner: Planner, rung: str | None = None) -> list[Window]:
    """The windows of every part with a choice, equal ones once."""
    found: list[Window] = []
    seen: set[tuple[object, ...]] = set()
    for part in parts_of(planner.legality):
        if not any(choice.members & choice.members - 1 for choice in part.choices):
            continue
        made = of_part(planner, part, rung)
        kind = tuple((len(one.operators), one.registers, one.total_ns, one.dram_bytes) for one in made)
        if kind not in seen:
            seen.add(kind)
            found += made
    return found


def of_part(planner: Planner, part: Part, rung: str | None) -> list[Window]:
    """The windows of one part, marked."""
    prices = {choice: planner.price(choice.group, rung) for choice in part.choices}
    prices = {choice: price for choice, price in prices.items() if price.refusal is None and price.kernels}
    alone = {
        choice.members: price.total_fs
        for choice, price in prices.items()
        if not choice.members & choice.members - 1
    }
    made = [window_of(planner, choice, price, alone) for choice, price in prices.items()]
    fronts = with_pareto(made)
    return with_marks(planner, list(prices), fronts)


def window_of(planner: Planner, choice: Choice, price: Price, alone: dict[int, int]) -> Window:
    """One window's numbers."""
    legality, graph = planner.legality, planner.graph
    worst = max(price.kernels, key=lambda kernel: kernel.registers)
    inner = 0
    for at in bits(choice.members):
        readers = legality.readers[at] & choice.members
        size = sum(graph.tensors[name].bytes for name in graph.operators[at].outputs if name)
        inner += size * (readers.bit_count() + (not choice.stores >> at & 1))
    apart = sum(alone.get(1 << at, 0) for at in bits(choice.members))
    return Window(
        choice.group.operators,
        choice.stores.bit_count(),
        worst.registers,
        max(kernel.spill_bytes for kernel in price.kernels),
        min(kernel.blocks_per_sm for kernel in price.kernels),
        worst.occupancy_pct,
        worst.l1_hit_pct,
        worst.l2_hit_pct,
        price.dram_bytes,
        inner if choice.members & choice.members - 1 else 0,
        price.cycles,
        price.total_fs // FS_PER_NS,
        (apart - price.total_fs) // FS_PER_NS,
    )


def with_pareto(windows: Sequence[Window]) -> list[Window]:
    """Windows that no other one of the part is at least as good as in size, registers, occupancy and time
    saved, and better in one.
    """

    def merits(one: Window) -> tuple[float, ...]:
        return (one.size, -one.registers - one.spill_bytes, one.occupancy_pct, one.saved_ns)

    found = []
    for one in windows:
        mine = merits(one)
        beaten = any(
            other is not one
            and merits(other) != mine
            and all(theirs >= own for theirs, own in zip(merits(other), mine, strict=True))
            for other in windows
        )
        found.append(replace(one, pareto=not beaten))
    return found


def with_marks(planner: Planner, choices: Sequence[Choice], windows: Sequence[Window]) -> list[Window]:
    """Both marks, for each operator that windows start at."""
    number = planner.legality.number
    marked = list(windows)
    for first in dict.fromkeys(one.operators[0] for one in windows):
        mine = [at for at, one in enumerate(windows) if one.operators[0] == first]
        series = sorted(
            (at for at in mine if choices[at].group.writes is None), key=lambda at: windows[at].size
        )
        spills = next((at for at in series if windows[at].spill_bytes), None)
        if spills is not None:
            marked[spills] = replace(marked[spills], marks=(*marked[spills].marks, SPILLS))
        loses = next((at for at in series if loses_to_cuts(windows, windows[at], number)), None)
        if loses is not None:
            marked[loses] = replace(marked[loses], marks=(*marked[loses].marks, LOSES))
    return marked


def loses_to_cuts(windows: Sequence[Window], one: Window, number: dict[str, int]) -> bool:
    """Whether some way to cut a window into smaller ones that follow one another takes less time."""
    place = {name: at for at, name in enumerate(sorted(one.operators, key=number.__getitem__))}
    costs = {}
    for other in windows:
        if other.operators == one.operators or not set(other.operators) <= set(one.operators):
            continue
        spots = sorted(place[name] for name in other.operators)
        if spots[-1] - spots[0] + 1 == len(spots):
            costs[spots[0], spots[-1] + 1] = other.total_ns
    if one.size == 1:
        return False
    return cheapest_cuts(one.size, costs)[0] < one.total_ns
