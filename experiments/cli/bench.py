"""`stallscope bench`: speed, memory and start of the engines, side by side in one run."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.common import add_common, print_json, print_table, say
from experiments.cli.progress import Progress

if TYPE_CHECKING:
    from experiments.bench.run import Bench

HISTORY = "results/bench-history.csv"
EPILOG = """\
examples:
  stallscope bench --quick                      within a minute
  stallscope bench                              with scaling, problem sizes and a cold start: several minutes
  stallscope bench --case copy-4mb --json
  stallscope bench --history speed.csv

Every case is replayed on a whole H100 in a process of its own, with all statistics. kips: thousand warp
instructions a CPU-second; slowdown: wall seconds for a second of the card. Compare within one run: other work
on the computer, and its clock, move figures by a factor of two. With --quick a replay ends after 8 s; its
rates are then of the part that was done. Each row goes to the history file, with date, versions and computer.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "bench", help="speed of the engines, memory, scaling", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases, each cut after 8 seconds")
    parser.add_argument(
        "--case", action="append", default=[], metavar="NAME", help="only this case (repeatable)"
    )
    parser.add_argument(
        "--history", default=HISTORY, metavar="FILE", help="CSV file to append to (default: %(default)s)"
    )
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Measure, print, append to the history."""
    from experiments.bench.history import append, check
    from experiments.bench.host import host
    from experiments.bench.run import chosen, run_bench

    path = Path(args.history)
    check(path)
    chosen(args.case, quick=args.quick)
    computer = host()
    with Progress("bench") as progress:
        bench = run_bench(args.case, quick=args.quick, report=progress.update)
    append(path, bench.results, bench.starts, computer, quick=args.quick)
    if args.json:
        print_json(_document(bench, computer, quick=args.quick))
    else:
        _print(bench, computer)
    say(f"history: {path}")
    return 0


def _document(bench: "Bench", computer: dict[str, Any], *, quick: bool) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "results": [asdict(one) for one in bench.results],
        "ratios": bench.ratios,
        "starts": [asdict(one) for one in bench.starts],
        "left_out": bench.left_out,
        "host": computer,
        "quick": quick,
    }


def _print(bench: "Bench", computer: dict[str, Any]) -> None:
    print(
        f"{computer['processor']}, {computer['cores']} cores, load {computer['load']}; "
        f"Python {computer['python']}"
    )
    print()
    print_table(
        [
            "trace",
            "engine",
            "SMs",
            "threads",
            "warp instructions",
            "cycles",
            "CPU s",
            "wall s",
            "kips",
            "kcycles/s",
            "slowdown",
            "MB",
        ],
        [
            (
                one.trace + (" (part)" if one.partial else ""),
                one.engine,
                one.sm_count,
                one.threads,
                f"{one.warp_instructions:,}",
                f"{one.cycles:,}",
                f"{one.cpu_seconds:.2f}",
                f"{one.wall_seconds:.2f}",
                f"{one.kips:,.1f}",
                f"{one.cycles_per_second / 1000:,.2f}",
                f"{one.slowdown:,.0f}",
                f"{one.peak_memory_mb:,.0f}",
            )
            for one in bench.results
        ],
    )
    print("\nFirst result of the command line")
    print_table(
        ["engine", "start", "CPU s", "wall s"],
        [
            (one.engine, one.start, f"{one.cpu_seconds:.2f}", f"{one.wall_seconds:.2f}")
            for one in bench.starts
        ],
    )
    if bench.ratios:
        print("\nRatios")
        print_table(["of", "ratio"], [(name, f"{value:.2f}") for name, value in bench.ratios.items()])
    for sentence in bench.left_out:
        print(f"\n{sentence}")
