"""What a person may give where a trace is wanted: a `.trace.npz` file, or `kernel:NAME,key=value`."""

from pathlib import Path

from hwmodels.errors import InputError
from simulator.trace.archive import SUFFIX, load
from simulator.trace.check import check
from simulator.trace.kernels import from_spec
from simulator.trace.kernels.registry import PREFIX
from simulator.trace.schema import KernelTrace


def traces_from(text: str) -> list[KernelTrace]:
    """The traces that the text names, checked."""
    if text.startswith(PREFIX):
        traces = from_spec(text)
        for trace in traces:
            check(trace)
        return traces
    if not text.endswith(".npz") and not Path(text).exists():
        raise InputError(
            text, "is neither a file nor a named kernel", f"give FILE{SUFFIX} or {PREFIX}NAME,key=value"
        )
    return load(text)
