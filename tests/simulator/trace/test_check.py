"""Each kind of bad trace is refused in one line that names the place; good ones pass."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.check import check
from simulator.trace.check_walk import spread
from simulator.trace.expand import expand, recorded
from simulator.trace.expression import Expression, Term, Variable, block, lane, thread, warp
from simulator.trace.schema import Guard, Instruction, KernelTrace, Loop, Program, TensorInfo


def kernel(*body: Any, **header: Any) -> KernelTrace:
    fields = {"grid": (2, 1, 1), "block": (64, 1, 1), "registers_per_thread": 32, "barriers": 1} | header
    return KernelTrace("k", program=Program((*body, Instruction(Operation.EXIT))), **fields)


def load(address: Any, **fields: Any) -> Instruction:
    return Instruction(Operation.LDG, (2,), (4, 5), address=address, **{"bytes_per_lane": 4, **fields})


ALU = Instruction(Operation.ALU, (2,), (2,))
SYNC = Instruction(Operation.BARRIER)
PLAIN = Expression(1 << 20)
BAD: list[tuple[KernelTrace, str]] = [
    (kernel(ALU, registers_per_thread=2), "register 2 is beyond the 2 registers"),
    (kernel(Instruction(Operation.ALU, (263,))), "register 263 does not exist"),
    (kernel(Instruction(Operation.ALU, (-1,))), "register -1 does not exist"),
    (kernel(replace(ALU, mask=1 << 32)), "mask 4294967296 is not 32 bits"),
    (kernel(replace(ALU, operator=0)), "operator 0 is not one of the 0"),
    (kernel(replace(ALU, dst_tensor=3)), "tensor 3 is not one of the 0"),
    (kernel(replace(ALU, src_tensors=(-1, -1))), "2 source tensors for 1 sources"),
    (kernel(replace(ALU, latency=-4)), "a latency of -4 cycles"),
    (kernel(replace(SYNC, count=1)), "barrier 1 is not one of the 1"),
    (kernel(replace(ALU, address=PLAIN)), "has an address but accesses no memory"),
    (kernel(load(None)), "has no address"),
    (kernel(load(PLAIN, cache="cz")), "unknown cache operator 'cz'"),
    (kernel(load(PLAIN, bytes_per_lane=3)), "accesses 3 bytes a lane"),
    (kernel(load(PLAIN, shared_address=PLAIN)), "has a shared address"),
    (kernel(Instruction(Operation.LDGSTS, address=PLAIN, bytes_per_lane=4)), "has no shared address"),
    (
        kernel(Instruction(Operation.LDL, (2,), address=lane * 4, bytes_per_lane=4)),
        "local address depends on the lane",
    ),
    (kernel(load(Expression(0, (Term(1, ((Variable.LOOP0, 4),)),)))), "uses LOOP0 outside of that loop"),
    (kernel(load(Expression(0, (Term(1, (), divisor=0),)))), "divides by 0"),
    (kernel(load(Expression(1 << 61))), "beyond 60 bits"),
    (kernel(load(PLAIN + block * (1 << 59) * 15)), "may leave 62 bits|beyond 60 bits"),
    (kernel(load(PLAIN, guards=(Guard(PLAIN, 0, 1 << 61),))), "guard's bound is beyond 60 bits"),
    (kernel(load(Expression((1 << 48) - 4) + block * 4)), "outside the 48-bit address space"),
    (kernel(load(Expression(1 << 48))), r"address 281474976710656 is outside the 48-bit"),
    (kernel(load(thread * 4 - 4)), "address -4 is outside"),
    (kernel(load(PLAIN + thread * 4 + 2)), "not a multiple of the 4 bytes"),
    (kernel(load(PLAIN + (thread // 3) * 2)), "not a multiple of the 4 bytes"),
    (
        kernel(Instruction(Operation.LDS, (2,), (3,), address=thread * 4, bytes_per_lane=4)),
        "shared memory of the block",
    ),
    (
        kernel(Instruction(Operation.STL, (), (3,), address=Expression(8), bytes_per_lane=4)),
        "local memory of the thread",
    ),
    (kernel(Loop(Expression(1 << 62), (ALU,))), "may leave 62 bits|beyond 60 bits|up to"),
    (kernel(Loop(Expression(1 << 59), (ALU,))), r"loop at instruction 0, depth 0: up to \d+ turns"),
    (kernel(Loop(Expression(1 << 20), (Loop(Expression(1 << 20), (ALU,)),))), "depth 1: up to 1048576 turns"),
    (kernel(Loop(Expression(1 << 59), (Loop(Expression(0), (ALU,)),))), "up to"),
    (kernel(Loop(lane, (ALU,))), "the trip count depends on the lane"),
    (kernel(Loop(Expression(1), ())), "the loop is empty"),
    (kernel(Loop(warp, (SYNC,))), "warp 0 passes barrier 0 0 times, warp 1 1"),
    (
        kernel(replace(SYNC), Loop(1 - warp, (Instruction(Operation.EXIT),)), SYNC),
        "warp 0 passes barrier 0 1 times",
    ),
    (kernel(block=(2048, 1, 1)), r"block \(2048, 1, 1\)"),
    (kernel(block=(512, 4, 1)), "2048 threads a block; 1024 fewer: 1024 at most"),
    (kernel(grid=(0, 1, 1)), "grid"),
    (kernel(grid=(1, 70000, 1)), "grid"),
    (kernel(registers_per_thread=256), "registers_per_thread is 256"),
    (kernel(shared_bytes_per_block=-1), "shared_bytes_per_block is -1"),
    (kernel(stream=-1), "stream is -1"),
    (kernel(tensors=(TensorInfo("x", 10, 0, "spare"),)), "kind 'spare'"),
    (kernel(tensors=(TensorInfo("x", 1 << 48, 1),)), "keep it within 48 bits"),
    (kernel(form="recorded"), "form 'recorded' without its content"),
    (replace(kernel(), program=None), "form 'generated' without its content"),
    (replace(kernel(), program=Program(())), "0 static instructions"),
    (replace(kernel(), program=Program((ALU,))), "every warp reaches the end without EXIT"),
    (
        replace(kernel(), program=Program((Instruction(Operation.EXIT, mask=0xFFFF), ALU))),
        "lane 16 of warp 0 of block 0 reaches the end without EXIT",
    ),
]


@pytest.mark.parametrize(("trace", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_traces_are_refused_in_one_line(trace: KernelTrace, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        check(trace)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("kernel ")


def test_loops_nested_too_deep_are_refused_even_by_the_thousand() -> None:
    body: Any = (ALU,)
    for _ in range(900):
        body = (Loop(Expression(1), body),)
    with pytest.raises(InputError, match="loops nest deeper than 8"):
        check(kernel(*body))


def test_two_exits_that_cover_all_lanes_together_pass() -> None:
    check(kernel(Instruction(Operation.EXIT, mask=0xFFFF), ALU, replace(ALU, mask=0xFFFF0000)))


def test_an_address_behind_a_guard_is_judged_by_its_active_lanes() -> None:
    guarded = load(thread * 4 - 8, guards=(Guard(thread, 2, 64),))
    assert check(kernel(guarded)).complete
    with pytest.raises(InputError, match="lane 1: address -4 is outside"):
        check(kernel(replace(guarded, guards=(Guard(thread, 1, 64),))))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_passes_in_generated_form_passes_as_a_recording(data: Any, random_traces: Any) -> None:
    trace = replace(data.draw(random_traces), shared_bytes_per_block=1 << 20)
    if sum(1 for _ in itertools.islice(expand(trace), 2000)) == 2000:
        return
    verdicts = []
    for form in (trace, recorded(trace)):
        try:
            check(form, full=True)
            verdicts.append("")
        except InputError as error:
            verdicts.append(error.problem)
    assert bool(verdicts[0]) == bool(verdicts[1]), verdicts


def good() -> KernelTrace:
    memory = GlobalMemory()
    x = memory.tensor("x", 1 << 16, "input")
    k = KernelBuilder("good", grid=4, block=70, shared_bytes_per_block=1024)
    with k.loop(3) as turn:
        k.load(2, k.at(x, block * 4096 + thread * 4 + turn * 512), tensor=x)
        k.store_shared(2, (thread * 3 % 64) * 4)
        k.barrier()
        k.load_shared(3, thread * 4)
    return k.build()


def test_a_good_recording_passes_and_damage_to_it_is_found() -> None:
    trace = recorded(good())
    check(trace, full=True)
    recording = trace.recording
    assert recording is not None
    page = recording.pages[0]
    for damage in (
        {"bases": page.bases + 1},
        {"bases": page.bases + (1 << 48)},
        {"bases": page.bases * 0 + (1 << 62)},
        {"variants": page.variants + 1},
        {"variants": np.roll(page.variants, 1)},
        {"pattern_ids": page.pattern_ids + 100},
        {"access_starts": page.access_starts + 1},
        {"instruction_starts": page.instruction_starts[:-1]},
        {"blocks": page.blocks + 1},
    ):
        with pytest.raises(InputError, match=r"^kernel 'good'"):
            check(replace(trace, recording=replace(recording, pages=(replace(page, **damage),))))
    for table in (
        {"variant_masks": recording.variant_masks & np.uint32(0xFF)},
        {"variant_masks": recording.variant_masks | np.uint32(0xFFFFFFFF)},
        {"strides": recording.strides + (1 << 58)},
        {"pages": ()},
    ):
        with pytest.raises(InputError, match=r"^kernel 'good'"):
            check(replace(trace, recording=replace(recording, **table)))


def test_spread_visits_each_block_once_and_the_ends_first() -> None:
    for count in (1, 2, 3, 7, 64, 100):
        order = list(spread(count))
        assert sorted(order) == list(range(count))
        assert order[:2] == [count - 1, 0][:count]
