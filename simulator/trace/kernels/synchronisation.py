"""Kernels for barriers and atomics: how long warps wait for each other, and for one address."""

from typing import Annotated

from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import thread
from simulator.trace.kernels.common import DATA, INDEX, THREAD, begin, repeat
from simulator.trace.kernels.registry import Blocks, Threads, Turns, choice, kernel
from simulator.trace.schema import LANES, KernelTrace

ATOMICS = {"red": Operation.REDG, "atom": Operation.ATOMG, "shared": Operation.ATOMS}


@kernel
def barrier(
    warps: Annotated[int, (1, 32)] = 8, repeats: Turns = 128, blocks: Blocks = 1
) -> list[KernelTrace]:
    """Barriers back to back: cycles a barrier for so many warps a block."""
    k = KernelBuilder("barrier", blocks, warps * LANES)
    unroll = next(size for size in (8, 4, 2, 1) if repeats % size == 0)
    with repeat(k, repeats // unroll):
        for _ in range(unroll):
            k.barrier()
    return [k.build()]


@kernel
def atomic(
    kind: str = "red",
    addresses: Annotated[int, (1, 1 << 20)] = 1,
    blocks: Blocks = 108,
    threads: Threads = 32,
    repeats: Turns = 64,
) -> list[KernelTrace]:
    """Atomic adds of all threads to so many FP32 words; kind is red (no result), atom, or shared."""
    operation = choice("atomic,kind", kind, ATOMICS)
    local = operation is Operation.ATOMS
    memory = GlobalMemory()
    words = memory.tensor("words", 4 * addresses, "output")
    k = KernelBuilder("atomic", blocks, threads, shared_bytes_per_block=4 * addresses if local else 0)
    index = thread % addresses if local else begin(k, threads) % addresses
    address = 4 * index if local else k.at(words, 4 * index)
    if local:
        k.s2r(THREAD)
    k.wide(4, THREAD if local else INDEX)
    k.move(DATA)
    result = () if operation is Operation.REDG else DATA + 1
    tensor = {} if local else {"tensor": words}
    unroll = next(size for size in (8, 4, 2, 1) if repeats % size == 0)
    with repeat(k, repeats // unroll):
        for _ in range(unroll):
            k.emit(operation, result, (4, 5, DATA), address=address, bytes_per_lane=4, **tensor)
    return [k.build()]
