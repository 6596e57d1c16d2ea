"""`stallscope run`: one experiment, every variant on every card, into a folder with tables and pictures."""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import add_common, add_set
from experiments.cli.replaying import add_checkpoints, add_limits, add_timeline, add_workers, finish

EPILOG = """\
examples:
  stallscope run resnet50-conv-bn-relu                          a shipped config, by name
  stallscope run mine.yaml --out results/mine
  stallscope run mine.yaml --gpu a100-sxm-40gb --set gpu.scale=1/4 --set workload.batch=2
  stallscope run mine.yaml --json > summary.json
  stallscope run copy --timeline                                timeline.json for https://ui.perfetto.dev

CONFIG is a YAML file or the name of a shipped one (copy, cap-wins, cap-loses, fusion-window,
fusion-order, hfuse-pair, tvm-20342, tvm-20401, fuser-3095, resnet50-conv-bn-relu). The folder gets
config.yaml, summary.json, the tables (kernels, stalls, latency, occupancy, traffic, intervals, each .csv),
the raw record and plots/.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run", help="one experiment: every variant on every card", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("config", metavar="CONFIG", help="a YAML file, or the name of a shipped config")
    parser.add_argument("--gpu", action="append", metavar="CARD", help="this card instead (repeatable)")
    parser.add_argument("--engine", metavar="NAME", help="reference or compiled")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads of the compiled engine; same numbers"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the results (default: results/NAME)")
    add_limits(parser)
    add_checkpoints(parser)
    add_timeline(parser)
    add_workers(parser)
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Replay the config's variants, write the folder, print the comparison."""
    from experiments.cli.common import parse_settings
    from experiments.config import load_config
    from experiments.folder import DEFAULT_PARENT

    settings = parse_settings(args.settings)
    if args.gpu:
        settings["gpu"] = args.gpu
    if args.engine:
        settings["engine"] = args.engine
    if args.threads is not None:
        settings["threads"] = args.threads
    config = load_config(args.config, settings)
    return finish(args, config, Path(args.out) if args.out else DEFAULT_PARENT / config["name"])
