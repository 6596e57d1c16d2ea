"""The interpreter itself: that it notices a missing barrier, a missing wait, a wrong address and a wrong
guard, and that shuffles, atomics, matrix products and unwritten memory behave.
"""

from dataclasses import replace

import numpy as np
import pytest

from hwmodels.errors import ResultError
from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.allocate import allocate
from simulator.workload.builders.convolution import convolution_kernel
from simulator.workload.builders.geometry import Convolution, Tile
from simulator.workload.emit import Emitter
from simulator.workload.interpret import GlobalMemory, interpret, matrix
from simulator.workload.ir import Effect, Op, Repeat, Special
from simulator.workload.layout import Layout, Placement
from simulator.workload.target import AMPERE, VOLTA

OUT = TensorInfo("out", 4096, 1 << 36, "output")
SHAPE = Convolution(1, 40, 4, 9, 64, (1, 1))


def without(body, operation, keep):
    """A body without one occurrence (number `keep`) of an operation."""
    seen = -1

    def strip(items):
        nonlocal seen
        made = []
        for item in items:
            if isinstance(item, Repeat):
                made.append(Repeat(item.trips, strip(item.body)))
                continue
            seen += item.operation is operation
            if item.operation is not operation or seen != keep:
                made.append(item)
        return tuple(made)

    out = strip(body)
    return out, seen + 1


def convolution(target):
    place = Placement()
    x = place.place("x", Layout((1, 40, 4, 9), "float16", "activation"), "input")
    w = place.place("w", Layout((64, 40, 1, 1), "float16", "filter"), "weight")
    y = place.place("y", Layout((1, 64, 4, 9), "float16", "activation"), "output")
    return place, convolution_kernel("conv", "n0", SHAPE, x, w, y, (), target, Tile(64))


def outcome(place, kernel, reverse):
    rng = np.random.default_rng(1)
    memory = GlobalMemory()
    for name, info in place.infos.items():
        layout = place.layouts[name]
        memory.place(
            name,
            info.base_address,
            layout.pack(rng.standard_normal(layout.shape)) if name != "y" else info.bytes,
        )
    interpret(allocate(kernel), memory, reverse=reverse)
    return memory.content("y")


@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
@pytest.mark.parametrize("operation", [Operation.BARRIER, Operation.ASYNC_WAIT])
def test_every_barrier_and_wait_is_needed(target, operation):
    place, kernel = convolution(target)
    truth = outcome(place, kernel, False)
    _, count = without(kernel.body, operation, -1)
    assert count or not target.async_copy
    needed = 0
    for number in range(count):
        body, _ = without(kernel.body, operation, number)
        broken = replace(kernel, body=body)
        results = [outcome(place, broken, reverse) for reverse in (False, True)]
        needed += any(not np.array_equal(result, truth) for result in results)
    # The wait before the epilogue keeps late zeros out of its tile, but here copies land only at waits.
    assert needed == count - (operation is Operation.ASYNC_WAIT and target.async_copy)


def small(threads=32):
    emitter = Emitter("small", (1, 1, 1), threads)
    thread = emitter.special(Special.THREAD)
    return emitter, thread, emitter.pointer(OUT.base_address, thread, 4)


def run(kernel):
    memory = GlobalMemory()
    memory.place("out", OUT.base_address, np.zeros(OUT.bytes, np.uint8))
    interpret(allocate(kernel), memory)
    return memory.content("out").view(np.uint32)


def altered(kernel, effect, change):
    """The kernel with the last operation of an effect changed."""
    last = max(index for index, op in enumerate(kernel.body) if isinstance(op, Op) and op.effect is effect)
    body = list(kernel.body)
    body[last] = change(body[last])
    return replace(kernel, body=tuple(body))


def test_wrong_addresses_and_guards_are_noticed():
    emitter, thread, pointer = small()
    emitter.store(pointer, thread.part, flag=emitter.within(thread, 20))
    kernel = emitter.finish()
    assert list(run(kernel)[:22]) == [*range(20), 0, 0]
    shifted = altered(
        kernel, Effect.STORE, lambda op: replace(op, access=replace(op.access, address=op.access.address + 4))
    )
    with pytest.raises(ResultError, match="closed form of an address"):
        run(shifted)
    loose = altered(kernel, Effect.STORE, lambda op: replace(op, guards=(replace(op.guards[0], high=21),)))
    with pytest.raises(ResultError, match="predicate and guards differ"):
        run(loose)
    outside = altered(
        kernel,
        Effect.WIDE,
        lambda op: replace(op, numbers=(op.numbers[0], op.numbers[1] + OUT.bytes)),
    )
    with pytest.raises(ResultError, match="closed form"):
        run(outside)


def test_division_by_a_constant_is_exact():
    for divisor in (1, 2, 3, 7, 56, 112, 147, 224, 12_544):
        emitter, thread, pointer = small(1024)
        value = emitter.multiply_add(thread, 2_097_100, 77)
        quotient = emitter.divide(value, divisor)
        emitter.store(pointer, emitter.remainder(value, divisor, quotient).part)
        expected = (np.arange(1024) * 2_097_100 + 77) % divisor
        np.testing.assert_array_equal(run(emitter.finish()), expected)


def test_shuffles_sum_a_warp():
    emitter, thread, pointer = small()
    total = emitter.add(thread, 0).part
    for distance in (16, 8, 4, 2, 1):
        emitter.increase(total, emitter.shuffle_xor(total, distance))
    emitter.store(pointer, total)
    assert set(run(emitter.finish())[:32]) == {31 * 32 // 2}


def test_atomics_add_in_shared_and_global_memory():
    emitter, thread, _ = small(64)
    bin_of = emitter.remainder(thread, 4)
    place = emitter.multiply_add(bin_of, 4)
    zero = emitter.constant(0)
    emitter.store(place, zero)
    emitter.barrier()
    one = emitter.constant(int(np.float32(1.0).view(np.uint32)))
    emitter.atomic_add(place, one)
    emitter.barrier()
    count = emitter.load(place, 1)
    target = emitter.pointer(OUT.base_address, bin_of, 4)
    emitter.atomic_add(target, count)
    got = run(emitter.finish(shared_bytes=16)).view(np.float32)[:4]
    # Sixteen threads a bin count 16 each, and add that sixteen times.
    np.testing.assert_array_equal(got, [256.0] * 4)


def test_matrix_fragments_are_a_matrix_product():
    rng = np.random.default_rng(2)
    left = rng.standard_normal((16, 16)).astype(np.float16)
    right = rng.standard_normal((16, 8)).astype(np.float16)
    # Matrix loads of the rows of A, and of the columns of B, give the fragments.
    rows = np.zeros((1, 32, 4), np.uint32)
    columns = np.zeros((1, 32, 4), np.uint32)
    for lane in range(32):
        row, half = lane % 16, lane // 16
        rows[0, lane] = left[row, 8 * half : 8 * half + 8].view(np.uint32)
        column, half = lane % 8, lane // 8 % 2
        columns[0, lane] = np.ascontiguousarray(right[8 * half : 8 * half + 8, column]).view(np.uint32)
    zero = [np.zeros((1, 32), np.uint32)] * 4
    made = matrix.product_16816(matrix.load_matrix(rows), matrix.load_matrix(columns)[:2], zero)
    got = np.zeros((16, 8), np.float32)
    for lane in range(32):
        for word in range(4):
            got[lane // 4 + 8 * (word // 2), 2 * (lane % 4) + word % 2] = made[word].view(np.float32)[0, lane]
    np.testing.assert_allclose(got, left.astype(np.float32) @ right.astype(np.float32), rtol=1e-5, atol=1e-5)
