"""`stallscope profile info`: kernels of a profile with launch, occupancy and duration, as a table or JSON."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.cli.common import print_json, print_table
from experiments.profiles.limits import DEFAULT_LIMITS, ProfileLimits
from experiments.profiles.names import short_name
from experiments.profiles.nsight import NsightKernel
from experiments.profiles.opened import read_profile
from experiments.profiles.profile import Profile
from experiments.profiles.tables import kernel_rows, summary
from hwmodels.errors import InputError


def info(args: argparse.Namespace) -> int:
    """Print what the file holds."""
    if args.limit < 0:
        raise InputError("--limit", f"{args.limit} kernels", "give 0 or more")
    profile = read_profile(Path(args.file), limits_of(args))
    return _kineto(args, profile) if isinstance(profile, Profile) else _nsight(args, profile)


def limits_of(args: argparse.Namespace) -> ProfileLimits:
    """The limits with what the options change."""
    if args.max_bytes is None:
        return DEFAULT_LIMITS
    if args.max_bytes < 1:
        raise InputError("--max-bytes", f"{args.max_bytes} bytes", "give 1 or more")
    return replace(DEFAULT_LIMITS, total_bytes=args.max_bytes)


def _nsight(args: argparse.Namespace, kernels: list[NsightKernel]) -> int:
    if args.json:
        document = [
            {
                "id": one.number,
                "kernel": one.name,
                "grid": list(one.grid),
                "block": list(one.block),
                "compute_capability": one.capability,
                "metrics": [
                    {"metric": m.name, "unit": m.unit, "value": m.value, "text": m.text}
                    for m in one.metrics.values()
                ],
            }
            for one in kernels
        ]
        print_json({"kind": "nsight", "kernels": document})
        return 0
    for one in kernels[: args.limit]:
        print(
            f"{one.name}: grid {list(one.grid)}, block {list(one.block)}, compute capability {one.capability}"
        )
        print_table(
            ["metric", "unit", "value"],
            [
                (m.name, m.unit or "-", m.text if m.value is None else f"{m.value:,.2f}")
                for m in one.metrics.values()
            ],
        )
    if len(kernels) > args.limit:
        print(f"… {len(kernels) - args.limit} more; --limit {len(kernels)} shows them")
    return 0


def _kineto(args: argparse.Namespace, profile: Profile) -> int:
    rows = kernel_rows(profile)
    totals = summary(profile, rows)
    devices = [
        {
            "device": one.number,
            "name": one.name,
            "compute_capability": one.capability,
            "sm_count": one.sm_count,
        }
        for one in profile.devices.values()
        if any(kernel.device == one.number for kernel in profile.kernels)
    ]
    if args.json:
        print_json({"kind": "kineto", "devices": devices, "summary": totals, "kernels": rows})
        return 0
    for one in devices:
        print(f"{one['name']}: compute capability {one['compute_capability']}, {one['sm_count']} SMs")
    print(
        f"{totals['kernels']} kernels in {totals['events']} events; {totals['copies']} copies and fills; "
        f"busy {totals['busy_us']:,.1f} us, idle between kernels of a stream {totals['gap_us']:,.1f} us"
    )
    if totals["queued_gaps"]:
        print(
            f"launch gap {totals['median_queued_gap_us']:.2f} us: median of {totals['queued_gaps']} gaps "
            "before kernels that were launched in time"
        )
    print(
        f"occupancy: ours equals the profiler's in {totals['occupancy_equal']} "
        f"of {totals['occupancy_compared']} kernels"
    )
    print()
    print_table(HEADERS, [_cells(row) for row in rows[: args.limit]])
    if len(rows) > args.limit:
        print(f"… {len(rows) - args.limit} more; --limit {len(rows)} shows them")
    return 0


HEADERS = (
    "kernel",
    "operator",
    "blocks",
    "threads",
    "regs",
    "shared B",
    "us",
    "gap us",
    "theirs %",
    "ours %",
    "theoretical %",
    "limiters",
)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    grid, block = row["grid"], row["block"]
    return (
        short_name(row["kernel"]),
        row["operator"] or "-",
        f"{grid[0] * grid[1] * grid[2]:,}",
        str(block[0] * block[1] * block[2]),
        str(row["registers_per_thread"]),
        f"{row['shared_bytes_per_block']:,}",
        f"{row['duration_us']:,.1f}",
        number(row["gap_us"], 1),
        number(row["profiler_occupancy_pct"], 0),
        number(row["our_occupancy_pct"], 0),
        number(row["theoretical_occupancy_pct"], 1),
        " ".join(row["limiters"]),
    )


def number(value: float | None, digits: int) -> str:
    """A number for a table, - for none."""
    return "-" if value is None else f"{value:,.{digits}f}"
