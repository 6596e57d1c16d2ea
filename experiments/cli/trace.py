"""`stallscope trace info|check|convert`: what is in a kernel trace, whether it is sound, a copy as a file."""

import argparse
from typing import Any

from experiments.cli.common import add_common, print_json, print_table, say

EPILOG = """\
examples:
  stallscope trace info mine.trace.npz
  stallscope trace info kernel:copy,megabytes=4 --json
  stallscope trace check mine.trace.npz
  stallscope trace convert kernel:copy,megabytes=4 --out copy.trace.npz
  stallscope trace convert traces/kernelslist.g --out run.trace.npz

FILE is a trace file (.trace.npz), a run that Accel-Sim's tracer recorded (kernelslist.g) or one kernel of it
(.traceg, .traceg.xz), or a shipped kernel with its parameters: kernel:NAME[,key=value...].
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command and its parts."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "trace", help="what is in a trace; full check; convert to a file", description=__doc__, epilog=EPILOG
    )
    parts = parser.add_subparsers(dest="part", metavar="info|check|convert", required=True)
    for name, text in (
        ("info", "what each kernel is made of"),
        ("check", "walk the whole trace and check it"),
        ("convert", "write the trace as a .trace.npz file"),
    ):
        part = parts.add_parser(name, help=text, description=f"{text.capitalize()}.", epilog=EPILOG)
        part.add_argument(
            "file", metavar="FILE", help="a trace file, a traced run or kernel:NAME[,key=value...]"
        )
        if name == "convert":
            part.add_argument("--out", required=True, metavar="FILE.trace.npz", help="where to write it")
        part.add_argument(
            "--unknown-opcodes",
            metavar="CLASS",
            help="count opcodes of a traced run that are not known as this operation class, e.g. ALU",
        )
        add_common(part)
    return parser


def run(args: argparse.Namespace) -> int:
    """Describe, check or convert the trace."""
    from simulator.trace.sources import traces_from

    traces: list[Any] = traces_from(args.file, args.unknown_opcodes)
    for note in dict.fromkeys(text for trace in traces for key, text in trace.meta if key == "note"):
        say(f"note: {note}")
    parts = {"info": _info, "check": _check, "convert": _convert}
    return parts[args.part](args, traces)


def _info(args: argparse.Namespace, traces: list[Any]) -> int:
    from simulator.trace.info import info

    kernels = [info(trace) for trace in traces]
    if args.json:
        print_json({"kernels": kernels})
        return 0
    for kernel in kernels:
        print(
            f"{kernel['name']}: grid {_times(kernel['grid'])}, block {_times(kernel['block'])}, "
            f"{kernel['registers_per_thread']} registers a thread, "
            f"{kernel['shared_bytes_per_block']} bytes of shared memory a block, "
            f"{kernel['warp_instructions']} warp instructions"
        )
        total = max(1, kernel["warp_instructions"])
        mix = sorted(kernel["mix"].items(), key=lambda pair: -pair[1])
        rows = [(operation, count, f"{100 * count / total:.1f}") for operation, count in mix]
        print_table(["operation", "warp instructions", "%"], rows)
    return 0


def _times(extent: Any) -> str:
    return "×".join(str(count) for count in extent)


def _check(args: argparse.Namespace, traces: list[Any]) -> int:
    from simulator.trace.check import check

    kernels = []
    for trace in traces:
        say(f"checking {trace.name}")
        walked = check(trace, full=True)
        kernels.append(
            {
                "name": trace.name,
                "sound": True,
                "walked": walked.warp_instructions,
                "complete": walked.complete,
            }
        )
    if args.json:
        print_json({"sound": True, "kernels": kernels})
        return 0
    for kernel in kernels:
        extent = "all" if kernel["complete"] else "not all"
        print(
            f"{kernel['name']}: sound; walked {kernel['walked']} warp instructions, {extent} of the kernel's"
        )
    return 0


def _convert(args: argparse.Namespace, traces: list[Any]) -> int:
    from simulator.trace.archive import save

    path = save(traces, args.out, packed=True)
    document = {"file": str(path), "bytes": path.stat().st_size, "kernels": [trace.name for trace in traces]}
    if args.json:
        print_json(document)
    else:
        print(f"{path}: {len(traces)} kernels, {document['bytes']} bytes")
    return 0
