"""What is in a trace, for a person: launch, resources, how many warp instructions, and of which classes."""

from typing import Any

from hwmodels.operations import Operation
from simulator.trace.schema import KernelTrace
from simulator.trace.tally import tally


def mix(trace: KernelTrace) -> dict[str, int]:
    """Warp instructions by operation class, the commonest first."""
    counts: dict[str, int] = {}
    for instruction, issued in zip(trace.flat().instructions, tally(trace), strict=True):
        name = Operation(instruction.operation).name
        counts[name] = counts.get(name, 0) + issued
    return dict(
        sorted(((name, issued) for name, issued in counts.items() if issued), key=lambda item: -item[1])
    )


def info(trace: KernelTrace) -> dict[str, Any]:
    """The facts of one kernel as plain values, ready for JSON."""
    counts = mix(trace)
    return {
        "name": trace.name,
        "form": trace.form,
        "grid": list(trace.grid),
        "block": list(trace.block),
        "stream": trace.stream,
        "registers_per_thread": trace.registers_per_thread,
        "shared_bytes_per_block": trace.shared_bytes_per_block,
        "local_bytes_per_thread": trace.local_bytes_per_thread,
        "barriers": trace.barriers,
        "operators": list(trace.operators),
        "tensors": [tensor.name for tensor in trace.tensors],
        "warp_instructions": sum(counts.values()),
        "mix": counts,
    }
