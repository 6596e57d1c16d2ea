"""Variants of one workload on one card, side by side: totals, the winner, and the reason in one sentence.

The winner is the variant that ends first, launch gaps included. The reason is read off the numbers: how
much of the difference was kernel time and how much launch gaps, which bytes and which stall moved most, and
what registers did to occupancy. It says what changed together with the time, which is evidence and no proof
of cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.result import Result

BASELINE = "none"
SAME_PCT = 0.5
"""Variants that differ by less are called equal: the choice between them is not the simulator's to make."""
KILOBYTE = 1_000
MEGABYTE = 1_000_000
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Totals:
    """One variant as a whole. Cycles are SM cycles, times µs; `kernels` are those that the run reached."""

    variant: str
    kernels: int
    kernels_not_begun: int
    cycles: int
    launch_cycles: int
    time_us: float
    kernel_time_us: float
    dram_bytes: int
    dirty_bytes_left: int
    l2_read_bytes: int
    warp_instructions: int
    registers_per_thread: int
    achieved_occupancy_pct: float
    mean_access_latency_cycles: float
    energy_uj: float
    stalls: dict[str, int]
    partial: bool


def totals_of(result: Result) -> Totals:
    """Sums over a variant's kernels; registers: the most; occupancy: weighed by the kernels' cycles."""
    kernels = result.kernels
    cycles = max(1, int(kernels["cycles"].sum()))
    period_us = result.record.sm_period_fs / 10**9
    states = [
        sum(column) for column in zip(*(kernel.states for kernel in result.record.kernels), strict=True)
    ]
    return Totals(
        variant=result.variant,
        kernels=len(kernels),
        kernels_not_begun=len(result.record.kernels) - len(kernels),
        cycles=result.cycles,
        launch_cycles=result.launch_cycles,
        time_us=result.time_us,
        kernel_time_us=result.cycles * period_us,
        dram_bytes=result.dram_bytes,
        dirty_bytes_left=int(kernels["dirty_bytes_left"].sum()),
        l2_read_bytes=int(kernels["l2_read_bytes"].sum()),
        warp_instructions=result.warp_instructions,
        registers_per_thread=max(kernels["registers_per_thread"].tolist(), default=0),
        achieved_occupancy_pct=float((kernels["achieved_occupancy_pct"] * kernels["cycles"]).sum() / cycles),
        mean_access_latency_cycles=result.mean_access_latency_cycles,
        energy_uj=float(kernels["energy_uj"].sum()),
        stalls=dict(zip(STATE_NAMES, states, strict=True)),
        partial=result.partial,
    )


def winner_of(variants: Sequence[Totals]) -> tuple[str, str]:
    """The name of the fastest variant and the reason; both empty where there is nothing to compare."""
    if len(variants) < 2:
        return "", ""
    if any(one.partial for one in variants):
        return "", "a limit cut the replay short, so the variants can't be compared"
    ranked = sorted(variants, key=lambda one: one.time_us)
    best = ranked[0]
    other = next((one for one in variants if one.variant == BASELINE and one is not best), ranked[1])
    if other.time_us - best.time_us <= other.time_us * SAME_PCT / 100:
        return best.variant, f"within {SAME_PCT} % of {other.variant}, which counts as the same time"
    return best.variant, _reason(best, other)


def _reason(best: Totals, other: Totals) -> str:
    words = [
        _time_words(best, other),
        _byte_words(best, other),
        _stall_words(best, other),
        _resource_words(best, other),
    ]
    return "; ".join(word for word in words if word)


def _time_words(best: Totals, other: Totals) -> str:
    kernels = other.kernel_time_us - best.kernel_time_us
    gaps = (other.time_us - other.kernel_time_us) - (best.time_us - best.kernel_time_us)
    ends = f"{best.time_us:,.1f} µs against the {other.time_us:,.1f} µs of {other.variant}"
    count = (
        f"{counted(best.kernels, 'launch')} instead of {other.kernels}, "
        if best.kernels != other.kernels
        else ""
    )
    spent = f"{_saved(kernels)} in kernels and {_saved(gaps)} in launch gaps"
    return f"{ends} ({other.time_us / best.time_us:.2f}×): {count}{spent}"


def counted(number: int, noun: str) -> str:
    """1 launch, 2 launches."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def _saved(time_us: float) -> str:
    return f"{abs(time_us):,.1f} µs {'less' if time_us >= 0 else 'more'}"


def _byte_words(best: Totals, other: Totals) -> str:
    """The level whose bytes moved most; DRAM counts with what it still has to take from the caches."""
    moved = {
        "DRAM traffic": (best.dram_bytes + best.dirty_bytes_left, other.dram_bytes + other.dirty_bytes_left),
        "L2 reads": (best.l2_read_bytes, other.l2_read_bytes),
    }
    name, (now, before) = max(moved.items(), key=lambda item: abs(_change_pct(*item[1])))
    if abs(_change_pct(now, before)) < 1:
        return ""
    left = (
        " (with what stays dirty in caches)" if name == "DRAM traffic" and before != other.dram_bytes else ""
    )
    return f"{name}{left} went from {sized(before)} to {sized(now)}"


def _stall_words(best: Totals, other: Totals) -> str:
    """The stall whose warp-cycles fell most; where none fell, nothing is claimed."""
    waits = {name: other.stalls[name] - best.stalls[name] for name in STATE_NAMES if name != "selected"}
    name = max(waits, key=lambda reason: waits[reason])
    if waits[name] <= 0:
        return ""
    before, now = readable(other.stalls[name]), readable(best.stalls[name])
    return f"of the stalls {name} fell most, from {before} to {now} warp-cycles"


def readable(number: int) -> str:
    """A count as a person says it: all digits below a million, three that count above."""
    if number < MILLION:
        return f"{number:,}"
    millions = float(f"{number / MILLION:.3g}")
    return f"{millions:,g} million" if millions < MILLION else f"{millions:,.0f} million"


def sized(size_bytes: int) -> str:
    """12 bytes, 1.2 kB, 1.20 MB."""
    if size_bytes >= MEGABYTE // 10:
        return f"{size_bytes / MEGABYTE:,.2f} MB"
    return f"{size_bytes / KILOBYTE:,.1f} kB" if size_bytes >= KILOBYTE else f"{size_bytes} bytes"


def _resource_words(best: Totals, other: Totals) -> str:
    if best.registers_per_thread == other.registers_per_thread:
        return ""
    return (
        f"at most {best.registers_per_thread} registers a thread against {other.registers_per_thread}, "
        f"achieved occupancy {best.achieved_occupancy_pct:.0f} % against {other.achieved_occupancy_pct:.0f} %"
    )


def _change_pct(now: float, before: float) -> float:
    return 100 * (now - before) / before if before else (100.0 if now else 0.0)
