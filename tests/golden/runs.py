"""A few small runs that together visit every corner of the machine, and the totals that are kept of each.

Cards, scales, one and two L2 partitions, all kinds of kernels, both trace forms, streams, a warm L2, graph
launches, a swept register file, and operators that the workload turns into kernels. The totals are every
counter and warp state by name, so that a change can be read, and a digest of all else.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.config import make_config
from experiments.workload import make_variant
from hwmodels import Gpu
from simulator import Result, replay
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.plain import to_plain
from simulator.statistics.record import RunRecord
from simulator.statistics.schema import COUNTER_NAMES
from simulator.trace.expand import recorded
from simulator.trace.kernels import from_spec
from simulator.trace.schema import KernelTrace
from tests.machines.random_trace import seeded_traces

TOTALS = Path(__file__).with_name("totals.json")
HOST = ("engine", "wall_seconds", "cpu_seconds", "peak_memory_mb", "gpu_digest")
"""Fields of a record that say nothing about the simulated machine's time."""

V100_SLICE = {"gpu.scale": "1/16"}
A100_FOUR = {
    "gpu.sm_count": 4,
    "gpu.memory_partitions": 2,
    "gpu.l2.slices": 4,
    "gpu.l2.size_kib": 512,
    "gpu.dram.channels": 2,
}
SMALL_L1 = {
    "gpu.l1.size_kib": 24,
    "gpu.l1.unusable_kib": 7,
    "gpu.shared_memory.size_kib": 16,
    "gpu.shared_memory.carveouts_kib": [0, 8, 16],
    "gpu.shared_memory.per_block_max_bytes": 8192,
    "gpu.shared_memory.default_limit_bytes": 8192,
}
CONVOLUTION = {"op": "Conv", "inputs": ["x", "w"], "output": "y", "shape": [1, 16, 12, 12]}
CONVOLUTION |= {
    "input_shapes": {"x": [1, 16, 12, 12], "w": [16, 16, 3, 3]},
    "attributes": {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]},
}
BLOCK = [
    CONVOLUTION,
    {
        "op": "BatchNormalization",
        "inputs": ["y", "scale", "shift", "mean", "variance"],
        "output": "z",
        "shape": [1, 16, 12, 12],
    },
    {"op": "Relu", "inputs": ["z"], "output": "out", "shape": [1, 16, 12, 12]},
]
PRODUCT = {"op": "MatMul", "inputs": ["a", "b"], "output": "c", "shape": [128, 64]}
PRODUCT |= {"input_shapes": {"a": [128, 64], "b": [64, 64]}}


@dataclasses.dataclass(frozen=True, slots=True)
class Golden:
    """One run: a card, its overrides, what makes the kernels, and the options of the replay."""

    card: str
    overrides: dict[str, Any]
    kernels: Callable[[Gpu], list[KernelTrace]]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def gpu(self) -> Gpu:
        return Gpu.from_card(self.card).with_overrides(self.overrides)


def named(*specs: str) -> Callable[[Gpu], list[KernelTrace]]:
    return lambda _: [trace for spec in specs for trace in from_spec(spec)]


def on_streams(*specs: str) -> Callable[[Gpu], list[KernelTrace]]:
    """One stream a spec."""
    return lambda _: [
        dataclasses.replace(trace, stream=stream)
        for stream, spec in enumerate(specs)
        for trace in from_spec(spec)
    ]


def operators(
    strategy: str, items: list[dict[str, Any]], dtype: str, cap: int | None = None
) -> Callable[[Gpu], list[KernelTrace]]:
    values = {
        "workload.operators": items,
        "workload.dtype": dtype,
        "fusion": [strategy],
        "registers.cap": cap,
    }
    return lambda gpu: list(make_variant(make_config(values, "golden"), strategy, gpu).kernels)


def random_kernels(gpu: Gpu) -> list[KernelTrace]:
    return [trace for seed in (4, 5, 7, 14, 16, 20) for trace in seeded_traces(seed, gpu)]


RUNS: dict[str, Golden] = {
    "copy and saxpy, small L2": Golden(
        "v100-sxm2-16gb",
        V100_SLICE | {"gpu.l2.size_kib": 768},
        named("copy,megabytes=0.0625", "saxpy,megabytes=0.0625,bytes_per_lane=4"),
    ),
    "chain unfused, two L2 partitions": Golden(
        "a100-sxm-40gb", A100_FOUR, named("chain,megabytes=0.0625,stages=3")
    ),
    "chain fused, graph launch": Golden(
        "a100-sxm-40gb", A100_FOUR, named("chain,megabytes=0.0625,stages=3,fused=1"), {"launch": "graph"}
    ),
    "chase through two L2 partitions": Golden(
        "a100-sxm-40gb", A100_FOUR, named("chase,kilobytes=512,stride=1024,loads=256,cache=cg")
    ),
    "streams side by side, H100": Golden(
        "h100-sxm", {"gpu.scale": "1/4"}, on_streams("triad,megabytes=0.0625", "read,megabytes=0.125")
    ),
    "cache_read, warm L2": Golden(
        "h100-sxm",
        {"gpu.scale": "1/4"},
        named("cache_read,kilobytes=16,blocks=33,threads=128,repeats=2"),
        {"l2_state": "warm"},
    ),
    "atomics": Golden(
        "v100-sxm2-16gb",
        V100_SLICE,
        named(
            "atomic,kind=red,blocks=5,repeats=8,addresses=8",
            "atomic,kind=atom,blocks=5,repeats=8,addresses=512",
            "atomic,kind=shared,blocks=2,repeats=8",
        ),
    ),
    "shared conflicts and barriers": Golden(
        "h100-pcie",
        {"gpu.scale": "1/2", "gpu.sm.scheduler": "lrr"},
        named(
            "shared_conflict,ways=8,loads=128", "barrier,warps=8,repeats=32", "l1_stride,stride=3,repeats=4"
        ),
    ),
    "arithmetic, small register file": Golden(
        "a100-sxm-80gb",
        A100_FOUR | {"gpu.register_file.size_kib": 64, "gpu.sm.scheduler": "oldest"},
        named("independent,operation=HMMA_16816_F32,count=128,warps=8,blocks=6", "dependent,operation=MUFU"),
    ),
    "conv, bn, relu apart": Golden("v100-sxm2-16gb", V100_SLICE, operators("none", BLOCK, "float16")),
    "conv, bn, relu fused, spilling": Golden(
        "a100-sxm-40gb", A100_FOUR, operators("vertical", BLOCK, "float16", cap=40)
    ),
    "matrix product, float32": Golden(
        "h800-pcie", {"gpu.scale": "1/2"}, operators("none", [PRODUCT], "float32")
    ),
    "recorded form": Golden(
        "v100-pcie-16gb",
        V100_SLICE,
        lambda _: [recorded(one) for one in from_spec("copy,megabytes=0.03125")],
    ),
    "everything at once": Golden("a100-sxm-40gb", A100_FOUR | SMALL_L1, random_kernels),
}


def replayed(name: str, engine: str) -> Result:
    """One run on one engine."""
    run = RUNS[name]
    gpu = run.gpu
    return replay(
        run.kernels(gpu), gpu, engine, interval_cycles=1000, **{"keep_requests": True} | run.options
    )


def totals_of(result: Result) -> dict[str, Any]:
    """What is kept of a run."""
    labels = list(result.kernels["kernel"])
    kernels = {}
    for label, kernel, cycles in zip(labels, result.record.kernels, result.kernels["cycles"], strict=True):
        numbers = zip((*COUNTER_NAMES, *STATE_NAMES), (*kernel.counts, *kernel.states), strict=True)
        kernels[label] = {"cycles": int(cycles), **{name: value for name, value in numbers if value}}
    return {"card": result.record.gpu_digest[:16], "kernels": kernels, "digest": digest_of(result.record)}


def digest_of(record: RunRecord) -> str:
    """Of everything in a record but what the host contributes: phases, intervals, meters, every request.

    Places of blocks are kept on demand only and are not part of it.
    """
    plain = {key: value for key, value in to_plain(record).items() if key not in (*HOST, "blocks")}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What moved between the totals of one run, a line each."""
    lines = []
    for label in dict.fromkeys([*before["kernels"], *after["kernels"]]):
        old, new = before["kernels"].get(label, {}), after["kernels"].get(label, {})
        lines += [
            f"{label}: {name} {old.get(name, 0):,} -> {new.get(name, 0):,}"
            for name in dict.fromkeys([*old, *new])
            if old.get(name, 0) != new.get(name, 0)
        ]
    if not lines and before["digest"] != after["digest"]:
        lines.append("no counter, but phases, intervals, queues or the times of requests")
    if lines and before["card"] != after["card"]:
        lines.append("(numbers of the card have changed too)")
    return lines
