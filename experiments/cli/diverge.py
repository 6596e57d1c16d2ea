"""`stallscope diverge`: one trace on two engines, to the first cycle after which they disagree."""

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
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from simulator.machine.diverge import Comparison, Divergence
    from simulator.statistics.record import RequestRecord

EPILOG = """\
examples:
  stallscope diverge kernel:copy,megabytes=0.05 --gpu v100-sxm2-16gb --set gpu.scale=1/16
  stallscope diverge kernel:copy,megabytes=0.05 --gpu v100-sxm2-16gb --set gpu.scale=1/16 --json

TRACE is what `stallscope replay` takes. Both engines replay it whole; where they differ, again and again up
to a cycle ever closer to the first difference: some ten times as long. Exit code 0: equal in every
number; 1: they differ.
"""
SHOWN = 20


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diverge", help="first event at which two engines differ", description=__doc__, epilog=EPILOG
    )
    parser.add_argument(
        "trace", metavar="TRACE", help="a trace file, a traced run or kernel:NAME[,key=value]"
    )
    parser.add_argument("--gpu", default="a100-sxm-40gb", metavar="CARD", help="card (default: %(default)s)")
    parser.add_argument(
        "--engines",
        metavar="A,B",
        help="the two to compare (default: the two of this version; where it has one, that with itself)",
    )
    add_set(parser)
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare, print both states, and answer with the exit code."""
    from simulator.machine.diverge import compare_engines
    from simulator.trace.sources import traces_from

    engines = _engines(args.engines)
    traces = traces_from(args.trace)
    gpu = load_gpu(args.gpu, gpu_settings(parse_settings(args.settings)))
    with Progress("diverge") as progress:
        found = compare_engines(traces, gpu, engines, report=progress.update)
    if args.json:
        print_json(_document(found))
    else:
        _print(found)
    return 0 if found.divergence is None else 1


def _engines(text: str | None) -> tuple[str, str]:
    from simulator.machine.replay import ENGINES

    own = [*ENGINES, *ENGINES][:2]
    names = own if text is None else [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError("--engines", f"{text!r} are not two engines", f"write {','.join(own)}")
    return names[0], names[1]


def _document(found: "Comparison") -> dict[str, Any]:
    document: dict[str, Any] = {
        "equal": found.divergence is None,
        "engines": found.engines,
        "cycles": found.cycles,
        "warp_instructions": found.warp_instructions,
        "requests": found.requests,
    }
    first = found.divergence
    if first is not None:
        document |= {
            "cycle": first.cycle,
            "time_fs": first.time_fs,
            "differences": [difference._asdict() for difference in first.differences],
            "states": [list(lines) for lines in first.unfinished],
            "request": None if first.request is None else [_request(one) for one in first.request],
        }
    return document


def _request(one: "RequestRecord | None") -> dict[str, Any] | None:
    from simulator.machine.record_difference import CLASS_NAMES
    from simulator.statistics.phases import PHASE_NAMES

    if one is None:
        return None
    return {
        "kernel": one.kernel,
        "sm": one.sm,
        "warp_slot": one.warp_slot,
        "access": CLASS_NAMES[one.access_class],
        "issue_fs": one.issue_fs,
        "finish_fs": one.finish_fs,
        "phases_fs": {name: spent for name, spent in zip(PHASE_NAMES, one.phases, strict=True) if spent},
    }


def _print(found: "Comparison") -> None:
    left, right = found.engines
    first = found.divergence
    if first is None:
        print(
            f"{left} and {right} are equal: {found.warp_instructions:,} warp instructions, "
            f"{found.requests:,} memory requests, {found.cycles:,} SM cycles"
        )
        return
    print(f"{left} and {right} differ first in SM cycle {first.cycle:,} ({first.time_fs / 1e6:,.3f} ns)")
    print("\nWhat differs after that cycle:")
    shown = first.differences[:SHOWN]
    print_table(["component", "quantity", left, right], shown)
    _more(len(first.differences))
    _print_request(found.engines, first)
    for engine, lines in zip(found.engines, first.unfinished, strict=True):
        if lines:
            print(f"\nUnfinished work of {engine} that the other does not hold so:")
            print("\n".join(lines[:SHOWN]))
            _more(len(lines))


def _print_request(engines: tuple[str, str], first: "Divergence") -> None:
    if first.request is None:
        return
    sides = [_request(one) or {} for one in first.request]
    phases = dict.fromkeys(name for side in sides for name in side.get("phases_fs", {}))
    rows = [
        (name, *(side.get(name, "-") for side in sides))
        for name in ("kernel", "sm", "warp_slot", "access", "issue_fs", "finish_fs")
    ]
    rows += [(f"{name} fs", *(side.get("phases_fs", {}).get(name, "-") for side in sides)) for name in phases]
    print("\nThe first memory request that does not finish alike:")
    print_table(["", *engines], rows)


def _more(count: int) -> None:
    if count > SHOWN:
        print(f"… and {count - SHOWN} more")
