"""Pointer chases as the published ones run them: one lane, random order, and a warm-up in the chase's order.

The warm-up matters at the edges: only a walk in the same cyclic order leaves the cache as laps of the chase
would, so that least-recently-used thrashes as on silicon. Its 32 lanes and eight loads in flight shorten it;
the order of lines at a slice stays the same to within 256 lines. A footprint far beyond L2 needs no warm-up.

The published program puts a pointer into every 64 bytes and shuffles them, so each line comes twice a lap, at
two places of it that have nothing to do with each other. That decides the edge of a cache: a least recently
used line survives until its other half comes if few enough lines lie between, so misses set in gently and are
complete only at four thirds of the size. A regular order has no such edge, hence the recorded ring.
"""

from collections.abc import Sequence
from random import Random

from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import Expression, lane
from simulator.trace.kernels.caches import golden_step
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.recording_builder import RecordingBuilder
from simulator.trace.schema import LANES, Instruction, KernelTrace, TensorInfo

POINTER_BYTES = 8
POINTER_STRIDE = 64
"""Bytes from one pointer to the next in the published ring."""
REGISTERS, SEED = 16, 1
UNROLL = 32
WARM, WARM_LOADS = DATA + 4, 8
FIRST_ADDRESS = 1 << 32


def ring_of(footprint_bytes: int, first_address: int = FIRST_ADDRESS) -> TensorInfo:
    """The buffer of a chase."""
    return GlobalMemory(first_address).tensor("ring", footprint_bytes, "input")


def element_at(index: Expression | int, count: int, *, random: bool = True) -> Expression | int:
    """Which element comes at a place of the chase: a fixed permutation, or ascending order."""
    return (index * (golden_step(count) if random else 1)) % count


def chase(
    footprint_bytes: int,
    loads: int,
    *,
    stride_bytes: int = 128,
    warm: bool = False,
    random: bool = True,
    cache: str = "cg",
    address_cycles: int = 0,
) -> KernelTrace:
    """Dependent loads; `address_cycles` puts arithmetic of that latency between a load and the next one."""
    ring = ring_of(footprint_bytes)
    count = footprint_bytes // stride_bytes
    k = KernelBuilder("chase", 1, LANES)
    k.s2r(THREAD)
    k.wide(DATA, THREAD)
    if warm:
        _warm_up(k, ring, count, stride_bytes, random=random, cache=cache)
    with repeat(k, loads // UNROLL) as turn:
        for part in range(UNROLL):
            place = element_at(turn * UNROLL + part, count, random=random) * stride_bytes
            k.load(DATA, k.at(ring, place), POINTER_BYTES, DATA, mask=1, cache=cache, tensor=ring)
            if address_cycles:
                k.emit(Operation.OPAQUE, (DATA, DATA + 1), DATA, latency=address_cycles)
    return k.build()


def chase_lines(addresses: Sequence[int], cache: str = "cg") -> KernelTrace:
    """Dependent loads of these addresses, one after the other."""
    first = min(addresses)
    ring = ring_of(max(addresses) + 128 - first, first)
    k = KernelBuilder("chase", 1, LANES)
    k.s2r(THREAD)
    k.wide(DATA, THREAD)
    for address in addresses:
        k.load(DATA, Expression(address), POINTER_BYTES, DATA, mask=1, cache=cache, tensor=ring)
    return k.build()


def shuffled_chase(footprint_bytes: int, laps: int) -> KernelTrace:
    """Laps around the published ring, in one fixed shuffle of its pointers; at least two pointers."""
    count = max(2, footprint_bytes // POINTER_STRIDE)
    ring = ring_of(count * POINTER_STRIDE)
    order = list(range(count))
    Random(SEED).shuffle(order)
    builder = RecordingBuilder("chase", 1, LANES, REGISTERS, tensors=(ring,))
    load = Instruction(
        Operation.LDG, dst=(4, 5), src=(4, 5), bytes_per_lane=POINTER_BYTES, src_tensors=(0, 0)
    )
    loads = [builder.instruction(load, fetch_address=16 * place) for place in range(UNROLL)]
    back = builder.instruction(Instruction(Operation.BRANCH, taken=True), fetch_address=16 * UNROLL)
    end = builder.instruction(Instruction(Operation.EXIT), fetch_address=16 * (UNROLL + 1))
    builder.warp(0, 0)
    for place, element in enumerate(order * laps):
        if place and place % UNROLL == 0:
            builder.issue(back)
        address = ring.base_address + element * POINTER_STRIDE
        builder.issue(loads[place % UNROLL], 1, [address] * LANES)
    builder.issue(end)
    return builder.build()


def constant_chase(loads: int) -> KernelTrace:
    """Dependent loads from constant memory that its first level holds."""
    k = KernelBuilder("constant_chase", 1, LANES)
    k.s2r(DATA)
    with repeat(k, loads // UNROLL):
        for _ in range(UNROLL):
            k.emit(Operation.LDC, DATA, DATA, bytes_per_lane=4)
    return k.build()


def _warm_up(
    k: KernelBuilder, ring: TensorInfo, count: int, stride_bytes: int, *, random: bool, cache: str
) -> None:
    tile = LANES * WARM_LOADS
    with repeat(k, -(-count // tile)) as turn:
        for part in range(WARM_LOADS):
            index = turn * tile + part * LANES + lane
            with k.guard_unless(count % tile == 0, index, 0, count):
                place = k.at(ring, element_at(index, count, random=random) * stride_bytes)
                k.load(WARM + 2 * part, place, POINTER_BYTES, DATA, cache=cache, tensor=ring)
        k.alu(DATA, DATA)
    k.emit(Operation.ALU, DATA, (DATA, *range(WARM, WARM + 2 * WARM_LOADS, 2)))


def shared_chase(loads: int, address_cycles: int) -> KernelTrace:
    """Dependent shared-memory loads of one lane with address arithmetic between them."""
    k = KernelBuilder("shared_chase", 1, LANES, shared_bytes_per_block=128)
    k.s2r(THREAD)
    k.alu(DATA, THREAD)
    k.store_shared(THREAD, lane * 4, via=DATA)
    k.barrier()
    with repeat(k, loads // UNROLL):
        for _ in range(UNROLL):
            k.load_shared(DATA, Expression(0), via=DATA, mask=1)
            if address_cycles:
                k.emit(Operation.OPAQUE, DATA, DATA, latency=address_cycles)
    return k.build()
