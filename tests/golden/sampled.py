"""Twenty kernels on slices of three cards, for the claim that a sample's error is within its stated bound.

Streams and chains bound by DRAM, products and convolutions, rows, transposes, pooling, arithmetic and L1:
grids of tens to hundreds of waves, since shorter ones are replayed whole. The truth is the whole grid.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from experiments.config import make_config
from experiments.workload import make_variant
from hwmodels import Gpu
from simulator.trace.kernels import from_spec
from simulator.trace.schema import KernelTrace

TOLERANCE = 0.05
Kernels = Callable[[Gpu], list[KernelTrace]]


class Case(NamedTuple):
    """A card, its overrides, and the kernels."""

    card: str
    overrides: dict[str, Any]
    kernels: Kernels

    @property
    def gpu(self) -> Gpu:
        return Gpu.from_card(self.card).with_overrides(self.overrides)


A100_FOUR = {
    "gpu.sm_count": 4,
    "gpu.memory_partitions": 2,
    "gpu.l2.slices": 4,
    "gpu.l2.size_kib": 512,
    "gpu.dram.channels": 2,
}
H100_FOUR = {
    "gpu.sm_count": 4,
    "gpu.memory_partitions": 2,
    "gpu.l2.slices": 4,
    "gpu.l2.size_kib": 512,
    "gpu.dram.channels": 2,
}


def v100(kernels: Kernels) -> Case:
    return Case("v100-sxm2-16gb", {"gpu.scale": "1/16"}, kernels)


def a100(kernels: Kernels) -> Case:
    return Case("a100-sxm-40gb", A100_FOUR, kernels)


def h100(kernels: Kernels) -> Case:
    return Case("h100-sxm", H100_FOUR, kernels)


def named(spec: str) -> Kernels:
    return lambda _: from_spec(spec)


def operator(kind: str, shape: list[int], dtype: str = "float16", **more: Any) -> Kernels:
    """One operator as a kernel; `inputs` are shapes, everything else attributes."""
    inputs = more.pop("inputs")
    item = {"op": kind, "inputs": list(inputs), "output": "y", "shape": shape, "input_shapes": inputs}
    if more:
        item["attributes"] = more
    values = {"workload.operators": [item], "workload.dtype": dtype, "fusion": ["none"]}
    return lambda gpu: list(make_variant(make_config(values, "sampled"), "none", gpu).kernels)


def product(rows: int, columns: int, depth: int, dtype: str = "float16") -> Kernels:
    return operator("MatMul", [rows, columns], dtype, inputs={"a": [rows, depth], "b": [depth, columns]})


def convolution(images: int, channels: int, filters: int, size: int, *, kernel: int) -> Kernels:
    shapes = {"x": [images, channels, size, size], "w": [filters, channels, kernel, kernel]}
    given = {"inputs": shapes, "pads": [kernel // 2] * 4, "kernel_shape": [kernel, kernel]}
    return operator("Conv", [images, filters, size, size], **given)


CASES: dict[str, Case] = {
    "copy, V100": v100(named("copy,megabytes=16")),
    "copy, A100": a100(named("copy,megabytes=16")),
    "copy, H100": h100(named("copy,megabytes=16")),
    "saxpy, V100": v100(named("saxpy,megabytes=20")),
    "triad, A100": a100(named("triad,megabytes=24")),
    "read, V100": v100(named("read,megabytes=64")),
    "init, A100": a100(named("init,megabytes=24")),
    "one element a thread, V100": v100(named("stream,kind=copy,megabytes=12,threads=256")),
    "fused chain, V100": v100(named("chain,megabytes=20,fused=1")),
    "chain apart, A100": a100(named("chain,megabytes=12,stages=2")),
    "product in halves, V100": v100(product(98304, 256, 32)),
    "product in single precision, H100": h100(product(49152, 256, 32, "float32")),
    "convolution 3x3, V100": v100(convolution(128, 8, 16, 32, kernel=3)),
    "convolution 1x1, A100": a100(convolution(256, 32, 64, 32, kernel=1)),
    "softmax, V100": v100(operator("Softmax", [65536, 256], inputs={"x": [65536, 256]})),
    "layer norm, A100": a100(
        operator("LayerNormalization", [65536, 256], inputs={"x": [65536, 256], "s": [256], "b": [256]})
    ),
    "transpose to NHWC, A100": a100(
        operator("Transpose", [128, 28, 28, 64], inputs={"x": [128, 64, 28, 28]}, perm=[0, 2, 3, 1])
    ),
    "max pool, H100": h100(
        operator(
            "MaxPool",
            [256, 32, 28, 28],
            inputs={"x": [256, 32, 56, 56]},
            kernel_shape=[2, 2],
            strides=[2, 2],
        )
    ),
    "arithmetic, V100": v100(named("independent,operation=FFMA,count=256,warps=8,blocks=2000")),
    "L1 at a stride, A100": a100(named("l1_stride,stride=3,repeats=8,blocks=3000")),
}
