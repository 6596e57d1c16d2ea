"""What `run` and `replay` do alike: limits, progress, the folder, and the words or the JSON document at the
end.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.common import print_json, print_table, say
from experiments.cli.progress import Progress
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.config import Config
    from experiments.run import Outcome
    from simulator.statistics.result import Result

TIMELINE_BLOCKS = 400
"""Blocks of each kernel that a timeline shows unless told otherwise: several waves of most cards."""


def add_limits(parser: argparse.ArgumentParser) -> None:
    """The options that end a replay early."""
    parser.add_argument("--max-cycles", type=_cycles, metavar="N", help="end each replay at this SM cycle")
    parser.add_argument("--max-seconds", type=_seconds, metavar="S", help="end the command after this long")


def add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """Where the state is written, and where to go on from."""
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="write the state there at Ctrl-C, SIGTERM, SIGUSR1 (and go on) and at a limit",
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="go on from a checkpoint, to exactly the same result"
    )


def add_timeline(parser: argparse.ArgumentParser) -> None:
    """The timeline, and how many blocks stand in it."""
    parser.add_argument(
        "--timeline", action="store_true", help="write timeline.json too, for Perfetto and trace tools"
    )
    parser.add_argument(
        "--timeline-blocks",
        type=_blocks,
        metavar="N",
        help=f"with --timeline: the first N blocks of each kernel (default: {TIMELINE_BLOCKS}; 0: none)",
    )


def timeline_blocks(args: argparse.Namespace) -> int:
    """How many blocks of each kernel a replay has to keep."""
    if not args.timeline:
        if args.timeline_blocks is not None:
            raise InputError("--timeline-blocks", "there is no timeline", "give --timeline too")
        return 0
    return TIMELINE_BLOCKS if args.timeline_blocks is None else int(args.timeline_blocks)


def finish(args: argparse.Namespace, config: "Config", folder: Path | None) -> int:
    """Replay a config, write its folder where there is one, and print what came out."""
    from experiments.folder import prepare

    if config["sweep"]:
        say("note: the config's sweep is left to `stallscope sweep`; this replays the point outside it")
    with Progress(args.command) as progress:

        def report(share: float, cycle: int) -> None:
            progress.update(f"SM cycle {cycle:,}", share)

        ready = None if folder is None else lambda: prepare(folder)
        outcome = _replayed(args, config, report, ready)
    if folder is not None:
        from experiments.plots.pictures import draw_all

        outcome.write(folder)
        draw_all(outcome.results, folder)
        _write_timeline(args, outcome.results, folder)
    if args.json:
        kernels = [row for result in outcome.results for row in result.kernels.to_dict("records")]
        print_json({**outcome.summary, "kernels": kernels})
    else:
        _print(outcome, folder)
    return 0


def _replayed(
    args: argparse.Namespace,
    config: "Config",
    report: Callable[[float, int], None],
    ready: Callable[[], object] | None,
) -> "Outcome":
    """What came of the replays; with --checkpoint an interruption leaves a file to go on from."""
    from contextlib import nullcontext

    from experiments.checkpoints import listening, session
    from experiments.run import Limits, run

    limits = Limits(args.max_cycles, args.max_seconds, timeline_blocks(args))
    workers = getattr(args, "workers", 1)
    if not args.checkpoint and not args.resume:
        return run(config, limits, report, workers, ready=ready)
    if config["sample"] is not None:
        option = "--checkpoint" if args.checkpoint else "--resume"
        raise InputError(option, "a sampled replay keeps no checkpoint", f"leave out {option}, or sample")
    with (  # whoever sees the session's folder may send a signal
        listening() if args.checkpoint else nullcontext() as heard,
        session(args.checkpoint, args.resume) as parts,
    ):
        try:
            outcome = run(config, limits, report, workers, ready=ready, session=parts, heard=heard)
        except KeyboardInterrupt:
            if args.checkpoint and args.checkpoint.exists():
                say(f"checkpoint: {args.checkpoint}; go on with --resume {args.checkpoint}")
            raise
    if args.checkpoint:
        say(f"checkpoint: {args.checkpoint}")
    return outcome


def _write_timeline(args: argparse.Namespace, results: "Sequence[Result]", folder: Path) -> None:
    """The timeline where one was asked for; what was made of an earlier run would lie beside these tables."""
    from experiments.timeline.document import FILE_NAME, timeline

    (folder / "report.html").unlink(missing_ok=True)
    path = folder / FILE_NAME
    if not args.timeline:
        path.unlink(missing_ok=True)
        return
    made = timeline(results)
    say(f"{path}: {made.size}")
    made.write(path)


def _print(outcome: "Outcome", folder: Path | None) -> None:
    from experiments import table

    summary = outcome.summary
    for sentence in outcome.replayed:
        print(sentence)
    for name, card in summary["gpus"].items():
        own = [result for result in outcome.results if result.card.name == name]
        print(f"\n{name}, scale {card['scale']}: kernels")
        lines = table.kernel_lines(own)
        print_table(table.KERNEL_HEADINGS, lines)
        _print_some("", table.footnotes(lines))
        print(f"\n{name}, scale {card['scale']}: variants")
        print_table(table.VARIANT_HEADINGS, table.variant_lines(card))
        _print_some("\n", [table.verdict(card)])
    _print_some("\n", [table.conscience(summary)])
    _print_some("", [table.cut_short(summary)])
    if folder is not None:
        print(f"Tables and pictures: {folder}")


def _print_some(before: str, texts: Sequence[str]) -> None:
    for text in filter(None, texts):
        print(f"{before}{text}")


def _cycles(text: str) -> int:
    return int(_positive(text, "--max-cycles", "a whole number of SM cycles", whole=True))


def _blocks(text: str) -> int:
    return 0 if text == "0" else int(_positive(text, "--timeline-blocks", "a whole number", whole=True))


def add_workers(parser: argparse.ArgumentParser) -> None:
    """How many replays run side by side."""
    parser.add_argument(
        "--workers",
        type=_workers,
        metavar="N",
        help="processes that replay side by side (default: one a core)",
    )


def _workers(text: str) -> int:
    return int(_positive(text, "--workers", "a whole number of processes", whole=True))


def _seconds(text: str) -> float:
    return _positive(text, "--max-seconds", "a number of seconds", whole=False)


def _positive(text: str, place: str, wanted: str, *, whole: bool) -> float:
    try:
        value: Any = int(text) if whole else float(text)
    except ValueError:
        raise InputError(place, f"{text!r} is not a number", wanted) from None
    if not math.isfinite(value) or value <= 0 or value > 2**53:
        raise InputError(place, f"{text} is out of range", f"{wanted} above 0")
    return float(value) if not whole else value
