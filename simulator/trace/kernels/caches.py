"""Kernels for the caches: pointer chases over a footprint, L1 loads at a stride, all SMs reading one buffer.

A chase loads the address of its next load, so that cycles a load are a latency. Its order is a fixed
permutation of the footprint, element i being i·k mod n with k near the golden section of n: no neighbour
follows a neighbour, and every element comes before one comes again.
"""

from math import gcd
from typing import Annotated

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import lane, thread
from simulator.trace.kernels.common import (
    COUNTER,
    DATA,
    THREAD,
    power_of_two,
    repeat,
    size_bytes,
)
from simulator.trace.kernels.registry import (
    Blocks,
    Kilobytes,
    Switch,
    Threads,
    Turns,
    Unroll,
    Width,
    choice,
    kernel,
)
from simulator.trace.schema import LANES, KernelTrace

KIB = 1 << 10
POINTER_BYTES = 8
ORDERS = {"random": True, "linear": False}
STRIDE_BYTES_LIMIT = 64 * KIB
WARM, WARM_LOADS = DATA + 4, 8


def golden_step(count: int) -> int:
    """A step coprime to `count`, near its golden section: steps modulo `count` visit all, far apart."""
    step = max(1, round(count * 0.6180339887))
    while gcd(step, count) != 1:
        step += 1
    return step


@kernel
def chase(
    kilobytes: Kilobytes = 32,
    stride: Annotated[int, (8, 1 << 20)] = 128,
    loads: Turns = 512,
    order: str = "random",
    warm: Switch = 1,
    cache: str = "ca",
    unroll: Unroll = 8,
) -> list[KernelTrace]:
    """Dependent loads of one lane over a footprint, after a pass that fills the caches unless warm=0."""
    size = size_bytes("chase", kilobytes, KIB, stride)
    if stride % POINTER_BYTES:
        raise InputError(
            "kernel:chase,stride", f"{stride} is no multiple of {POINTER_BYTES}", "pointers are 8 bytes"
        )
    count = size // stride
    unroll = min(unroll, loads)
    if loads % unroll:
        raise InputError("kernel:chase,loads", f"{loads} is no multiple of unroll={unroll}", "change either")
    memory = GlobalMemory()
    ring = memory.tensor("ring", size, "input")
    step = golden_step(count) if choice("chase,order", order, ORDERS) else 1
    k = KernelBuilder("chase", 1, LANES)
    k.s2r(THREAD)
    k.wide(DATA, THREAD)
    if warm:
        tile = LANES * WARM_LOADS
        with k.operator("warm"), repeat(k, -(-count // tile)) as turn:
            for part in range(WARM_LOADS):
                element = turn * tile + part * LANES + lane
                with k.guard_unless(count % tile == 0, element, 0, count):
                    place = k.at(ring, element * stride)
                    k.load(WARM + 2 * part, place, POINTER_BYTES, DATA, cache=cache, tensor=ring)
            k.alu(DATA, DATA)
        k.emit(Operation.ALU, DATA, (DATA, *range(WARM, WARM + 2 * WARM_LOADS, 2)))
    with k.operator("chase"), repeat(k, loads // unroll) as turn:
        for part in range(unroll):
            place = (((turn * unroll + part) * step) % count) * stride
            k.load(DATA, k.at(ring, place), POINTER_BYTES, DATA, mask=1, cache=cache, tensor=ring)
    return [k.build()]


@kernel
def l1_stride(
    stride: Annotated[int, (0, 1024)] = 1,
    element_bytes: Width = 4,
    threads: Threads = 256,
    repeats: Turns = 64,
    blocks: Blocks = 1,
) -> list[KernelTrace]:
    """Independent loads that stay in L1, lanes `stride` elements apart: tag and data passes of a load."""
    power_of_two("l1_stride", element_bytes)
    span = max(1, threads * max(1, stride) * element_bytes)
    positions = max(1, min(16, STRIDE_BYTES_LIMIT // span))
    memory = GlobalMemory()
    buffer = memory.tensor("x", positions * span + element_bytes, "input")
    k = KernelBuilder("l1_stride", blocks, threads)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, repeats):
        for position in range(positions):
            place = (thread + position * threads) * (stride * element_bytes)
            register = DATA + position * element_bytes // 4
            k.load(register, k.at(buffer, place), element_bytes, 4, tensor=buffer)
        for position in range(positions):
            k.fadd(DATA - 2, DATA - 2, DATA + position * element_bytes // 4)
    return [k.build()]


@kernel
def cache_read(
    kilobytes: Kilobytes = 32,
    blocks: Blocks = 108,
    threads: Threads = 1024,
    bytes_per_lane: Width = 8,
    repeats: Turns = 8,
    unroll: Unroll = 4,
    cache: str = "ca",
) -> list[KernelTrace]:
    """Every block reads the same buffer from end to end, several times: bandwidth of a level by the size."""
    power_of_two("cache_read", bytes_per_lane)
    size = size_bytes("cache_read", kilobytes, KIB, bytes_per_lane)
    memory = GlobalMemory()
    buffer = memory.tensor("x", size, "input")
    vectors, tile = size // bytes_per_lane, threads * unroll
    k = KernelBuilder("cache_read", blocks, threads)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, repeats), repeat(k, -(-vectors // tile), COUNTER + 1) as turn:
        for part in range(unroll):
            index = turn * tile + part * threads + thread
            register = DATA + part * bytes_per_lane // 4
            with k.guard_unless(vectors % tile == 0, index, 0, vectors):
                k.load(
                    register,
                    k.at(buffer, index * bytes_per_lane),
                    bytes_per_lane,
                    4,
                    cache=cache,
                    tensor=buffer,
                )
        for part in range(unroll):
            k.fadd(DATA - 2, DATA - 2, DATA + part * bytes_per_lane // 4)
        k.alu(4, 4)
    return [k.build()]
