"""The comparison that a person reads on the terminal: kernels, then variants, then the winner and why.

Everything is taken from the results' tables; units stand in the headings. Kernel time and launch gaps are
apart, since fusing saves both and only one of them depends on the memory hierarchy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.comparison import counted
from simulator.statistics.result import Result

MEGABYTE = 1_000_000
KERNEL_HEADINGS = (
    "variant",
    "kernel",
    "kernel µs",
    "gap µs",
    "DRAM MB",
    "L2 read MB",
    "regs",
    "spill B",
    "occ. %",
    "achieved %",
    "limited by",
    "top stall",
    "load cyc",
    "bound",
)
VARIANT_HEADINGS = (
    "variant",
    "launches",
    "kernels µs",
    "gaps µs",
    "total µs",
    "× none",
    "DRAM MB",
    "left dirty MB",
    "access cyc",
    "energy µJ",
    "instructions",
)


def kernel_lines(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """One line a kernel of one card's results."""
    lines = []
    for result in results:
        period_us = result.record.sm_period_fs / 10**9
        for row in result.kernels.to_dict("records"):
            moved = row["dram_read_bytes"] + row["dram_write_bytes"]
            lines.append(
                (
                    result.variant,
                    f"{shortened(row['kernel'])}{' (partial)' if row['partial'] else ''}",
                    f"{row['cycles'] * period_us:,.1f}",
                    f"{row['launch_cycles'] * period_us:,.1f}",
                    f"{moved / MEGABYTE:,.2f}",
                    f"{row['l2_read_bytes'] / MEGABYTE:,.2f}",
                    str(row["registers_per_thread"]),
                    str(row["spill_bytes_per_thread"]),
                    f"{row['theoretical_occupancy_pct']:.0f}",
                    _number(row["achieved_occupancy_pct"]),
                    row["limiters"].replace(";", "+"),
                    _top_stall(result, row["kernel"]),
                    _number(row["mean_load_latency_cycles"]),
                    row["bound"],
                )
            )
    return lines


def footnotes(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """What a reader of these kernel lines may stumble over."""
    load = KERNEL_HEADINGS.index("load cyc")
    if any(line[load] == "-" for line in lines):
        return [
            "load cyc -: nothing is loaded into registers; latency.csv has async_copy (to shared memory)."
        ]
    return []


def variant_lines(card: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """One line a variant of a card's part of the summary."""
    return [
        (
            f"{name} (partial)" if one["partial"] else name,
            str(one["kernels"]),
            f"{one['kernel_time_us']:,.1f}",
            f"{one['time_us'] - one['kernel_time_us']:,.1f}",
            f"{one['time_us']:,.1f}",
            "-" if one["speedup_vs_none"] is None else f"{one['speedup_vs_none']:.2f}",
            f"{one['dram_bytes'] / MEGABYTE:,.2f}",
            f"{one['dirty_bytes_left'] / MEGABYTE:,.2f}",
            _number(one["mean_access_latency_cycles"]),
            f"{one['energy_uj']:,.0f}",
            f"{one['warp_instructions']:,}",
        )
        for name, one in card["variants"].items()
    ]


def verdict(card: Mapping[str, Any]) -> str:
    """The winner and the reason, or what stands in the way; empty for a single variant."""
    if card["winner"]:
        return f"Fastest: {card['winner']}, {card['reason']}."
    return _sentence(card["reason"]) if card["reason"] else ""


def cut_short(summary: Mapping[str, Any]) -> str:
    """What a limit did to the numbers; empty for a complete run."""
    if not summary["partial"]:
        return ""
    missed = [
        f"{counted(one['kernels_not_begun'], 'kernel')} of variant {name} that never began"
        for card in summary["gpus"].values()
        for name, one in card["variants"].items()
        if one["kernels_not_begun"]
    ]
    left_out = f" Not in the tables: {' and '.join(missed)}." if missed else ""
    return (
        "Partial: a limit ended the replay before its kernels were done; the numbers are up to the stop."
        f"{left_out}"
    )


def conscience(summary: Mapping[str, Any]) -> str:
    """Whether the numbers add up, and what the replay cost."""
    checks = summary["identities"]
    cut = f" ({len(checks['not_judged'])} partial, not judged)" if checks["not_judged"] else ""
    rate = summary["warp_instructions_per_second"]
    # Of a resumed run the instructions are those of the whole, the seconds those since its checkpoint.
    speed = "some of them before the checkpoint" if rate is None else f"{rate:,.0f} a second"
    return (
        f"{checks['checked']} identities checked, {len(checks['violated'])} violated{cut}; "
        f"{summary['warp_instructions']:,} warp instructions in {summary['wall_seconds']:.1f} s "
        f"({speed}; {summary['cpu_seconds']:.1f} CPU seconds in replays), "
        f"{summary['peak_memory_mb']:,.0f} MB, {summary['engine']} engine."
    )


def shortened(name: str, most: int = 34) -> str:
    """A kernel's name that fits a column; the end, which tells launches apart, stays."""
    return name if len(name) <= most else f"{name[: most - 11]}…{name[-10:]}"


def _top_stall(result: Result, kernel: str) -> str:
    stalls = result.stalls[(result.stalls["kernel"] == kernel) & (result.stalls["reason"] != "selected")]
    if not stalls["warp_cycles"].sum():
        return "-"
    top = stalls.loc[stalls["warp_cycles"].idxmax()]
    return f"{top['reason']} {top['pct']:.0f} %"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.0f}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
