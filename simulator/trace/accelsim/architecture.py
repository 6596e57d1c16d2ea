"""What to know before a trace of one architecture is replayed on a card of another.

The instructions, their order and the registers are those that a compiler chose for the traced chip, and stay
so; times and sizes are the card's.
"""

from collections.abc import Iterable

from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.trace.accelsim.header import KernelHeader
from simulator.trace.accelsim.reader import NOTE
from simulator.trace.accelsim.tables import BY_VERSION
from simulator.trace.schema import KernelTrace


def architecture_warning(source: KernelHeader | KernelTrace, gpu: Gpu) -> str | None:
    """One line on how the traced architecture and the card differ; None where they are the same.

    A KernelTrace that was not traced (no binary version in its meta) never warns.
    """
    version = source.binary_version if isinstance(source, KernelHeader) else traced_version(source)
    card = round(float(gpu.compute_capability) * 10)
    if version is None or version == card:
        return None
    traced = BY_VERSION[version].name if version in BY_VERSION else "another architecture"
    words = (
        f"traced for sm_{version} ({traced}), replayed on {gpu.name} (sm_{card}, {gpu.architecture}): "
        f"instructions, their order and registers are those compiled for sm_{version}, "
        f"times and sizes those of the card"
    )
    if version < 80 <= card:
        words += (
            f"; code for sm_{card} would copy to shared memory asynchronously and use larger tensor shapes"
        )
    missing = missing_operations(source, gpu) if isinstance(source, KernelTrace) else []
    if missing:
        words += f"; the card has no {', '.join(missing)}"
    return words


def remarks(traces: Iterable[KernelTrace], gpu: Gpu) -> list[str]:
    """Sentences to read before a replay: what traces leave out, how their architecture differs."""
    found: dict[str, None] = {}
    for trace in traces:
        found.update((f"Traced {text}.", None) for key, text in trace.meta if key == NOTE)
        warning = architecture_warning(trace, gpu)
        if warning:
            found[f"Warning: {warning}."] = None
    return list(found)


def traced_version(trace: KernelTrace) -> int | None:
    """The binary version that a trace was recorded with."""
    text = dict(trace.meta).get("binary_version", "")
    return int(text) if text.isdigit() else None


def missing_operations(trace: KernelTrace, gpu: Gpu) -> list[str]:
    """Operation classes of the trace that the card does not have."""
    used = {Operation(instruction.operation) for instruction in trace.flat().instructions}
    return sorted(operation.name for operation in used if operation not in gpu.operations)
