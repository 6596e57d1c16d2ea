"""`stallscope measure`: the probes and fused chains on a real GPU of yours, as rows for `validate` and
`calibrate`.
"""

import argparse
from pathlib import Path
from typing import Any

from experiments.cli.common import add_common, print_json, say
from hwmodels.errors import InputError, unknown

EPILOG = """\
examples:
  stallscope measure --out mine.csv
  stallscope measure --what chases --what bandwidth --out mine.csv
  stallscope validate --data mine.csv

Needs a GPU, its driver, and nvcc on the search path. The sources in experiments/measure/cuda are built for
the GPU that is there and run once; times are medians, the SM clock is measured and written into every row. No
setting of the card is read from or written to its management interface. Groups: chases, shared, strides,
bandwidth, operations, tensor, barriers, launches, fusion. It takes about 3 GB of the GPU's memory.
"""
RUN_SECONDS = 900


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Describe the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "measure",
        help="the probes on a real GPU of yours, as rows for validate",
        description=__doc__,
        epilog=EPILOG,
    )
    parser.add_argument(
        "--out", metavar="FILE.csv", help="write the rows there instead of to standard output"
    )
    parser.add_argument("--what", action="append", metavar="GROUP", help="a group (repeatable; default: all)")
    add_common(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Build, run, write."""
    import tempfile

    from experiments.measure.build import GROUPS, build
    from experiments.measure.device import find_compiler, find_gpu
    from experiments.measure.rows import parse, table
    from simulator.statistics.files import write_text

    groups = args.what or []
    for one in groups:
        if one not in GROUPS:
            raise unknown("--what", "group", one, GROUPS)
    out = None if args.out is None else Path(args.out)
    if out is not None and not out.parent.is_dir():
        raise InputError(str(out.parent), "no such folder", "name a folder that exists")
    gpu = find_gpu()
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="stallscope-measure-") as folder:
        say(f"building for {gpu.name} (compute capability {gpu.capability[0]}.{gpu.capability[1]})")
        program = build(compiler, gpu.capability, Path(folder))
        say("measuring; leave the GPU to it for a minute")
        measured = parse(_output(program, groups), "stallscope measure")
    if out is not None:
        write_text(out, table(measured.rows))
        say(f"{len(measured.rows)} rows in {out}, at {measured.clock_mhz} MHz")
    if args.json:
        from dataclasses import asdict

        print_json(asdict(measured))
    elif out is None:
        print(table(measured.rows), end="")
    return 0


def _output(program: Path, groups: list[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(
            [str(program), *groups],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=RUN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            "measure", f"took more than {RUN_SECONDS} s", "see that nobody else uses the GPU"
        ) from None
    if done.returncode:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise InputError("measure", f"the measuring program failed: {complaint}", "see that the GPU is free")
    return done.stdout
