"""`stallscope calibrate`: named, bounded parameters of a card fitted to measured rows."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.common import add_common, load_gpu, print_json, print_table, say
from experiments.cli.progress import Progress
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.calibration.calibrate import Calibration

EPILOG = """\
examples:
  stallscope calibrate v100-pcie-16gb --data mine.csv --out mine.yaml
  stallscope calibrate mine.yaml --data mine.csv --parameter dram.controller_latency_ns --json

Fitted are latencies of parts, widths of ports, depths of queues and costs of a launch, each within bounds
around the card's value; never what specifications say. Rows weigh by groups. The error on rows left out is
that of each fold of quantities when the fit is made to the others, to first order around the fit. The card
that is written extends the one given: `stallscope validate --gpu mine.yaml --data mine.csv` judges it.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "calibrate",
        help="fit parameters of a card to measured rows",
        description="Fit named, bounded parameters of a card to a table of measurements.",
        epilog=EPILOG,
    )
    parser.add_argument("card", metavar="CARD", help="a card's name or YAML file to start from")
    parser.add_argument(
        "--data", action="append", required=True, metavar="FILE.csv", help="measured rows (repeatable)"
    )
    parser.add_argument("--out", metavar="CARD.yaml", help="write the fitted card there")
    parser.add_argument(
        "--parameter", action="append", metavar="KEY", help="fit only this one (repeatable; default all)"
    )
    parser.add_argument("--folds", type=int, default=5, metavar="K", help="folds of quantities (default 5)")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Fit, print, write."""
    from experiments.calibration.calibrate import calibrate
    from experiments.calibration.fitted_card import write_card
    from experiments.validation.measurements import read_measurements

    if args.jobs is not None and args.jobs < 1:
        raise InputError("--jobs", f"{args.jobs} processes", "1 or more")
    if args.folds < 2:
        raise InputError("--folds", f"{args.folds} folds", "2 or more")
    load_gpu(args.card)
    rows = read_measurements(args.data)
    with Progress("calibrate") as progress:
        made = calibrate(
            args.card,
            rows,
            tuple(args.parameter or ()),
            folds=args.folds,
            processes=args.jobs,
            report=progress.update,
        )
    if args.out:
        write_card(Path(args.out), made, args.data)
        say(f"written: {args.out}")
    if args.json:
        print_json(made.document())
    else:
        _print(made)
    return 0


def _print(made: "Calibration") -> None:
    print_table(
        ("parameter", "before", "after", "bounds", "unit", "sensitivity", "rows"),
        (
            (
                one.key,
                f"{one.before:g}",
                f"{one.after:g}",
                f"{one.low:g} to {one.high:g}",
                one.unit,
                f"{one.sensitivity:.3f}",
                str(one.rows),
            )
            for one in made.parameters
        ),
    )
    print()
    print(
        f"{made.rows} rows: mean error {made.mean_before_pct:.1f} % before, "
        f"{made.mean_after_pct:.1f} % after, "
        f"{made.mean_held_out_pct:.1f} % on rows left out ({made.folds} folds of quantities)"
    )
