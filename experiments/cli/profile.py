"""`stallscope profile info|compare|export`: profiles of real runs – a PyTorch profiler trace or an Nsight
Compute table – what is in them, and ours beside theirs.
"""

import argparse
from typing import Any

from experiments.cli.common import add_common

EPILOG = """\
examples:
  stallscope profile info trace.json.gz
  stallscope profile info trace.json.gz --json
  stallscope profile compare trace.json.gz --gpu a100-sxm-40gb
  stallscope profile compare details.csv --gpu h100-sxm
  stallscope profile export results/copy --out copy.csv

FILE is a PyTorch profiler trace (JSON, plain or gzip) or what `ncu --csv` printed (details or raw page).
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command and its parts."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "profile",
        help="PyTorch profiler traces and Nsight Compute tables; ours beside theirs",
        description=__doc__,
        epilog=EPILOG,
    )
    parts = parser.add_subparsers(dest="part", metavar="info|compare|export", required=True)
    info = parts.add_parser("info", help="what is in a profile", description="What is in a profile.")
    info.add_argument("file", metavar="FILE", help="a profiler's trace or table")
    info.add_argument("--limit", type=int, default=60, metavar="N", help="kernels to print (default 60)")
    add_common(info)
    return parser


def run(args: argparse.Namespace) -> int:
    """Do the part that was asked for."""
    from experiments.cli.profile_info import info

    return info(args)
