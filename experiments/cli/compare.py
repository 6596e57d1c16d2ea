"""`stallscope compare`: what moved between two results, and which warp state or latency phase explains it."""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import add_common, print_json, print_table

EPILOG = """\
examples:
  stallscope compare results/before results/after
  stallscope compare results/cap-wins results/cap-wins-32                cap-wins with and without a cap
  stallscope compare results/fusion results/fusion --variants none,vertical     fused against unfused
  stallscope compare results/v100 results/a100 --json

Results are matched by card and variant. Kernels are matched by name, a fused one with all those that compute
its operators on the other side; what stands in one result alone is listed with its cycles. The cycles that a
kernel gained or lost are split by what its warps did: each warp state at the mean number of resident warps,
and `residency` for the change of that number. The parts add up to the difference. DIR is a folder that `run`
or `replay --out` wrote.
"""
MOST_REASONS = 8


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare", help="what moved between two results, and why", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("folder_a", metavar="DIR_A", help="results before")
    parser.add_argument("folder_b", metavar="DIR_B", help="results after")
    parser.add_argument("--variants", metavar="A,B", help="compare this variant of A with that variant of B")
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    from experiments.compare_document import compare_folders
    from hwmodels.errors import InputError

    variants = None
    if args.variants is not None:
        words = [word.strip() for word in args.variants.split(",")]
        if len(words) != 2 or not all(words):
            raise InputError("--variants", f"{args.variants!r} is no pair", "write for example none,vertical")
        variants = (words[0], words[1])
    document = compare_folders(Path(args.folder_a), Path(args.folder_b), variants)
    if args.json:
        print_json(document)
    else:
        _print(document)
    return 0


def _print(document: dict[str, Any]) -> None:
    print(f"A: {document['a']}\nB: {document['b']}")
    if document["changed"]:
        print("\nwhat was done differently")
        print_table(
            ("key", "A", "B"),
            [(one["key"], _short(one["a"]), _short(one["b"])) for one in document["changed"]],
        )
    for one in document["results"]:
        _print_result(one)
    for name in ("a", "b"):
        missing = document[f"only_in_{name}"]
        if missing:
            print(f"\nonly in {name.upper()}: {', '.join(missing)}")


def _print_result(one: dict[str, Any]) -> None:
    print(f"\n{_both(one['gpu_a'], one['gpu_b'])}, {_both(one['variant_a'], one['variant_b'])}")
    print_table(
        ("", "A", "B", "B - A", "%"),
        [
            _line("cycles in kernels", one["cycles"]),
            _line("cycles in launch gaps", one["launch_cycles"]),
            _line("time µs", one["time_us"], 1),
            _line("DRAM bytes", one["dram_bytes"]),
            _line("warp instructions", one["warp_instructions"]),
        ],
    )
    print()
    if not one["kernels"]:
        print("no kernel has its name or its operators in both, so none can be explained by itself:")
        _print_rest(one)
        return
    print_table(
        ("kernel", "cycles A", "cycles B", "B - A", "regs", "achieved occ. %", "DRAM MB"),
        [
            (
                kernel["kernel"],
                f"{kernel['cycles']['a']:,}",
                f"{kernel['cycles']['b']:,}",
                f"{kernel['cycles']['difference']:+,}",
                _arrow(kernel["registers_per_thread"], "{:.0f}"),
                _arrow(kernel["achieved_occupancy_pct"], "{:.0f}"),
                _arrow(_megabytes(kernel), "{:,.2f}"),
            )
            for kernel in one["kernels"]
        ],
    )
    print("\nexplained by")
    for kernel in one["kernels"]:
        print(f"  {kernel['kernel']}: {kernel['explanation']}")
    _print_rest(one)


def _print_rest(one: dict[str, Any]) -> None:
    """Kernels of one side alone, and the reasons of the whole difference."""
    for name in ("a", "b"):
        for kernel in one[f"only_in_{name}"]:
            print(f"only in {name.upper()}: {kernel['kernel']}, {kernel['cycles']:,} cycles")
    reasons = sorted((row for row in one["reasons"] if row["cycles"]), key=lambda row: -abs(row["cycles"]))
    if reasons:
        print(f"\nthe difference of {one['cycles']['difference']:+,} cycles")
        rest = sum(row["cycles"] for row in reasons[MOST_REASONS:])
        lines = [(row["reason"], f"{row['cycles']:+,}") for row in reasons[:MOST_REASONS]]
        print_table(("reason", "cycles"), [*lines, *([("all others", f"{rest:+,}")] if rest else [])])


def _megabytes(kernel: dict[str, Any]) -> dict[str, float]:
    return {
        side: (kernel["dram_read_bytes"][side] + kernel["dram_write_bytes"][side]) / 1_000_000
        for side in ("a", "b")
    }


def _line(name: str, pair: dict[str, Any], digits: int = 0) -> tuple[str, ...]:
    change = "-" if pair["pct"] is None else f"{pair['pct']:+.1f}"
    return (
        name,
        f"{pair['a']:,.{digits}f}",
        f"{pair['b']:,.{digits}f}",
        f"{pair['difference']:+,.{digits}f}",
        change,
    )


def _arrow(pair: dict[str, Any], form: str) -> str:
    before, after = form.format(pair["a"]), form.format(pair["b"])
    return before if before == after else f"{before} → {after}"


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} against {b}"


def _short(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
