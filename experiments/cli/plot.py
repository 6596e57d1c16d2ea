"""`stallscope plot`: one picture from a folder of results."""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import add_common, print_json

KINDS = (
    "latency",
    "stalls",
    "occupancy",
    "occupancy-limits",
    "roofline",
    "bandwidth",
    "timeline",
    "windows",
    "sweep",
)

EPILOG = """\
examples:
  stallscope plot results/resnet50-conv-bn-relu --kind stalls
  stallscope plot results/copy --kind occupancy --out copy.png
  stallscope plot results/register-file --kind sweep

latency:    where the time of memory requests went, phase by phase, kernel by kernel
stalls:     what resident warps waited for, by the profiler's names
occupancy:  resident warps over time, with what limits them
occupancy-limits: occupancy against registers, shared memory and block size, one line a kernel
roofline:   arithmetic against bytes at DRAM, L2 and L1, with the card's peaks
bandwidth:  DRAM and L2 over time
timeline:   kernels on their streams, and what warps did meanwhile
windows:    registers, spills, occupancy, hits and cycles as a fusion window grows (after `stallscope report`)
sweep:      curves and heat map of a folder that `stallscope sweep` wrote
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "plot", help="one picture from results", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("folder", metavar="DIR", help="a folder that `run` or `replay --out` wrote")
    parser.add_argument(
        "--kind", choices=KINDS, default="latency", help="which picture (default: %(default)s)"
    )
    parser.add_argument("--out", metavar="FILE.png", help="where to put it (default: DIR/plots/KIND.png)")
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Draw the picture and name its file."""
    from experiments.folder import PLOTS, cards_in, read
    from experiments.plots.pictures import draw
    from hwmodels.errors import InputError
    from simulator.statistics.files import make_folder

    if args.out and Path(args.out).suffix.lower() != ".png":
        raise InputError("--out", f"{args.out} is no PNG", "name a file that ends in .png")
    folder = Path(args.folder)
    path = Path(args.out) if args.out else folder / PLOTS / f"{args.kind}.png"
    results = [] if args.kind in {"sweep", "windows"} else read(folder)
    if not args.out and folder.is_dir():
        make_folder(path.parent)
    if args.kind == "sweep":
        from experiments.plots.sweep import draw_sweep

        draw_sweep(folder, path)
    elif args.kind == "windows":
        from experiments.plots.windows import draw_windows

        draw_windows(folder, path)
    else:
        draw(args.kind, results, path, cards_in(folder))
    if args.json:
        print_json({"kind": args.kind, "file": str(path)})
    else:
        print(path)
    return 0
