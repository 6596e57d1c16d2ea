"""`stallscope plan`: a model's data flow, its kernels under a strategy with registers and spills, and why not
more.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.common import add_common, add_set, parse_settings, print_json, say
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.config import Config

EPILOG = """\
examples:
  stallscope plan light_resnet50 --first n0 --last n2 --batch 1
  stallscope plan model.onnx --gpu h100-sxm --strategy none --json
  stallscope plan light_resnet50 --first n10 --last n15 --set registers.cap=32
  stallscope plan light_resnet50 --first n10 --last n15 --windows --sensitivity
  stallscope plan fusion.yaml --strategy best --out plans/fusion
  stallscope plan --from-profile trace.json.gz --gpu a100-sxm-40gb

MODEL is an ONNX file, a name from the onnx package (light_resnet50), a config file with a model or a list of
operators, or the name of a shipped config. Strategies: none, vertical, horizontal, horizontal-then-vertical,
vertical-then-horizontal, best; after published fusers: tvm-style, xla-style, inductor-style; analytic-toy.
Groups are priced by arithmetic (--cost analytic), and for `best` by sampled replays (--cost sampled); prices
are kept in the user's cache folder. A group's cycles are those of the rung that planned it, of --check, or
with --simulate those of a replay of the whole plan. L2 by chance is an estimate: what is moved between write
and read fits.
--out also draws the plan: groups, where values live, and the windows with their marks.
"""
CONFIG_ENDS = {".yaml", ".yml"}
DEFAULT_STRATEGY = "vertical"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "plan",
        help="a model's data flow, kernels, registers; why not fused",
        description=__doc__,
        epilog=EPILOG,
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="an ONNX file or name, or a config")
    parser.add_argument(
        "--from-profile",
        metavar="FILE",
        help="fusion candidates of a PyTorch profiler trace, instead of MODEL",
    )
    parser.add_argument(
        "--engine",
        default="compiled",
        metavar="NAME",
        help="for --from-profile: compiled (default) or reference",
    )
    parser.add_argument("--gpu", metavar="CARD", help="the card (default: the config's, or a100-sxm-40gb)")
    parser.add_argument(
        "--strategy", default=DEFAULT_STRATEGY, metavar="NAME", help="a fusion strategy (default: vertical)"
    )
    parser.add_argument(
        "--cost", metavar="RUNG", help="what groups are priced by: bytes, analytic, sampled or full"
    )
    parser.add_argument(
        "--check", metavar="RUNG", help="price the chosen groups again by a dearer rung: sampled or full"
    )
    parser.add_argument("--windows", action="store_true", help="list every legal group with its numbers")
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="plan again with half and twice the bandwidth, L2, register file and launch gap",
    )
    parser.add_argument("--first", metavar="OP", help="first node or tensor of the part")
    parser.add_argument("--last", metavar="OP", help="last node or tensor of the part")
    parser.add_argument("--batch", type=int, metavar="N", help="batch size (default: the model's)")
    parser.add_argument("--dtype", metavar="T", help="float16 (default) or float32")
    parser.add_argument("--simulate", action="store_true", help="replay the kernels too, for their cycles")
    parser.add_argument("--out", metavar="DIR", help="write plan.json, plan.txt and plan.png there")
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Plan, write what was asked for, print words or JSON."""
    if args.from_profile is not None:
        from experiments.cli.plan_profile import plan_from_profile

        return plan_from_profile(args)
    if args.model is None:
        raise InputError("plan", "no MODEL", "name a model, a config, or --from-profile FILE")
    from experiments.cli.plan_words import words
    from experiments.planning import Wishes, plan_document, with_cycles
    from experiments.run import cards_of

    config = _config(args)
    strategy = _strategy(args.strategy)
    gpu, *others = cards_of(config)
    if others:
        say(f"note: the plan is for {gpu.name}; choose another card with --gpu")
    folder = None if args.out is None else _folder(Path(args.out))
    rungs = _rung("--cost", args.cost), _rung("--check", args.check)
    wishes = Wishes(*rungs, args.windows or folder is not None, args.sensitivity)
    document, traces = plan_document(config, strategy, gpu, wishes)
    if args.simulate:
        with_cycles(document, _cycles(args, config, gpu, traces))
    if folder is not None:
        import json

        from simulator.statistics.files import write_text

        write_text(folder / "plan.txt", words(document))
        write_text(folder / "plan.json", json.dumps(document, indent=2) + "\n")
        from experiments.plots.plan_picture import draw_plan

        draw_plan(document, folder / "plan.png")
    if args.json:
        print_json(document)
    else:
        print(words(document), end="")
    return 0


def _config(args: argparse.Namespace) -> "Config":
    """The config that the model and the options amount to."""
    from experiments.config import SHIPPED, load_config, make_config

    settings = parse_settings(args.settings)
    options = {
        "gpu": [args.gpu] if args.gpu else None,
        "workload.first": args.first,
        "workload.last": args.last,
        "workload.batch": args.batch,
        "workload.dtype": args.dtype,
    }
    settings |= {key: value for key, value in options.items() if value is not None}
    if args.first or args.last:
        settings.setdefault("workload.parts", None)
    model: str = args.model
    if Path(model).suffix in CONFIG_ENDS or (
        not Path(model).exists() and (SHIPPED / f"{model}.yaml").exists()
    ):
        return load_config(model, settings)
    return make_config({"workload.onnx": model}, "plan", settings)


def _strategy(name: str) -> str:
    from experiments.keys import STRATEGIES
    from hwmodels.errors import unknown

    if name in STRATEGIES:
        return name
    raise unknown("--strategy", "strategy", name, STRATEGIES)


def _rung(option: str, name: str | None) -> str | None:
    """A rung of the cost ladder by name."""
    from hwmodels.errors import unknown
    from simulator.fusion.ladder import RUNG_NAMES

    if name is not None and name not in RUNG_NAMES:
        raise unknown(option, "rung", name, RUNG_NAMES)
    return name


def _folder(folder: Path) -> Path:
    """The folder for the plan, made before the work is done; an earlier plan in it is replaced."""
    from simulator.statistics.files import make_folder

    if folder.exists() and not folder.is_dir():
        raise InputError(str(folder), "is a file", "name a folder for the plan")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "plan.json").exists():
        raise InputError(str(folder), "holds something other than a plan", "name a new or an empty folder")
    make_folder(folder)
    return folder


def _cycles(args: argparse.Namespace, config: "Config", gpu: Any, traces: list[Any]) -> list[int]:
    """Replay the kernels in order; SM cycles of each."""
    from experiments.cli.progress import Progress
    from simulator.machine.replay import replay

    with Progress(args.command) as progress:
        result = replay(
            traces,
            gpu,
            config["engine"],
            launch=config["launch"],
            l2_state=config["workload.l2_state"],
            progress=lambda share, cycle: progress.update(f"SM cycle {cycle:,}", share),
        )
    return [int(count) for count in result.kernels["cycles"]]
