"""`stallscope profile info|compare|export`: profiles of real runs – a PyTorch profiler trace or an Nsight
Compute table – what is in them, ours beside theirs, and our results in Nsight Compute's form.
"""

import argparse
from typing import Any

from experiments.cli.common import add_common

EPILOG = """\
examples:
  stallscope profile info trace.json.gz
  stallscope profile info details.csv --json
  stallscope profile compare trace.json.gz --gpu a100-sxm-40gb
  stallscope profile compare details.csv --gpu a100-sxm-40gb --results results/copy
  stallscope profile export results/copy --out copy.csv

FILE is a PyTorch profiler trace (JSON, plain or gzip) or what `ncu --csv` printed (details or raw page).
"""
COMPARE = """\
Set a profile beside the model. Occupancy and its limits follow from the launch. Durations are simulated for
the memory-bound kernels that are known: PyTorch's element-wise kernels and layer normalisation; of other
kernels the reason is said. For a table, --results gives the numbers of a replay of the same kernels.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command and its parts."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "profile",
        help="profiles of real runs: what is in them, ours beside theirs",
        description=__doc__,
        epilog=EPILOG,
    )
    parts = parser.add_subparsers(dest="part", metavar="info|compare|export", required=True)
    info = parts.add_parser("info", help="what is in a profile", description="What is in a profile.")
    info.add_argument("file", metavar="FILE", help="a profiler's trace or table")
    info.add_argument("--limit", type=int, default=60, metavar="N", help="kernels to print (default 60)")
    _add_total(info)
    add_common(info)
    compare = parts.add_parser("compare", help="ours beside theirs", description=COMPARE, epilog=EPILOG)
    compare.add_argument("file", metavar="FILE", help="a profiler's trace or table")
    compare.add_argument("--gpu", metavar="CARD", help="the card (default: the profiled device's own)")
    compare.add_argument(
        "--engine", default="compiled", metavar="NAME", help="compiled (default) or reference"
    )
    compare.add_argument(
        "--most", type=int, default=40, metavar="N", help="launches of a trace to replay, dearest first (40)"
    )
    compare.add_argument(
        "--l2-state",
        metavar="STATE",
        help="L2 before each kernel: run (full of what ran before; default of a trace), cold (default of a "
        "table), warm (inputs there), written (a producer wrote them)",
    )
    compare.add_argument("--results", metavar="DIR", help="a result folder of the same kernels, for a table")
    _add_total(compare)
    add_common(compare)
    export = parts.add_parser(
        "export",
        help="our results as `ncu --csv` prints them",
        description="Write the kernels of a result folder in the form of `ncu --csv`.",
        epilog=EPILOG,
    )
    export.add_argument("folder", metavar="DIR", help="a result folder")
    export.add_argument("--page", default="details", metavar="PAGE", help="details (default) or raw")
    export.add_argument("--out", metavar="FILE.csv", help="write there instead of to standard output")
    add_common(export, json_option=False)
    return parser


def _add_total(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-bytes", type=int, metavar="N", help="refuse a profile of more text than this (default 4 GiB)"
    )


def run(args: argparse.Namespace) -> int:
    """Do the part that was asked for."""
    if args.part == "info":
        from experiments.cli.profile_info import info

        return info(args)
    if args.part == "compare":
        from experiments.cli.profile_compare import compare

        return compare(args)
    from experiments.cli.profile_compare import export

    return export(args)
