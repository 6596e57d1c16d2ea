"""A program laid out flat: static instructions as parallel lists, and the marks between them that loops and
EXITs leave.

A static instruction keeps its index in program order; its fetch address is 16 bytes times that index, as
SASS since Volta. `steps` is what a cursor walks: a value >= 0 is an instruction, a negative one is a mark,
-1 - k for mark k. Recorded traces have no marks: their static table stands as it is, with the program
counters of the recording.
"""

from dataclasses import dataclass

from hwmodels.operations import Operation
from simulator.trace.compiled_expression import CompiledExpression, Patterns, compile_expression
from simulator.trace.expression import MAX_LOOP_DEPTH, Expression, Variable
from simulator.trace.schema import Instruction, KernelTrace, Loop

INSTRUCTION_BYTES = 16
BEGIN, END, EXITED, STOP = range(4)


@dataclass(frozen=True, slots=True)
class Mark:
    """A loop's beginning or end (with the step of its partner), lanes just exited, or the program's end."""

    kind: int
    variable: int = 0
    partner: int = 0
    trips: CompiledExpression | None = None
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class CompiledGuard:
    """A guard ready to evaluate: a lane is active where low <= base + offsets[lane] < high."""

    expression: CompiledExpression
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class FlatProgram:
    """Parallel lists over static instructions, and the steps of the walk.

    `accesses` counts the addresses that an instruction carries: 0, 1, or 2 for LDGSTS (global, then shared).
    """

    instructions: list[Instruction]
    fetch_addresses: list[int]
    addresses: list[CompiledExpression | None]
    shared_addresses: list[CompiledExpression | None]
    guards: list[tuple[CompiledGuard, ...]]
    accesses: list[int]
    depths: list[int]
    steps: list[int]
    marks: list[Mark]
    patterns: Patterns


class Flattener:
    """Walks a program once and fills the lists; equal expressions are compiled once."""

    def __init__(self) -> None:
        self.patterns = Patterns()
        self.compiled: dict[Expression, CompiledExpression] = {}
        self.flat = FlatProgram([], [], [], [], [], [], [], [], [], self.patterns)

    def compile(self, source: Expression | None) -> CompiledExpression | None:
        """The compiled form of an expression, or None."""
        return None if source is None else self.compile_some(source)

    def compile_some(self, source: Expression) -> CompiledExpression:
        """The compiled form of an expression, shared between equal ones."""
        found = self.compiled.get(source)
        if found is None:
            found = self.compiled[source] = compile_expression(source, self.patterns)
        return found

    def mark(self, mark: Mark) -> None:
        self.flat.steps.append(-1 - len(self.flat.marks))
        self.flat.marks.append(mark)

    def instruction(self, instruction: Instruction, depth: int) -> None:
        flat = self.flat
        index = len(flat.instructions)
        flat.steps.append(index)
        flat.instructions.append(instruction)
        flat.fetch_addresses.append(INSTRUCTION_BYTES * index)
        flat.addresses.append(self.compile(instruction.address))
        flat.shared_addresses.append(self.compile(instruction.shared_address))
        flat.guards.append(
            tuple(
                CompiledGuard(self.compile_some(guard.expression), guard.low, guard.high)
                for guard in instruction.guards
            )
        )
        flat.accesses.append((instruction.address is not None) + (instruction.shared_address is not None))
        flat.depths.append(depth)
        if instruction.operation is Operation.EXIT:
            self.mark(Mark(EXITED))

    def body(self, items: tuple[Instruction | Loop, ...], depth: int) -> None:
        flat = self.flat
        for item in items:
            if isinstance(item, Instruction):
                self.instruction(item, depth)
                continue
            variable = Variable.LOOP0 + depth
            trips = self.compile_some(item.trips)
            begin, begin_mark = len(flat.steps), len(flat.marks)
            self.mark(Mark(BEGIN, variable, 0, trips, item))
            self.body(item.body, depth + 1)
            flat.marks[begin_mark] = Mark(BEGIN, variable, len(flat.steps), trips, item)
            self.mark(Mark(END, variable, begin, None, item))


def flatten(trace: KernelTrace) -> FlatProgram:
    """The flat form of a trace's program, or of the static table of a recording."""
    flattener = Flattener()
    if trace.program is not None:
        flattener.body(trace.program.body, 0)
    elif trace.recording is not None:
        for instruction in trace.recording.instructions:
            flattener.instruction(instruction, 0)
        flattener.flat.fetch_addresses[:] = trace.recording.fetch_addresses
        flattener.flat.accesses[:] = trace.recording.accesses
    flattener.mark(Mark(STOP))
    return flattener.flat


def deepest(items: tuple[Instruction | Loop, ...], depth: int = 0) -> int:
    """How deep loops nest; counts no further than just beyond the limit, so a hostile nest is harmless."""
    if depth > MAX_LOOP_DEPTH:
        return depth
    return max((deepest(item.body, depth + 1) for item in items if isinstance(item, Loop)), default=depth)
