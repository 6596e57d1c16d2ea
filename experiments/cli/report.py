"""`stallscope report`: one self-contained page with everything that a result folder holds."""

import argparse
import math
import time
from pathlib import Path
from typing import Any

from experiments.cli.common import add_common, print_json, say

DEFAULT_SECONDS = 120.0

EPILOG = """\
examples:
  stallscope report results/resnet50-conv-bn-relu
  stallscope report results/copy --out copy.html
  stallscope report results/mine --no-simulation

The page opens from a disk without a network: verdict, three demonstrations to play, all pictures, tables that
sort, the resolved config, identities and versions. The demonstrations of the fusion window and of vertical
against horizontal fusion replay what the folder lacks (--max-seconds, by its config and card) and keep
it in DIR/demonstrations.json.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "report", help="one page with everything, to open or send", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("folder", metavar="DIR", help="a folder that `run` or `replay --out` wrote")
    parser.add_argument("--out", metavar="FILE.html", help="where to put it (default: DIR/report.html)")
    parser.add_argument(
        "--max-seconds",
        type=_seconds,
        default=DEFAULT_SECONDS,
        metavar="S",
        help="spend at most this long on simulating for the demonstrations (default: %(default)g)",
    )
    parser.add_argument("--no-simulation", action="store_true", help="show only what is there already")
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Make the page and name its file."""
    from experiments.cli.progress import Progress
    from experiments.report.page import page
    from hwmodels.errors import InputError
    from simulator.statistics.files import write_text

    if args.out and Path(args.out).suffix.lower() not in {".html", ".htm"}:
        raise InputError("--out", f"{args.out} is no HTML file", "name a file that ends in .html")
    folder = Path(args.folder)
    path = Path(args.out) if args.out else folder / "report.html"
    seconds = 0.0 if args.no_simulation else args.max_seconds
    began = time.monotonic()

    def told(what: str, share: float) -> None:
        # No estimate reaches beyond the limit, at which the page is written whatever is left.
        progress.update(what, max(share, (time.monotonic() - began) / seconds))

    with Progress("report") as progress:
        text = page(folder, seconds, told, say)
    say(f"{path}: {len(text.encode()) / 10**6:,.1f} MB")
    write_text(path, text)
    if args.json:
        print_json({"file": str(path)})
    else:
        print(path)
    return 0


def _seconds(text: str) -> float:
    from hwmodels.errors import InputError

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 10**9:
        raise InputError("--max-seconds", f"{text!r} is no number of seconds above 0", "such as 60")
    return value
