"""The two builders: what they add by themselves, their docstrings' examples, memory, errors."""

import doctest
import itertools
import tracemalloc

import pytest

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace import builder, recording_builder
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.check import check
from simulator.trace.expand import expand, recorded
from simulator.trace.expression import Expression, block, thread, warp
from simulator.trace.info import info
from simulator.trace.recording import encode
from simulator.trace.recording_builder import RecordingBuilder
from simulator.trace.schema import FULL_MASK, Instruction, Loop


def test_the_examples_in_the_docstrings_run() -> None:
    names = {"block": block, "thread": thread, "Instruction": Instruction, "Operation": Operation}
    for module, kind in ((builder, "KernelBuilder"), (recording_builder, "RecordingBuilder")):
        example = doctest.DocTestParser().get_examples(getattr(module, kind).__doc__)
        scope = {**vars(module), **names}
        exec("".join(one.source for one in example), scope)
        check(scope["trace"], full=True)
        assert info(scope["trace"])["warp_instructions"] > 0


def test_registers_barriers_operators_and_tensors_are_counted() -> None:
    memory = GlobalMemory()
    x, y = memory.tensor("x", 1000, "input"), memory.tensor("y", 1000, "output")
    assert (y.base_address - x.base_address, x.base_address % 512) == (1024, 0)
    k = KernelBuilder("k", grid=1, block=32)
    with k.operator("Relu"):
        k.load(10, k.at(x, thread * 16), 16, via=4, tensor=x)
        k.alu(9, 10, 255)
        k.store(9, k.at(y, thread * 4), via=6, tensor=y)
    k.alu(2, 9)
    k.barrier(2)
    trace = k.build()
    load, relu, store, plain, barrier, end = trace.flat().instructions
    assert (load.dst, load.src, load.dst_tensor, load.operator) == ((10, 11, 12, 13), (4, 5), 0, 0)
    assert (relu.src_tensors, store.src, store.dst_tensor) == ((0, -1), (6, 7, 9), 1)
    assert (plain.operator, plain.src_tensors, barrier.count, trace.barriers) == (-1, (), 2, 3)
    assert (trace.registers_per_thread, end.operation, trace.operators) == (14, Operation.EXIT, ("Relu",))


def test_loops_end_with_their_branch_and_conditions_do_not() -> None:
    k = KernelBuilder("k", grid=2, block=64)
    with k.loop(4):
        k.alu(2, 2)
        with k.when(1 - warp):
            k.alu(3, 3)
    program = k.build().program
    assert program is not None
    outer = program.body[0]
    assert isinstance(outer, Loop)
    assert isinstance(outer.body[1], Loop)
    assert [one.operation for one in outer.body[1].body if isinstance(one, Instruction)] == [Operation.ALU]
    assert isinstance(outer.body[2], Instruction)
    assert outer.body[2].operation is Operation.BRANCH
    with pytest.raises(InputError, match="nest deeper than 8"):
        nest(KernelBuilder("deep", 1, 32), 9)


def nest(k: KernelBuilder, levels: int) -> None:
    if levels:
        with k.loop(1):
            nest(k, levels - 1)


def test_expanding_takes_constant_memory() -> None:
    k = KernelBuilder("long", grid=1 << 20, block=128)
    with k.loop(100) as turn:
        k.load(2, Expression(1 << 32) + block * 4096 + thread * 4 + turn * 512)
    trace = k.build()
    steps = expand(trace)
    next(steps)
    tracemalloc.start()
    for _ in itertools.islice(steps, 50_000):
        continue
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize(
    ("addresses", "mask", "kind"),
    [
        ([100 + 4 * lane for lane in range(32)], FULL_MASK, "stride"),
        ([100] * 32, FULL_MASK, "stride"),
        ([10**9 if lane < 4 else 4 * lane for lane in range(32)], 0xFFFFFFF0, "stride"),
        ([4 * lane * lane for lane in range(32)], FULL_MASK, "delta"),
        ([(1 << 40) * (lane % 2) for lane in range(32)], FULL_MASK, "list"),
        ([7] * 32, 0, "stride"),
    ],
)
def test_encodings_are_chosen_by_the_addresses(addresses: list[int], mask: int, kind: str) -> None:
    base, chosen, pattern = encode(addresses, mask)
    assert chosen == kind
    offsets = [pattern[0] * lane for lane in range(32)] if kind == "stride" else pattern
    assert all(base + offsets[lane] == addresses[lane] for lane in range(32) if mask >> lane & 1)


def test_a_recording_must_be_whole() -> None:
    def start() -> tuple[RecordingBuilder, int]:
        made = RecordingBuilder("r", grid=2, block=64, registers_per_thread=8)
        return made, made.instruction(Instruction(Operation.EXIT))

    made, end = start()
    made.warp(0, 0)
    made.issue(end)
    with pytest.raises(InputError, match=r"block 0: warp 1 is missing"):
        made.warp(1, 0)
    made, end = start()
    for warp_index in (1, 0):
        made.warp(1, warp_index)
        made.issue(end)
    with pytest.raises(InputError, match="1 of 2 blocks are recorded"):
        made.build()
    with pytest.raises(InputError, match="block 1: begun twice"):
        made.warp(1, 0)
    with pytest.raises(InputError, match="block 2: outside the grid of 2 blocks"):
        made.warp(2, 0)
    with pytest.raises(InputError, match="warp 2: outside the block of 2 warps"):
        made.warp(0, 2)
    load = made.instruction(Instruction(Operation.LDG, (2,), (4,), bytes_per_lane=4))
    assert made.instruction(Instruction(Operation.LDG, (2,), (4,), bytes_per_lane=4)) == load
    made.warp(0, 1)
    with pytest.raises(InputError, match="warp 1: recorded twice"):
        made.warp(0, 1)
    with pytest.raises(InputError, match="0 lists of addresses given; give 1, of 32 lanes each"):
        made.issue(load)


def test_blocks_may_be_recorded_in_any_order_over_several_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_builder, "PAGE_INSTRUCTIONS", 3)
    k = KernelBuilder("k", grid=7, block=40)
    k.load(2, Expression(1 << 20) + block * 256 + thread * 4)
    trace = recorded(k.build())
    assert trace.recording is not None
    assert len(trace.recording.pages) == 7
    made = RecordingBuilder("k", 7, 40, trace.registers_per_thread)
    load, end = (made.instruction(one) for one in trace.recording.instructions)
    whole = list(expand(trace))
    for number in (3, 6, 0, 5, 1, 2, 4):
        for one in (item for item in whole if item.block == number):
            if one.static == 0:
                made.warp(number, one.warp)
            made.issue((load, end)[one.static], one.mask, one.addresses)
    again = made.build()
    check(again, full=True)
    assert list(expand(again)) == whole
