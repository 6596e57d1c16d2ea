"""Named, parameterised kernels: `kernel:copy,megabytes=4` wherever a trace is taken.

They look like what a compiler emits for the textbook loop: special registers, index arithmetic with real
dependencies, a bounds check, wide address arithmetic, the loads, the work, the stores. Probes, benchmarks
and the documentation use them.
"""

from simulator.trace.kernels import arithmetic, caches, chains, shared, streams, synchronisation
from simulator.trace.kernels.registry import REGISTRY, describe, from_spec, kernel_names, named

__all__ = [
    "REGISTRY",
    "arithmetic",
    "caches",
    "chains",
    "describe",
    "from_spec",
    "kernel_names",
    "named",
    "shared",
    "streams",
    "synchronisation",
]
