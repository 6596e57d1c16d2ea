"""`stallscope probe`: published microbenchmarks run on the model, ours beside published."""

import argparse
from pathlib import Path
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
    from hwmodels import Gpu

DEFAULT_CARD = "v100-pcie-16gb"
GROUPS = (
    "latency",
    "chase",
    "bandwidth",
    "cliffs",
    "curves",
    "streams",
    "conflicts",
    "strides",
    "barrier",
    "operations",
    "launch",
    "dram",
    "peers",
)
EPILOG = """\
examples:
  stallscope probe                                            all probes on a V100, two or three minutes
  stallscope probe --gpu a100-sxm-40gb --what latency
  stallscope probe --gpu v100-pcie-16gb --gpu h100-sxm --what conflicts --what strides --json
  stallscope probe --what latency --set gpu.l1.tag_latency_cycles=20
  stallscope probe --gpu l40 --what chase --what cliffs --what streams --out l40.png
  stallscope probe --what list                                what each group measures

Groups that warm caches or stream through them (bandwidth, cliffs, curves, streams, large footprints of chase)
run on the compiled engine, which compiles once. Large working sets are cut with L2 to a slice of the card.

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
        choices=(*GROUPS, "all", "list"),
        metavar="GROUP",
        help=f"{', '.join(GROUPS)}, all, or list (repeatable; default all)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE.png",
        help="a picture of the curves, published and ours; of several cards one each, the name before .png",
    )
    add_workers(parser)
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the probes and print a row for each quantity."""
    from experiments.probes.registry import PROBES
    from experiments.probes.runner import run_probes

    if "list" in (args.what or ()):
        return _list({name: PROBES[name].sentence for name in GROUPS}, as_json=args.json)
    pictures = _pictures(args.out, args.gpu or [DEFAULT_CARD])
    cards = args.gpu or [DEFAULT_CARD]
    settings = gpu_settings(parse_settings(args.settings))
    for card in cards:
        load_gpu(card, settings)  # a misspelt card or key is refused before anything runs
    asked = args.what or ["all"]  # all but the peers, which are of no card
    names = [name for name in GROUPS if name in asked or ("all" in asked and name != "peers")]
    with Progress("probe") as progress:
        rows = run_probes(cards, names, settings, processes=args.workers, report=progress.update)
    for card, path in pictures.items():
        _draw(load_gpu(card, settings), rows, path)
    if args.json:
        print_json([row.document() for row in rows])
    else:
        print_table(
            ("gpu", "quantity", "ours", "published", "error %", "unit", "conditions"), map(_cells, rows)
        )
    return 0


def _list(sentences: dict[str, str], *, as_json: bool) -> int:
    if as_json:
        print_json(sentences)
    else:
        print_table(("group", "measures"), sentences.items())
    return 0


def _pictures(out: str | None, cards: list[str]) -> dict[str, Path]:
    """The file of each card's picture; a wrong name is refused before anything runs."""
    from hwmodels.errors import InputError

    if out is None:
        return {}
    path = Path(out)
    if path.suffix.lower() != ".png":
        raise InputError("--out", f"{out} is no PNG", "name a file that ends in .png")
    if not path.parent.is_dir():
        raise InputError("--out", f"there is no folder {path.parent}", "name a file in a folder that exists")
    if len(cards) == 1:
        return {cards[0]: path}
    return {card: path.with_name(f"{path.stem}-{Path(card).stem}{path.suffix}") for card in cards}


def _draw(gpu: "Gpu", rows: "list[Row]", path: Path) -> None:
    from experiments.plots.probes import probes_figure
    from experiments.plots.style import save

    save(probes_figure(gpu, [row for row in rows if row.gpu == gpu.name]), path)


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
