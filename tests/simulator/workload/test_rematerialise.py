"""Cheap values under a cap: computed again before anything is spilled, with the values of the uncapped
program; what changes in between is no cheap value.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.allocate import LEAST_CAP, allocate
from simulator.workload.emit import Emitter
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.ir import Effect, Special, walk
from simulator.workload.liveness import analyse
from simulator.workload.rematerialise import recipes

OUT = TensorInfo("out", 1 << 20, 1 << 36, "output")


def result_of(allocation):
    memory = GlobalMemory()
    memory.place("out", OUT.base_address, np.zeros(OUT.bytes, np.uint8))
    interpret(allocation, memory)
    return memory.content("out")


def started():
    emitter = Emitter("cheap", (1, 1, 1), 32)
    thread = emitter.special(Special.THREAD)
    return emitter, thread, emitter.pointer(OUT.base_address, thread, 4)


def cheap_names(kernel):
    live = analyse(kernel.body)
    intervals = {one.virtual.number: one for one in live.intervals()}
    return {live.virtuals[number].name for number in recipes(live, intervals, set())}


def operations(allocation, *wanted):
    return sum(op.operation in wanted for _, op in walk(allocation.kernel.body))


def test_constants_and_their_sums_are_never_spilled():
    """Forty values of a word each, all live at once, in 24 registers: none needs local memory."""
    emitter, thread, pointer = started()
    values = [emitter.constant(7 * one, f"c{one}") for one in range(20)]
    for one in range(20):
        part = emitter.fresh(1, f"s{one}")
        emitter.op(Operation.ALU, Effect.ADD, (part,), (thread.part,), (one,))
        values.append(part)
    for place, value in enumerate(values):
        emitter.store(pointer, value, 128 * place, tensor=emitter.tensor(OUT))
    kernel = emitter.finish()
    free, capped = allocate(kernel), allocate(kernel, LEAST_CAP)
    assert free.registers_per_thread > 40
    assert free.recomputed_names == ()
    assert capped.registers_per_thread <= LEAST_CAP
    assert capped.spill_bytes_per_thread == 0
    assert capped.recomputed_names
    assert operations(capped, Operation.LDL, Operation.STL) == 0
    # Each value has one use, so computing it there costs no operation but a second S2R for what came from it.
    assert operations(capped, Operation.MOVE) == operations(free, Operation.MOVE)
    np.testing.assert_array_equal(result_of(capped), result_of(free))


def test_what_is_dear_is_spilled_only_after_what_is_cheap():
    emitter, _, pointer = started()
    fixed = [emitter.constant(one, f"cheap{one}") for one in range(10)]
    loaded = [emitter.load(pointer, 1, 128 * one, name=f"dear{one}") for one in range(20)]
    for place, value in enumerate([*loaded, *fixed]):
        emitter.store(pointer, value, 128 * (32 + place), tensor=emitter.tensor(OUT))
    allocation = allocate(emitter.finish(), LEAST_CAP)
    assert set(allocation.recomputed_names) == {f"cheap{one}" for one in range(10)}
    assert allocation.spilled_names
    assert all(name.startswith("dear") for name in allocation.spilled_names)


def changed(emitter, thread, part):
    emitter.increase(part, 1)


def under_a_predicate(emitter, thread, part):
    flag = emitter.within(thread, 3)
    emitter.op(Operation.MOVE, Effect.CONSTANT, (part,), (), (5,), flag)


def set_anew(emitter, thread, part):
    emitter.refill(part, 6)


@pytest.mark.parametrize("change", [changed, under_a_predicate, set_anew])
def test_a_register_that_changes_is_not_cheap(change):
    emitter, thread, pointer = started()
    emitter.store(pointer, emitter.constant(1, "still"))
    part = emitter.constant(5, "moving")
    emitter.store(pointer, part)
    change(emitter, thread, part)
    emitter.store(pointer, part)
    names = cheap_names(emitter.finish())
    assert "still" in names
    assert "moving" not in names


def test_a_sum_is_cheap_only_while_its_source_stays():
    emitter, _, pointer = started()
    for name, stays in (("short", False), ("long", True)):
        source = emitter.load(pointer, 1, name=f"{name} source")
        total = emitter.fresh(1, name)
        emitter.op(Operation.ALU, Effect.ADD, (total,), (source,), (4,))
        emitter.store(pointer, total, 128)
        if stays:
            emitter.store(pointer, source, 256)
    names = cheap_names(emitter.finish())
    assert "long" in names
    assert "short" not in names


def test_a_sum_of_a_register_that_changes_is_not_cheap():
    """Nor is one that the next turn of a loop reads before it is made."""
    emitter, _, pointer = started()
    with emitter.repeat(3) as turn:
        total = emitter.fresh(1, "of the turn")
        emitter.op(Operation.ALU, Effect.ADD, (total,), (turn.part,), (4,))
        emitter.store(pointer, total)
    assert "of the turn" not in cheap_names(emitter.finish())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_cap_changes_a_value_of_a_program_full_of_cheap_ones(data):
    """Constants, copies and sums, of each other and of loaded values, read in and after loops."""
    draw = data.draw
    emitter, thread, pointer = started()
    values = [emitter.constant(0, "zero"), thread.part]
    accumulators = [emitter.constant(one, "sum") for one in range(draw(st.integers(1, 4)))]

    def block(depth):
        for _ in range(draw(st.integers(3, 9))):
            kind = draw(st.integers(0, 5))
            if kind == 0 and depth < 2:
                with emitter.repeat(draw(st.integers(1, 3))) as turn:
                    values.append(turn.part)
                    block(depth + 1)
            elif kind == 1:
                values.append(emitter.constant(draw(st.integers(-9, 9)), "fixed"))
            elif kind == 2:
                values.append(emitter.load(pointer, 1, 128 * draw(st.integers(0, 3)), name="loaded"))
            elif kind == 3:
                source = draw(st.sampled_from([*values, *accumulators]))
                made = emitter.fresh(1, "made")
                emitter.op(Operation.ALU, Effect.ADD, (made,), (source,), (draw(st.integers(-9, 9)),))
                values.append(made)
            else:
                target = draw(st.sampled_from(accumulators))
                emitter.increase(target, draw(st.sampled_from(values)))

    for _ in range(draw(st.integers(2, 4))):
        block(0)
    for place, value in enumerate([*values, *accumulators]):
        emitter.store(pointer, value, 128 * (4 + place), tensor=emitter.tensor(OUT))
    kernel = emitter.finish()
    capped = allocate(kernel, LEAST_CAP)
    assert capped.registers_per_thread <= LEAST_CAP
    np.testing.assert_array_equal(result_of(capped), result_of(allocate(kernel)))
