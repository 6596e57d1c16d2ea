"""`stallscope replay`: kernel traces of one's own, or shipped kernels, on a card."""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import add_common, add_set
from experiments.cli.replaying import add_checkpoints, add_limits, add_timeline, finish
from hwmodels.errors import InputError

EPILOG = """\
examples:
  stallscope replay kernel:copy,megabytes=1 --gpu v100-sxm2-16gb --set gpu.scale=1/16
  stallscope replay mine.trace.npz another.trace.npz --gpu a100-sxm-40gb --out results/mine
  stallscope replay mine.trace.npz --max-cycles 100000 --json

TRACE is a trace file (.trace.npz), a run that Accel-Sim's tracer recorded (kernelslist.g) or one kernel of it
(.traceg, .traceg.xz), or a shipped kernel with its parameters: kernel:NAME[,key=value...].
Several are replayed in order. --timeline writes timeline.json into --out. --set takes the keys of
a config: gpu.<key>, launch, intervals.cycles, workload.l2_state. Without --out nothing is written.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "replay", help="replay kernel traces on a card", description=__doc__, epilog=EPILOG
    )
    parser.add_argument(
        "traces", metavar="TRACE", nargs="+", help="a trace file, a traced run or kernel:NAME[,key=value...]"
    )
    parser.add_argument("--gpu", default="a100-sxm-40gb", metavar="CARD", help="card (default: %(default)s)")
    parser.add_argument(
        "--engine", default="compiled", metavar="NAME", help="compiled (default) or reference"
    )
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads of the compiled engine; same numbers"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for tables and pictures")
    add_limits(parser)
    add_checkpoints(parser)
    add_timeline(parser)
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Replay the traces, print what they did, write the folder if one was named."""
    from experiments.cli.common import parse_settings
    from experiments.config import make_config

    values = {
        "name": "replay",
        "gpu": [args.gpu],
        "engine": args.engine,
        "threads": args.threads,
        "workload.traces": args.traces,
    }
    config = make_config(values, "replay", parse_settings(args.settings))
    if args.timeline and not args.out:
        raise InputError("--timeline", "there is no folder for it", "give --out DIR too")
    return finish(args, config, Path(args.out) if args.out else None)
