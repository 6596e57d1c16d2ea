"""Liveness and allocation: on random programs no two live values share a register, groups are aligned, and
values survive any cap; by hand on a loop.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.allocate import LEAST_CAP, allocate
from simulator.workload.emit import Emitter
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.ir import Effect, Special, walk
from simulator.workload.liveness import analyse, bits
from simulator.workload.lower import trace_of

OUT = TensorInfo("out", 1 << 20, 1 << 36, "output")


def random_program(draw, size: int, unset_depth: int = 2):
    """Adds, packs into groups, predicated copies, nested loops; every value in the end goes to memory."""
    emitter = Emitter("random", (1, 1, 1), 32)
    thread = emitter.special(Special.THREAD)
    pointer = emitter.pointer(OUT.base_address, thread, 16)
    groups = [
        emitter.constant(index + 1, f"g{index}", draw(st.sampled_from([1, 2, 4]))) for index in range(size)
    ]

    def words():
        group = draw(st.sampled_from(groups))
        return group[draw(st.integers(0, group.words - 1))]

    def block(depth: int, count: int) -> None:
        for _ in range(count):
            kind = draw(st.integers(0, 6))
            if kind == 6 and depth <= unset_depth:
                # Words that are first written under a predicate.
                unset = emitter.fresh(draw(st.sampled_from([1, 2, 4])), "unset")
                flag = emitter.within(thread, draw(st.integers(0, 32)))
                for word in range(unset.words):
                    emitter.op(Operation.ALU, Effect.ADD, (unset[word],), (thread.part,), (word,), flag)
                for word in range(unset.words):
                    target = words()
                    emitter.op(Operation.ALU, Effect.ADD, (target,), (target, unset[word]), (0,), flag)
            elif kind == 0 and depth < 2:
                with emitter.repeat(draw(st.integers(1, 3))):
                    block(depth + 1, draw(st.integers(1, 4)))
            elif kind == 1:
                flag = emitter.within(thread, draw(st.integers(0, 32)))
                emitter.op(
                    Operation.ALU, Effect.ADD, (words(),), (words(),), (draw(st.integers(-9, 9)),), flag
                )
            elif kind == 2:
                groups.append(
                    emitter.constant(draw(st.integers(0, 99)), "late", draw(st.sampled_from([1, 2, 4])))
                )
            else:
                emitter.op(
                    Operation.ALU, Effect.ADD, (words(),), (words(), words()), (draw(st.integers(-9, 9)),)
                )

    block(0, draw(st.integers(4, 14)))
    tensor = emitter.tensor(OUT)
    for index, group in enumerate(groups):
        for word in range(group.words):
            emitter.store(pointer, group[word], 512 * (4 * index + word), tensor=tensor)
    return emitter.finish()


def result_of(allocation):
    memory = GlobalMemory()
    memory.place("out", OUT.base_address, np.zeros(OUT.bytes, np.uint8))
    interpret(allocation, memory)
    return memory.content("out")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_two_live_values_share_and_no_cap_changes_a_value(data):
    kernel = random_program(data.draw, data.draw(st.integers(3, 14)))
    free = allocate(kernel)
    expected = result_of(free)
    for allocation in (free, allocate(kernel, data.draw(st.integers(LEAST_CAP, 48)))):
        live = allocation.liveness
        for place in range(len(live.ops)):
            owner = {}
            for number, virtual in live.virtuals.items():
                if virtual.predicate:
                    continue
                base = allocation.places[number]
                assert base % virtual.words == 0
                for word in range(virtual.words):
                    if live.after[place] >> (4 * number + word) & 1:
                        assert owner.setdefault(base + word, number) == number
                        assert base + word != 1
        np.testing.assert_array_equal(result_of(allocation), expected)
    trace_of(free)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_spilled_word_is_stored_before_it_is_reloaded(data):
    """On the path that takes every loop once. A predicated first write inside a loop is left out: its
    first turn keeps an old value that nobody wrote.
    """
    kernel = random_program(data.draw, data.draw(st.integers(8, 16)), unset_depth=0)
    allocation = allocate(kernel, LEAST_CAP)
    stored = set()
    for _, op in walk(allocation.kernel.body):
        if op.operation is Operation.STL:
            stored.add(op.access.offset)
        elif op.operation is Operation.LDL:
            assert op.access.offset in stored
            assert op.access.offset + 4 <= allocation.spill_bytes_per_thread
    assert allocation.registers_per_thread <= LEAST_CAP


def test_what_the_next_turn_needs_lives_through_the_loop():
    emitter = Emitter("loop", (1, 1, 1), 32)
    total = emitter.constant(0, "total")
    fixed = emitter.constant(7, "fixed")
    with emitter.repeat(3):
        fresh = emitter.constant(1, "fresh")
        emitter.increase(total, fixed)
        emitter.increase(total, fresh)
    live = analyse(emitter.finish().body)
    last = max(place for place, op in enumerate(live.ops) if op.operation is Operation.BRANCH)
    assert live.after[last] & bits(fixed)
    assert live.after[last] & bits(total)
    assert not live.after[last] & bits(fresh)
    spans = {interval.virtual.name: interval for interval in live.intervals()}
    assert spans["fixed"].end == 2 * last + 1
    assert spans["fresh"].end < 2 * last


def test_a_predicated_first_write_has_no_old_value():
    """Else every tail load after a loop would hold a register through it."""
    emitter = Emitter("tail", (1, 1, 1), 32)
    thread = emitter.special(Special.THREAD)
    pointer = emitter.pointer(OUT.base_address, thread, 4)
    with emitter.repeat(2):
        emitter.constant(1, "busy")
    flag = emitter.within(thread, 20)
    late = emitter.load(pointer, 1, flag=flag, name="late")
    emitter.store(pointer, late, flag=flag)
    live = analyse(emitter.finish().body)
    loop_end = next(place for place, op in enumerate(live.ops) if op.operation is Operation.BRANCH)
    assert not live.after[loop_end] & bits(late)
    spans = {interval.virtual.name: interval for interval in live.intervals()}
    assert spans["late"].start > 2 * loop_end


def test_pressure_counts_live_words():
    emitter = Emitter("p", (1, 1, 1), 32)
    quad = emitter.constant(0, "quad", 4)
    one = emitter.constant(0, "one")
    emitter.increase(one, quad[3])
    live = analyse(emitter.finish().body)
    # Only the last word of the quad is ever read, so only it counts.
    assert live.pressure() == [0, 1, 2, 0, 0]
    assert live.peak()[0] == 2


@pytest.mark.parametrize("cap", [0, 23, 256])
def test_caps_out_of_range_are_refused(cap):
    kernel = Emitter("k", (1, 1, 1), 32).finish()
    with pytest.raises(InputError, match=r"registers\.cap"):
        allocate(kernel, cap)


def test_seven_predicates_are_all_there_are():
    emitter = Emitter("k", (1, 1, 1), 32)
    thread = emitter.special(Special.THREAD)
    flags = [emitter.within(thread, limit) for limit in range(1, 9)]
    value = emitter.constant(0)
    for flag in flags:
        emitter.op(Operation.ALU, Effect.ADD, (value,), (value,), (1,), flag)
    with pytest.raises(InputError, match="seven predicates"):
        allocate(emitter.finish())
