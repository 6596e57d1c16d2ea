"""Random small kernels that exercise every way through the machine, valid for the card that they are made
for.

Loops and guards, divergent and empty masks, lanes that were never launched, accesses of 1 to 16 bytes with
regular, scattered and conflicting addresses in every space, spills, atomics, reductions, asynchronous copies
with groups, fences, barriers that all warps of a block reach or only the first ones, early exits, one to
three kernels on one or two streams, in the generated and in the recorded form. A kernel has at most some
hundred warp instructions.
"""

from dataclasses import replace

from hypothesis import strategies as st

from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.occupancy import occupancy
from hwmodels.operations import Operation, is_tensor
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.check import check
from simulator.trace.expand import recorded
from simulator.trace.expression import Expression, block, expression, loop, thread, warp
from simulator.trace.schema import FULL_MASK, RZ, KernelTrace, TensorInfo
from simulator.trace.tally import tally
from tests.machines.dice import Dice, DrawnDice, SeededDice

MASKS = (FULL_MASK, FULL_MASK, FULL_MASK, 0x0000FFFF, 0x80000001, 0x00F0F000, 0)
TENSOR_BYTES = 1 << 16
SHARED_BYTES = 2048
LOCAL_BYTES = 512
REGISTERS = 24
MOST_WARP_INSTRUCTIONS = 500
MATH = (
    Operation.FFMA,
    Operation.ALU,
    Operation.IMAD,
    Operation.HFMA2,
    Operation.DFMA,
    Operation.MUFU,
    Operation.POPC,
    Operation.PREDICATE,
    Operation.SHUFFLE,
    Operation.LDC,
    Operation.OPAQUE,
    Operation.NOP,
)
MEMORY = (
    Operation.LDG,
    Operation.STG,
    Operation.LDG,
    Operation.STG,
    Operation.ATOMG,
    Operation.REDG,
    Operation.LDL,
    Operation.STL,
    Operation.LDS,
    Operation.STS,
    Operation.ATOMS,
    Operation.LD,
    Operation.LDGSTS,
    Operation.LDSM,
)
ATOMIC = (Operation.ATOMG, Operation.REDG, Operation.ATOMS)
SHARED = (Operation.LDS, Operation.STS, Operation.ATOMS, Operation.LDSM)
LOCAL = (Operation.LDL, Operation.STL)
NO_RESULT = (Operation.STG, Operation.REDG, Operation.STL, Operation.STS, Operation.LDGSTS, Operation.NOP)


class Writer:
    """Writes the program of one kernel."""

    def __init__(self, dice: Dice, gpu: Gpu, builder: KernelBuilder, tensors: list[TensorInfo]) -> None:
        self.dice, self.gpu, self.k, self.tensors = dice, gpu, builder, tensors
        self.tensor_operations = [operation for operation in gpu.operations if is_tensor(operation)]
        self.copies_open = False

    def body(self, items: int, barriers: bool) -> None:
        """Some instructions, loops, guarded stretches and barriers."""
        for _ in range(items):
            kind = self.dice.number(0, 11)
            if kind <= 3:
                self._math()
            elif kind <= 8:
                self._memory()
            elif kind == 9 and self.k.depth < 2:
                self._loop(barriers)
            elif kind == 10 and barriers:
                self.k.barrier(self.dice.number(0, self.k.header.barriers - 1))
            else:
                self._rare()

    def _loop(self, barriers: bool) -> None:
        """A loop; one whose turns differ between the warps of a block holds no barrier."""
        differs = self.dice.choice((False, False, True))
        trips = (warp % 3) if differs else self.dice.choice((expression(2), expression(0), block % 2 + 1))
        with self.k.loop(trips):
            self.body(self.dice.number(1, 3), barriers and not differs)

    def _rare(self) -> None:
        kind = self.dice.number(0, 2)
        if kind == 0:
            self.k.emit(Operation.MEMBAR)
        elif kind == 1 and Operation.ASYNC_WAIT in self.gpu.operations:
            self.k.async_commit()
            self.k.async_wait(self.dice.number(0, 2))
        elif self.tensor_operations:
            a, b, c = (4 * self.dice.number(0, 5) for _ in range(3))
            operation = self.dice.choice(self.tensor_operations)
            self.k.emit(operation, range(a, a + 4), (*range(a, a + 4), b, b + 1, c))

    def _register(self) -> int:
        return self.dice.number(0, REGISTERS - 4)

    def _math(self) -> None:
        operation = self.dice.choice(MATH)
        fields = {"latency": self.dice.number(1, 60)} if operation is Operation.OPAQUE else {}
        if operation is Operation.LDC:
            fields["bytes_per_lane"] = 4
        mask = self.dice.choice(MASKS)
        sources = tuple(self._register() for _ in range(self.dice.number(0, 3)))
        result: int | tuple[int, ...] = self._register()
        if operation is Operation.NOP:
            result, sources = (), ()
        self.k.emit(operation, result, sources, mask=mask, **fields)

    def _memory(self) -> None:
        dice, k = self.dice, self.k
        operation = dice.choice(MEMORY)
        if operation not in self.gpu.operations:
            operation = Operation.LDG
        width = dice.choice((4, 4, 16, 8, 1, 2))
        if operation in ATOMIC:
            width = 4
        elif operation in (Operation.LDGSTS, Operation.LDSM) or operation in LOCAL:
            width = dice.choice((4, 8, 16))
        registers = max(1, width // 4)
        first = dice.number(0, REGISTERS - registers)
        vector = tuple(range(first, first + registers))
        result = () if operation in NO_RESULT else vector
        tensor = dice.choice(self.tensors)
        fields = {"address": self._address(operation, width, tensor), "bytes_per_lane": width}
        if operation not in LOCAL and operation not in SHARED:
            fields["tensor"] = tensor
        if operation is Operation.LDGSTS:
            fields["shared_address"] = self._address(Operation.STS, width, tensor)
        if operation in (Operation.LDG, Operation.LDGSTS):
            fields["cache"] = dice.choice(("ca", "ca", "cg"))
        sources = (self._register(), *(vector if operation in NO_RESULT else ()))
        mask = dice.choice(MASKS)
        # Sometimes twice: the second, which waits for nothing, finds the sectors of the first on their way.
        for again in range(dice.choice((1, 1, 1, 2))):
            if again and result:
                result, sources = RZ, RZ
            if dice.choice((False, False, True)):
                with k.guard(thread, dice.number(0, 8), dice.number(9, 90)):
                    k.emit(operation, result, sources, mask=mask, **fields)
            else:
                k.emit(operation, result, sources, mask=mask, **fields)

    def _address(self, operation: Operation, width: int, tensor: TensorInfo) -> Expression:
        """An aligned address inside its space: regular, scattered, conflicting or the same for all."""
        dice = self.dice
        turn = loop(self.k.depth - 1) if self.k.depth else expression(dice.number(0, 3))
        if operation in LOCAL:
            return width * ((turn + dice.choice((0, 0, 0, 9, 20, 31))) % (LOCAL_BYTES // width))
        size = SHARED_BYTES if operation in SHARED else TENSOR_BYTES
        stride = dice.choice((1, 1, 1, 0, 2, 3, 8, 32, 33, 37))
        index = stride * thread + dice.choice((0, 1, 97)) * turn + dice.choice((0, 64, 640)) * block
        offset = width * ((index + dice.number(0, 9)) % (size // width))
        if operation in SHARED:
            return offset
        return self.k.at(tensor, offset)


def random_kernel(dice: Dice, gpu: Gpu, name: str, stream: int, tensors: list[TensorInfo]) -> KernelTrace:
    """One kernel that a card can launch; smaller in grid where it would take too long."""
    grid = (dice.number(1, 5), dice.choice((1, 1, 2)), 1)
    threads = min(dice.choice((32, 64, 70, 128, 17, 200)), gpu.sm.max_threads_per_block)
    barriers = dice.choice((1, 1, 2))
    k = KernelBuilder(
        name,
        grid,
        threads,
        registers_per_thread=dice.choice((REGISTERS, 32, 40)),
        shared_bytes_per_block=SHARED_BYTES + dice.choice((0, 0, 3000)),
        local_bytes_per_thread=LOCAL_BYTES,
        barriers=barriers,
        stream=stream,
    )
    writer = Writer(dice, gpu, k, tensors)
    with k.operator("first"):
        writer.body(dice.number(1, 6), barriers=True)
    with k.operator("second"):
        writer.body(dice.number(1, 6), barriers=True)
    meeting = dice.choice((0, 1, 2, 3)) if barriers == 1 else 0
    if meeting:
        with k.loop(2 - 2 * (warp // meeting)):
            writer.body(dice.number(1, 2), barriers=False)
            k.barrier(barriers)
    if dice.choice((False, True)):
        with k.guard(thread, 0, dice.number(1, 80)):
            k.exit()
        writer.body(dice.number(1, 3), barriers=False)
    trace = launchable(k.build(), gpu)
    if meeting:
        named = min(meeting, trace.warps_per_block)
        trace = replace(trace, barrier_warps=(*(0,) * barriers, named))
    while int(sum(tally(trace))) > MOST_WARP_INSTRUCTIONS and trace.grid != (1, 1, 1):
        trace = replace(trace, grid=(max(1, trace.grid[0] // 2), 1, 1))
    check(trace, full=True)
    return recorded(trace) if dice.choice((False, False, True)) else trace


def launchable(trace: KernelTrace, gpu: Gpu) -> KernelTrace:
    """The trace, or one whose block is small enough for the card."""
    for threads, registers in (
        (trace.threads_per_block, trace.registers_per_thread),
        (64, REGISTERS),
        (32, REGISTERS),
    ):
        smaller = replace(
            trace, block=(min(threads, trace.threads_per_block), 1, 1), registers_per_thread=registers
        )
        fits = occupancy(
            gpu,
            smaller.threads_per_block,
            smaller.registers_per_thread,
            smaller.shared_bytes_per_block,
            smaller.barriers,
        )
        if fits.blocks_per_sm > 0:
            return smaller
    raise InputError("random trace", f"no block of {trace.name} fits {gpu.name}", "draw larger cards")


def random_traces(dice: Dice, gpu: Gpu) -> list[KernelTrace]:
    """One to three kernels that share tensors, on one or two streams."""
    memory = GlobalMemory()
    tensors = [memory.tensor(name, TENSOR_BYTES, kind) for name, kind in (("x", "input"), ("y", "output"))]
    return [
        random_kernel(dice, gpu, f"kernel{number}", dice.choice((0, 0, 1)), tensors)
        for number in range(dice.number(1, 3))
    ]


def seeded_traces(seed: int, gpu: Gpu) -> list[KernelTrace]:
    """The random kernels of a seed."""
    return random_traces(SeededDice(seed), gpu)


@st.composite
def traces(draw: st.DrawFn, gpu: Gpu) -> list[KernelTrace]:
    """Random kernels for hypothesis, for a card drawn before."""
    return random_traces(DrawnDice(draw), gpu)
