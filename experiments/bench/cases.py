"""What is measured: traces of a plain CUDA kernel's shape (one float a lane) on a whole H100, and on slices.

Memory-bound copies of several sizes, chains of fused element-wise operators, a matrix product, and a pointer
chase on an otherwise idle machine. The reference engine takes the small ones only: at some ten
thousand warp instructions a second the others would take it many minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CARD = "h100-sxm"
BOTH = ("reference", "compiled")
COMPILED = ("compiled",)


@dataclass(frozen=True, slots=True)
class Case:
    """One trace on one size of machine."""

    name: str
    workload: dict[str, Any]
    """Keys of a config that make the kernels."""
    engines: tuple[str, ...] = COMPILED
    scale: str = "1/1"
    quick: bool = True
    """Whether `--quick` takes it."""
    threads: int = 1
    """Threads that share one replay."""


def copy(megabytes: int) -> dict[str, Any]:
    """One array read, one written."""
    return {"workload.traces": [f"kernel:copy,megabytes={megabytes},bytes_per_lane=4"]}


def chain(megabytes: int, stages: int = 4, instructions: int = 8) -> dict[str, Any]:
    """Element-wise operators of so many instructions each in one kernel: as they stand, four activations."""
    shape = f"stages={stages},instructions={instructions},fused=1,megabytes={megabytes}"
    return {"workload.traces": [f"kernel:chain,{shape},bytes_per_lane=4"]}


def product(extent: int) -> dict[str, Any]:
    """A square matrix product on tensor cores, in half precision."""
    square = [extent, extent]
    item = {"op": "MatMul", "inputs": ["a", "b"], "output": "c", "shape": square}
    return {
        "workload.operators": [item | {"input_shapes": {"a": square, "b": square}}],
        "workload.dtype": "float16",
    }


CHASE = {"workload.traces": ["kernel:chase,kilobytes=131072,stride=4096,loads=4096,warm=0"]}

CASES: tuple[Case, ...] = (
    Case("copy-4mb", copy(4), BOTH),
    Case("chain-4mb", chain(4), BOTH),
    Case("copy-64mb", copy(64)),
    Case("copy-64mb", copy(64), threads=2),
    Case("chain-32mb", chain(32)),
    Case("thin-chain-32mb", chain(32, stages=8, instructions=1)),
    Case("gemm-1024", product(1024)),
    Case("chase", CHASE),
    Case("copy-1mb", copy(1), BOTH, quick=False),
    Case("copy-4mb", copy(4), BOTH, "1/2", quick=False),
    Case("copy-4mb", copy(4), BOTH, "1/4", quick=False),
    Case("copy-32mb", copy(32), quick=False),
    Case("copy-256mb", copy(256), quick=False),
)
GROWTH = (("copy-1mb", "copy-4mb"), ("copy-4mb", "copy-64mb"), ("copy-32mb", "copy-256mb"))
"""Pairs whose times are compared by their work."""
WARM_UP = {"workload.traces": ["kernel:copy,megabytes=0.015625"]}
"""Replayed first in each process, so that loading code is not measured."""
