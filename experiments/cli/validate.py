"""`stallscope validate`: the model against measured rows."""

import argparse
from typing import TYPE_CHECKING, Any

from experiments.cli.common import add_common, load_gpu, print_json, print_table
from experiments.cli.probe import figure
from experiments.cli.progress import Progress
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.validation.judge import Judged

EPILOG = """\
examples:
  stallscope validate                                      all published rows on all cards: some minutes, once
  stallscope validate --gpu v100-pcie-16gb --only lat.
  stallscope validate --data mine.csv --max-error 15       exit code 1 if any group is off by more
  stallscope validate --data mine.csv --json > judged.json

A table has the columns gpu, quantity, value, unit, conditions, source, confidence; value is a number or a
range such as 849-865. Rows of one die, quantity and method form a group, judged by its median; a row that is
more than 15 % from the median of three or more contradicts its group and is listed, not counted. A row
without a replay says why: framework overhead, shape unknown, feature not modelled, clock unknown, no such
card, or not a measurement. Replays are kept, so a second validation of the same card by the same version
answers at once.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "validate",
        help="model against measured rows",
        description="Replay what measured rows describe, and print ours, theirs and the error.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--data",
        action="append",
        metavar="FILE.csv",
        help="a table of measurements (repeatable; default: the published ones that are shipped)",
    )
    parser.add_argument(
        "--gpu", action="append", metavar="CARD", help="only rows of this card (repeatable; default all)"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="PREFIX",
        help="only quantities that begin so, such as lat. or kernel.hfuse (repeatable)",
    )
    parser.add_argument(
        "--max-error", type=float, metavar="PCT", help="exit code 1 if a group is off by more than this"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Validate, print, and compare with the bound."""
    from experiments.validation.judge import document, groups
    from experiments.validation.measurements import PUBLISHED, read_measurements
    from experiments.validation.relations import relations, summary
    from experiments.validation.run import validate

    _check(args)
    cards = args.gpu or []
    for card in cards:
        load_gpu(card)  # a misspelt card is refused before anything runs
    rows = read_measurements(args.data or [PUBLISHED])
    if args.only:
        rows = [row for row in rows if row.quantity.startswith(tuple(args.only))]
    with Progress("validate") as progress:
        judged = validate(rows, cards, processes=args.jobs, report=progress.update)
    if args.json:
        print_json(document(judged) | {"relations": summary(relations(judged))})
    else:
        _print(judged)
    over = (
        []
        if args.max_error is None
        else [one for one in groups(judged) if abs(one.error_pct) > args.max_error]
    )
    return 1 if over else 0


def _check(args: argparse.Namespace) -> None:
    if args.jobs is not None and args.jobs < 1:
        raise InputError("--jobs", f"{args.jobs} processes", "1 or more")
    if args.max_error is not None and not args.max_error >= 0:
        raise InputError("--max-error", f"{args.max_error} percent", "0 or more")


def _print(judged: "list[Judged]") -> None:
    from experiments.validation.judge import COVERED, document

    shown = [one for one in judged if one.ours is not None]
    if shown:
        print_table(
            ("gpu", "quantity", "ours", "theirs", "error %", "unit", "remark"),
            (
                (
                    one.row.gpu,
                    one.row.quantity,
                    figure(one.ours or 0),
                    figure(one.row.value or 0),
                    f"{one.error_pct:+.1f}",
                    one.row.unit,
                    "" if one.status == COVERED else f"{one.status}: {one.why}",
                )
                for one in shown
            ),
        )
        print()
    reasons: dict[str, int] = {}
    for one in judged:
        if one.ours is None:
            reason = one.why.partition(":")[0]
            reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        print(
            "without a replay: " + ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        )
    made = document(judged)
    _print_relations(judged)
    print(f"rows: {made['covered']} compared, {made['contradicting']} contradict their group, "
          f"{made['not_covered']} without a replay")  # fmt: skip
    _print_kinds(made)


def _print_relations(judged: "list[Judged]") -> None:
    from experiments.validation.relations import relations, summary

    for kind, one in summary(relations(judged)).items():
        print(
            f"{kind}: {one['pairs']} pairs, ratio off by {one['mean_abs_error_pct']:.1f} % on average, "
            f"sign the same in {one['same_sign']}"
        )


def _print_kinds(made: dict[str, Any]) -> None:
    if not made["covered"]:
        return
    print()
    print_table(
        ("groups of", "groups", "mean %", "median %", "90th %", "worst %", "worst group"),
        (
            (
                kind,
                str(one["groups"]),
                *(f"{one[name]:.1f}" for name in KIND_COLUMNS),
                one["worst_group"],
            )
            for kind, one in made["kinds"].items()
        ),
    )
    print()
    worst = made["worst"]
    print(
        f"all compared rows: mean {made['mean_abs_error_pct']:.1f} %, "
        f"median {made['median_abs_error_pct']:.1f} %, 90th percentile {made['p90_abs_error_pct']:.1f} %, "
        f"worst {abs(worst['error_pct']):.1f} % ({worst['gpu']} {worst['quantity']})"
    )


KIND_COLUMNS = ("mean_abs_error_pct", "median_abs_error_pct", "p90_abs_error_pct", "worst_abs_error_pct")
