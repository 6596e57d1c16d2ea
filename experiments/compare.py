"""Two results side by side: what moved, and which reasons the difference in cycles is made of.

A kernel's cycles are its warp-cycles divided by the warps that were resident on average. The difference of
two such quotients is split exactly: each warp state has the change of its warp-cycles at the mean residency,
and `residency` has what the change in resident warps did. Rounded to whole cycles so that the parts still add
up. A mean latency is split by phases, which add up by themselves. It says what changed together, which is
evidence and no proof of cause.

Kernels belong together by name. What is left belongs together by operators: a fused kernel with all those
that compute the same operators in the other result, taken as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hwmodels.errors import InputError
from simulator.statistics.phases import ACCESS_CLASSES, GLOBAL_LOAD, PHASE_NAMES, STATE_NAMES
from simulator.statistics.record import KernelRecord
from simulator.statistics.result import Result
from simulator.statistics.source import SECTOR_BYTES, count

RESIDENCY = "residency"
ONLY_A, ONLY_B, OVERLAP = "kernels only in A", "kernels only in B", "kernels side by side"
REASONS = (*STATE_NAMES, RESIDENCY)
COUNTED = {
    "resident": ("resident_warp_cycles",),
    "warp_instructions": ("warp_instructions",),
    "dram_read_bytes": ("dram_read_sectors",),
    "dram_write_bytes": ("dram_write_sectors",),
    "dirty_bytes_left": ("l1_dirty_left", "l2_dirty_left"),
    "l2_read_bytes": ("l2_read_sectors",),
    "local_bytes": ("l1_local_load_sectors", "l1_local_store_sectors"),
}
"""Counters of a kernel by the name of what they add up to; bytes are counted in sectors."""
Named = tuple[str, tuple[str, ...]]
"""A kernel's name, and the operators that it computes."""


@dataclass(frozen=True, slots=True)
class Latency:
    """One class of requests of a kernel in both results: its mean latency, and each phase's part, in
    femtoseconds.
    """

    space: str
    operation: str
    requests: tuple[int, int]
    mean_fs: tuple[Fraction, Fraction]
    phases: tuple[tuple[str, Fraction], ...]
    """(phase, B less A): they sum to the difference of the means."""

    @property
    def difference_fs(self) -> Fraction:
        """The mean latency of B less that of A."""
        return self.mean_fs[1] - self.mean_fs[0]


@dataclass(frozen=True, slots=True)
class KernelDifference:
    """What both results have: one kernel, or the kernels on each side that compute the same operators. Pairs
    are (A, B); reasons are whole SM cycles, B less A.
    """

    kernels: tuple[tuple[str, ...], tuple[str, ...]]
    cycles: tuple[int, int]
    reasons: tuple[tuple[str, int], ...]
    latencies: tuple[Latency, ...]
    numbers: tuple[tuple[str, float, float], ...]
    """(name, A, B) of what a launch asked for, moved and reached."""

    @property
    def kernel(self) -> str:
        """The name; of kernels that were matched by their operators, those of A and those of B."""
        before, after = (" + ".join(names) for names in self.kernels)
        return before if before == after else f"{before} → {after}"

    @property
    def difference(self) -> int:
        """Cycles of B less those of A."""
        return self.cycles[1] - self.cycles[0]


@dataclass(frozen=True, slots=True)
class Difference:
    """One variant on one card against one of the other folder."""

    a: Result
    b: Result
    kernels: tuple[KernelDifference, ...]
    only_a: tuple[tuple[str, int], ...]
    """(kernel, cycles) of kernels that B lacks."""
    only_b: tuple[tuple[str, int], ...]

    @property
    def difference(self) -> int:
        """SM cycles in kernels, B less A."""
        return self.b.cycles - self.a.cycles

    @property
    def reasons(self) -> dict[str, int]:
        """Every reason over all kernels; they sum to `difference`."""
        total = dict.fromkeys(REASONS, 0)
        for kernel in self.kernels:
            for reason, cycles in kernel.reasons:
                total[reason] += cycles
        total[ONLY_A] = -sum(cycles for _, cycles in self.only_a)
        total[ONLY_B] = sum(cycles for _, cycles in self.only_b)
        total[OVERLAP] = self.difference - sum(total.values())
        return total


def matched(
    a: Sequence[Result], b: Sequence[Result]
) -> tuple[list[tuple[Result, Result]], list[Result], list[Result]]:
    """Pairs of results that belong together, and what only A or only B has.

    By card and variant; what is left by variant alone, where each folder has one such; a last one with a last
    one.
    """
    pairs: list[tuple[Result, Result]] = []
    left_a, left_b = list(a), list(b)
    keys: tuple[Callable[[Result], object], ...] = (
        lambda one: (one.card.name, one.variant),
        lambda one: one.variant,
        lambda _: None,
    )
    for key in keys:
        for one in list(left_a):
            mine = [other for other in left_a if key(other) == key(one)]
            theirs = [other for other in left_b if key(other) == key(one)]
            if len(mine) == len(theirs) == 1:
                pairs.append((one, theirs[0]))
                left_a.remove(one)
                left_b.remove(theirs[0])
    return pairs, left_a, left_b


def difference_of(a: Result, b: Result) -> Difference:
    """Everything that moved between two results. An InputError where a limit cut one of them short."""
    for name, one in (("A", a), ("B", b)):
        if one.partial:
            raise InputError(
                f"{name}: {one.card.name}/{one.variant}", "was cut short by a limit", "replay it to its end"
            )
    groups = together(_kernels_of(a), _kernels_of(b))
    found_a = {place for places, _ in groups for place in places}
    found_b = {place for _, places in groups for place in places}
    return Difference(
        a,
        b,
        tuple(_kernel(a, places_a, b, places_b) for places_a, places_b in groups),
        tuple((name, _cycles(a, at)) for at, name in enumerate(a.source.labels) if at not in found_a),
        tuple((name, _cycles(b, at)) for at, name in enumerate(b.source.labels) if at not in found_b),
    )


def _kernels_of(result: Result) -> list[Named]:
    return [
        (label, header.operators)
        for label, header in zip(result.source.labels, result.source.headers, strict=True)
    ]


def together(a: Sequence[Named], b: Sequence[Named]) -> list[tuple[list[int], list[int]]]:
    """Places of kernels that belong together, in the order of A: by name where they compute the same, then
    the smallest sets of kernels that compute the same operators on both sides, then by name alone.
    """
    places_b = {kernel: place for place, kernel in enumerate(b)}
    pairs = [([place], [places_b[kernel]]) for place, kernel in enumerate(a) if kernel in places_b]
    pairs += _by_operators(a, b, pairs)
    done_a, done_b = ({place for pair in pairs for place in pair[side]} for side in (0, 1))
    named_b = {name: place for place, (name, _) in enumerate(b) if place not in done_b}
    pairs += [
        ([place], [named_b[name]])
        for place, (name, _) in enumerate(a)
        if place not in done_a and name in named_b
    ]
    return sorted(pairs)


def _by_operators(
    a: Sequence[Named], b: Sequence[Named], pairs: Sequence[tuple[list[int], list[int]]]
) -> list[tuple[list[int], list[int]]]:
    """Of what is not in a pair yet, the smallest sets that compute the same operators."""
    found = []
    done_a, done_b = ({place for pair in pairs for place in pair[side]} for side in (0, 1))
    left_a = [place for place in range(len(a)) if place not in done_a]
    left_b = [place for place in range(len(b)) if place not in done_b]
    while left_a:
        mine, theirs = _connected(left_a[0], a, left_a, b, left_b)
        computed = [
            Counter(one for place in side for one in of[place][1]) for side, of in ((mine, a), (theirs, b))
        ]
        if theirs and computed[0] == computed[1]:
            found.append((mine, theirs))
        left_a = [place for place in left_a if place not in mine]
        left_b = [place for place in left_b if place not in theirs]
    return found


def _connected(
    start: int, a: Sequence[Named], left_a: Sequence[int], b: Sequence[Named], left_b: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The kernels that share operators with one of A, with those that share any with these, and so on."""
    operators = set(a[start][1])
    while True:
        mine = [place for place in left_a if place == start or operators & set(a[place][1])]
        theirs = [place for place in left_b if operators & set(b[place][1])]
        reached = {one for side, of in ((mine, a), (theirs, b)) for place in side for one in of[place][1]}
        if reached <= operators:
            return mine, theirs
        operators |= reached


def split(cycles: tuple[int, int], states_a: Sequence[int], states_b: Sequence[int]) -> list[tuple[str, int]]:
    """The difference in cycles by warp state and residency, in whole cycles that sum to it."""
    total_a, total_b = sum(states_a), sum(states_b)
    if not (total_a and total_b and all(cycles)):
        return _whole([Fraction(0)] * len(STATE_NAMES) + [Fraction(cycles[1] - cycles[0])])
    # Cycles for each resident warp-cycle: the inverse of the mean number of resident warps.
    inverse_a, inverse_b = Fraction(cycles[0], total_a), Fraction(cycles[1], total_b)
    mean = (inverse_a + inverse_b) / 2
    parts = [(after - before) * mean for before, after in zip(states_a, states_b, strict=True)]
    return _whole([*parts, (inverse_b - inverse_a) * (total_a + total_b) / 2])


def _whole(parts: Sequence[Fraction]) -> list[tuple[str, int]]:
    """Parts rounded to whole numbers with the same sum: the largest remainders are rounded up."""
    floors = [part.numerator // part.denominator for part in parts]
    missing = sum(parts) - sum(floors)
    order = sorted(range(len(parts)), key=lambda place: (floors[place] - parts[place], place))
    for place in order[: int(missing)]:
        floors[place] += 1
    return list(zip(REASONS, floors, strict=True))


def _kernel(a: Result, places_a: Sequence[int], b: Result, places_b: Sequence[int]) -> KernelDifference:
    first, second = (
        [one.record.kernels[place] for place in places] for one, places in ((a, places_a), (b, places_b))
    )
    cycles = (
        sum(_cycles(a, place) for place in places_a),
        sum(_cycles(b, place) for place in places_b),
    )
    return KernelDifference(
        (
            tuple(a.source.labels[place] for place in places_a),
            tuple(b.source.labels[place] for place in places_b),
        ),
        cycles,
        tuple(split(cycles, _added(one.states for one in first), _added(one.states for one in second))),
        tuple(_latencies(first, second)),
        tuple(
            (name, before, after)
            for (name, before), (_, after) in zip(_numbers(a, places_a), _numbers(b, places_b), strict=True)
        ),
    )


def _added(rows: Iterable[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _cycles(result: Result, place: int) -> int:
    return result.source.kernel_cycles(result.record.kernels[place])


def _latencies(a: Sequence[KernelRecord], b: Sequence[KernelRecord]) -> list[Latency]:
    """Of each class of requests that both made."""
    made = []
    for access, (space, operation) in enumerate(ACCESS_CLASSES):
        requests = (sum(one.requests[access] for one in a), sum(one.requests[access] for one in b))
        if not all(requests):
            continue
        phases = tuple(
            (name, Fraction(after, requests[1]) - Fraction(before, requests[0]))
            for name, before, after in zip(
                PHASE_NAMES,
                _added(one.phases[access] for one in a),
                _added(one.phases[access] for one in b),
                strict=True,
            )
        )
        means = (
            Fraction(sum(one.latency_fs[access] for one in a), requests[0]),
            Fraction(sum(one.latency_fs[access] for one in b), requests[1]),
        )
        made.append(Latency(space, operation, requests, means, phases))
    return made


def _numbers(result: Result, places: Sequence[int]) -> list[tuple[str, float]]:
    """Of several kernels the most that one of them asks for, and the sum of what they moved."""
    headers = [result.source.headers[place] for place in places]
    kernels = [result.record.kernels[place] for place in places]
    cycles = sum(_cycles(result, place) for place in places)
    slots = cycles * result.record.sm_count * result.card.warp_slots
    total = {name: sum(count(one, *names) for one in kernels) for name, names in COUNTED.items()}
    gaps = sum(result.source.cycles(one.start_fs - one.launch_fs, one.start_fs) for one in kernels)
    return [
        ("registers_per_thread", max(one.registers_per_thread for one in headers)),
        ("spill_bytes_per_thread", max(one.spill_bytes_per_thread for one in headers)),
        ("shared_bytes_per_block", max(one.shared_bytes_per_block for one in headers)),
        ("blocks_per_sm", min(one.blocks_per_sm for one in kernels)),
        ("achieved_occupancy_pct", 100 * total["resident"] / slots if slots else 0.0),
        ("launch_cycles", gaps),
        ("warp_instructions", total["warp_instructions"]),
        ("global_load_requests", sum(one.requests[GLOBAL_LOAD] for one in kernels)),
        *((name, SECTOR_BYTES * total[name]) for name in COUNTED if "bytes" in name),
    ]
