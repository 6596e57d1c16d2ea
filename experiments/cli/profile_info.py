"""`stallscope profile info`: kernels of a profile with launch, occupancy and duration, as a table or JSON."""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import print_json, print_table
from experiments.profiles.kineto import read_kineto
from experiments.profiles.names import short_name
from experiments.profiles.profile import Profile
from experiments.profiles.tables import kernel_rows, summary
from hwmodels.errors import InputError


def info(args: argparse.Namespace) -> int:
    """Print what the file holds."""
    if args.limit < 0:
        raise InputError("--limit", f"{args.limit} kernels", "give 0 or more")
    path = Path(args.file)
    return _kineto(args, read_kineto(path))


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
        _number(row["gap_us"], 1),
        _number(row["profiler_occupancy_pct"], 0),
        _number(row["our_occupancy_pct"], 0),
        _number(row["theoretical_occupancy_pct"], 1),
        " ".join(row["limiters"]),
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
