"""Streaming kernels: every element once, in order. Bandwidth of DRAM, or of whatever level holds the arrays.

`stream` is the kernel of published occupancy curves: one double an array and thread, few resident warps by
an idle shared-memory allocation, and an index computation of about 85 cycles before the load.
"""

from typing import Annotated

from hwmodels.operations import Operation
from simulator.trace.kernels.elementwise import Elementwise
from simulator.trace.kernels.registry import Megabytes, Threads, Unroll, Width, choice, kernel
from simulator.trace.schema import KernelTrace

STREAM_KINDS = {
    "read": (("a",), ()),
    "init": ((), ("a",)),
    "copy": (("b",), ("a",)),
    "scale": (("b",), ("a",)),
    "triad": (("b", "c"), ("a",)),
}


@kernel
def copy(
    megabytes: Megabytes = 64, threads: Threads = 256, bytes_per_lane: Width = 16, unroll: Unroll = 1
) -> list[KernelTrace]:
    """Y = x: one array read, one written, each of so many MiB."""
    shape = Elementwise("copy", ("x",), ("y",), megabytes, threads, bytes_per_lane, unroll)
    return [shape.build(lambda _, loaded, __: loaded[0])]


@kernel
def saxpy(
    megabytes: Megabytes = 64, threads: Threads = 256, bytes_per_lane: Width = 16, unroll: Unroll = 1
) -> list[KernelTrace]:
    """Y = a x + y in FP32: two arrays read, one written in place, each of so many MiB."""
    shape = Elementwise("saxpy", ("x", "y"), ("y",), megabytes, threads, bytes_per_lane, unroll)
    return [
        shape.build(
            lambda k, loaded, count: shape.each(k, Operation.FFMA, loaded[1], loaded[0], loaded[1], count)
        )
    ]


@kernel
def triad(
    megabytes: Megabytes = 64, threads: Threads = 256, bytes_per_lane: Width = 16, unroll: Unroll = 1
) -> list[KernelTrace]:
    """A = b + s c in FP32: two arrays read, another written, each of so many MiB."""
    shape = Elementwise("triad", ("b", "c"), ("a",), megabytes, threads, bytes_per_lane, unroll)
    return [
        shape.build(
            lambda k, loaded, count: shape.each(k, Operation.FFMA, loaded[0], loaded[0], loaded[1], count)
        )
    ]


@kernel
def read(
    megabytes: Megabytes = 64,
    threads: Threads = 256,
    bytes_per_lane: Width = 16,
    unroll: Unroll = 4,
    stride: Annotated[int, (1, 1024)] = 1,
) -> list[KernelTrace]:
    """Sum of an array of so many MiB, nothing written; neighbouring lanes read `stride` vectors apart."""
    shape = Elementwise("read", ("x",), (), megabytes, threads, bytes_per_lane, unroll, stride=stride)
    return [shape.build(shape.total)]


@kernel
def init(
    megabytes: Megabytes = 64, threads: Threads = 256, bytes_per_lane: Width = 16, unroll: Unroll = 1
) -> list[KernelTrace]:
    """X = constant: an array of so many MiB written, nothing read."""
    shape = Elementwise("init", (), ("x",), megabytes, threads, bytes_per_lane, unroll)
    return [shape.build(lambda k, _, count: shape.constant(k, count))]


@kernel
def stream(
    kind: str = "read",
    megabytes: Megabytes = 64,
    threads: Threads = 1024,
    shared_bytes: Annotated[int, (0, 1 << 18)] = 0,
    index_instructions: Annotated[int, (0, 200)] = 12,
) -> list[KernelTrace]:
    """The occupancy curve's kernel: one FP64 element a thread; kind: read, init, copy, scale, triad."""
    sources, targets = choice("stream,kind", kind, STREAM_KINDS)
    shape = Elementwise(
        f"stream_{kind}",
        sources,
        targets,
        megabytes,
        threads,
        bytes_per_lane=8,
        shared_bytes=shared_bytes,
        index_instructions=index_instructions,
    )
    if kind == "read":
        return [shape.build(lambda k, loaded, _: shape.compare(k, loaded))]
    if kind == "init":
        return [shape.build(lambda k, _, count: shape.constant(k, count))]
    operation = {"copy": None, "scale": Operation.DMUL, "triad": Operation.DFMA}[kind]
    return [shape.build(lambda k, loaded, _: shape.doubles(k, operation, loaded))]
