"""The table of commands: one line each.

A command is a module beside this file with `add_parser(subparsers)`, which describes its options and returns
the parser, and `run(args)`, which does the work and returns the exit code. A module imports its tools inside
`run`, so that `stallscope --help` answers at once.
"""

from experiments.cli import (
    bench,
    calibrate,
    compare,
    diverge,
    gpu,
    measure,
    occupancy,
    plan,
    plot,
    probe,
    profile,
    replay,
    report,
    run,
    sweep,
    trace,
    validate,
)

COMMANDS = {
    "run": run,
    "sweep": sweep,
    "replay": replay,
    "plan": plan,
    "plot": plot,
    "report": report,
    "compare": compare,
    "occupancy": occupancy,
    "gpu": gpu,
    "trace": trace,
    "probe": probe,
    "validate": validate,
    "calibrate": calibrate,
    "profile": profile,
    "measure": measure,
    "diverge": diverge,
    "bench": bench,
}
