"""`stallscope probe`: published microbenchmarks run on the model, ours beside published."""

import argparse
from typing import TYPE_CHECKING, Any

from experiments.cli.common import (
    add_common,
    add_set,
    gpu_settings,
    load_gpu,
    parse_settings,
    print_json,
    print_table,
)
from experiments.cli.progress import Progress
from experiments.cli.replaying import add_workers

if TYPE_CHECKING:
    from experiments.probes.row import Row

DEFAULT_CARD = "v100-pcie-16gb"
GROUPS = ("latency", "bandwidth", "curves", "conflicts", "strides", "barrier", "operations", "dram")
EPILOG = """\
examples:
  stallscope probe                                            all probes on a V100, two or three minutes
  stallscope probe --gpu a100-sxm-40gb --what latency
  stallscope probe --gpu v100-pcie-16gb --gpu h100-sxm --what conflicts --what strides --json
  stallscope probe --what latency --set gpu.l1.tag_latency_cycles=20

"published" is the median of what was measured on that die, for one quantity and method; "-" where nobody
published it. Error is ours less published, in percent of published.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "probe",
        help="published microbenchmarks run on the model",
        description="Measure latencies, bandwidths and curves of a card as microbenchmarks do.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--gpu",
        action="append",
        metavar="CARD",
        help=f"a card's name or YAML file (repeatable; default {DEFAULT_CARD})",
    )
    parser.add_argument(
        "--what",
        action="append",
        choices=(*GROUPS, "all"),
        metavar="GROUP",
        help=f"{', '.join(GROUPS)} or all (repeatable; default all)",
    )
    add_workers(parser)
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the probes and print a row for each quantity."""
    from experiments.probes.runner import run_probes

    cards = args.gpu or [DEFAULT_CARD]
    settings = gpu_settings(parse_settings(args.settings))
    for card in cards:
        load_gpu(card, settings)  # a misspelt card or key is refused before anything runs
    asked = args.what or ["all"]
    names = [name for name in GROUPS if name in asked or "all" in asked]
    with Progress("probe") as progress:
        rows = run_probes(cards, names, settings, processes=args.workers, report=progress.update)
    if args.json:
        print_json([row.document() for row in rows])
    else:
        print_table(
            ("gpu", "quantity", "ours", "published", "error %", "unit", "conditions"), map(_cells, rows)
        )
    return 0


def _cells(row: "Row") -> tuple[str, ...]:
    known, error = row.published, row.error_percent
    return (
        row.gpu,
        row.quantity,
        figure(row.ours),
        figure(known.value) if known else "-",
        f"{error:+.1f}" if error is not None else "-",
        row.unit,
        row.conditions,
    )


def figure(value: float) -> str:
    """Four digits that count: shares with three decimals, thousands without any."""
    if abs(value) < 2:
        return f"{value:.3f}"
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"
