"""What a person may give where a trace is wanted: a `.trace.npz` file, a traced run or one kernel of it as
Accel-Sim's tracer writes them (`kernelslist.g`, `.traceg`, `.traceg.xz`), or `kernel:NAME,key=value`.
"""

from pathlib import Path

from hwmodels.errors import InputError
from hwmodels.paths import exists
from simulator.trace.accelsim import is_accelsim
from simulator.trace.accelsim import load as load_run
from simulator.trace.archive import SUFFIX, load
from simulator.trace.check import check
from simulator.trace.kernels import from_spec
from simulator.trace.kernels.registry import PREFIX
from simulator.trace.schema import KernelTrace


def traces_from(text: str, unknown_opcodes: str | None = None) -> list[KernelTrace]:
    """The traces that the text names, checked.

    `unknown_opcodes` is the operation class of opcodes that the reader of a traced run does not know; left
    out, they are refused.
    """
    if text.startswith(PREFIX):
        traces = from_spec(text)
        for trace in traces:
            check(trace)
        return traces
    if is_accelsim(text):
        return list(load_run(text, unknown_opcodes).kernels)
    if not text.endswith(".npz") and not exists(Path(text)):
        raise InputError(
            text,
            "is neither a file nor a named kernel",
            f"give FILE{SUFFIX}, kernelslist.g, FILE.traceg or {PREFIX}NAME,key=value",
        )
    return load(text)
