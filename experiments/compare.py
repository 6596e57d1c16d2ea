"""Two results side by side: what moved, and which reasons the difference in cycles is made of.

A kernel's cycles are its warp-cycles divided by the warps that were resident on average. The difference of
two such quotients is split exactly: each warp state has the change of its warp-cycles at the mean residency,
and `residency` has what the change in resident warps did. Rounded to whole cycles so that the parts still add
up. A mean latency is split by phases, which add up by themselves. It says what changed together, which is
evidence and no proof of cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hwmodels.errors import InputError
from simulator.statistics.phases import ACCESS_CLASSES, PHASE_NAMES, STATE_NAMES
from simulator.statistics.record import KernelRecord
from simulator.statistics.result import Result
from simulator.statistics.source import SECTOR_BYTES, count

RESIDENCY = "residency"
ONLY_A, ONLY_B, OVERLAP = "kernels only in A", "kernels only in B", "kernels side by side"
REASONS = (*STATE_NAMES, RESIDENCY)


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
    """One kernel that both results have. Pairs are (A, B); reasons are whole SM cycles, B less A."""

    kernel: str
    cycles: tuple[int, int]
    reasons: tuple[tuple[str, int], ...]
    latencies: tuple[Latency, ...]
    numbers: tuple[tuple[str, float, float], ...]
    """(name, A, B) of what a launch asked for, moved and reached."""

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
    places_a = {label: place for place, label in enumerate(a.source.labels)}
    places_b = {label: place for place, label in enumerate(b.source.labels)}
    both = [label for label in places_a if label in places_b]
    return Difference(
        a,
        b,
        tuple(_kernel(label, a, places_a[label], b, places_b[label]) for label in both),
        tuple((label, _cycles(a, place)) for label, place in places_a.items() if label not in places_b),
        tuple((label, _cycles(b, place)) for label, place in places_b.items() if label not in places_a),
    )


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


def _kernel(label: str, a: Result, place_a: int, b: Result, place_b: int) -> KernelDifference:
    first, second = a.record.kernels[place_a], b.record.kernels[place_b]
    cycles = (_cycles(a, place_a), _cycles(b, place_b))
    return KernelDifference(
        label,
        cycles,
        tuple(split(cycles, first.states, second.states)),
        tuple(_latencies(first, second)),
        tuple(
            (name, before, after)
            for (name, before), (_, after) in zip(_numbers(a, place_a), _numbers(b, place_b), strict=True)
        ),
    )


def _cycles(result: Result, place: int) -> int:
    return result.source.kernel_cycles(result.record.kernels[place])


def _latencies(a: KernelRecord, b: KernelRecord) -> list[Latency]:
    """Of each class of requests that both made."""
    made = []
    for access, (space, operation) in enumerate(ACCESS_CLASSES):
        requests = (a.requests[access], b.requests[access])
        if not all(requests):
            continue
        phases = tuple(
            (name, Fraction(after, requests[1]) - Fraction(before, requests[0]))
            for name, before, after in zip(PHASE_NAMES, a.phases[access], b.phases[access], strict=True)
        )
        means = (Fraction(a.latency_fs[access], requests[0]), Fraction(b.latency_fs[access], requests[1]))
        made.append(Latency(space, operation, requests, means, phases))
    return made


def _numbers(result: Result, place: int) -> list[tuple[str, float]]:
    header, kernel = result.source.headers[place], result.record.kernels[place]
    cycles = _cycles(result, place)
    slots = cycles * result.record.sm_count * result.card.warp_slots
    resident = count(kernel, "resident_warp_cycles")
    return [
        ("registers_per_thread", header.registers_per_thread),
        ("spill_bytes_per_thread", header.spill_bytes_per_thread),
        ("shared_bytes_per_block", header.shared_bytes_per_block),
        ("blocks_per_sm", kernel.blocks_per_sm),
        ("achieved_occupancy_pct", 100 * resident / slots if slots else 0.0),
        ("launch_cycles", result.source.cycles(kernel.start_fs - kernel.launch_fs, kernel.start_fs)),
        ("warp_instructions", count(kernel, "warp_instructions")),
        ("dram_read_bytes", SECTOR_BYTES * count(kernel, "dram_read_sectors")),
        ("dram_write_bytes", SECTOR_BYTES * count(kernel, "dram_write_sectors")),
        ("dirty_bytes_left", SECTOR_BYTES * count(kernel, "l1_dirty_left", "l2_dirty_left")),
        ("l2_read_bytes", SECTOR_BYTES * count(kernel, "l2_read_sectors")),
        ("local_bytes", SECTOR_BYTES * count(kernel, "l1_local_load_sectors", "l1_local_store_sectors")),
    ]
