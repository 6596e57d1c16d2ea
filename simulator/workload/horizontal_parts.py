"""One kernel program made a part of another: its registers, operators and tensors renumbered, its block and
thread numbers counted from where the part begins, its barrier and its shared memory its own.

Addresses and guards are moved in closed form; what the program reads of special registers is moved by one
addition behind each read, as a compiler does it. Nothing else of the program changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hwmodels.errors import InputError
from hwmodels.operations import Operation, Space, space_of
from simulator.trace.expression import MAX_LOOP_DEPTH, Expression, Term, Variable
from simulator.trace.schema import LANES, Guard
from simulator.workload.ir import Access, Body, Effect, Kernel, Op, Part, Repeat, Special, Virtual
from simulator.workload.spill import highest

BLOCK_AXES = (Variable.BLOCK_X, Variable.BLOCK_Y, Variable.BLOCK_Z)
READ_BY = {
    Special.BLOCK_X: Variable.BLOCK_X,
    Special.BLOCK_Y: Variable.BLOCK_Y,
    Special.BLOCK_Z: Variable.BLOCK_Z,
    Special.THREAD: Variable.THREAD,
}


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a part begins: its first block along each axis, its first warp, its first byte of shared memory;
    the barrier that is its own; whether it stands inside an arm, one loop deeper.
    """

    blocks: tuple[int, int, int] = (0, 0, 0)
    warp: int = 0
    shared_bytes: int = 0
    barrier: int = 0
    inside_arm: bool = False

    def before(self) -> dict[Variable, int]:
        """What lies before the part, by variable."""
        found = dict(zip(BLOCK_AXES, self.blocks, strict=True))
        return {**found, Variable.WARP: self.warp, Variable.THREAD: LANES * self.warp}


class Mover:
    """Moves one program. `virtuals` is the first number that its registers may have; `operators` and
    `tensors` give the new number of each old one.
    """

    def __init__(
        self,
        kernel: Kernel,
        begin: Begin,
        virtuals: int,
        operators: Mapping[int, int],
        tensors: Mapping[int, int],
    ) -> None:
        self.kernel = kernel
        self.begin = begin
        self.before = begin.before()
        self.first = virtuals
        self.next = virtuals + highest(kernel.body) + 1
        self.operators = {**operators, -1: -1}
        self.tensors = {**tensors, -1: -1}

    def body(self) -> Body:
        """The moved program; `next` is then the first register number that is free."""
        return self.items(self.kernel.body)

    def items(self, body: Body) -> Body:
        """Some items."""
        found: list[Op | Repeat] = []
        for item in body:
            if isinstance(item, Repeat):
                only = tuple(map(self.guard, item.only))
                found.append(replace(item, body=self.items(item.body), only=only))
            else:
                found += self.op(item)
        return tuple(found)

    def op(self, op: Op) -> list[Op]:
        """One operation, with what comes behind it."""
        count = op.count
        if op.effect is Effect.BARRIER:
            if count:
                raise InputError(self.kernel.name, "has barriers of its own", "merge plain kernels")
            count = self.begin.barrier
        moved = replace(
            op,
            dst=tuple(map(self.part, op.dst)),
            src=tuple(map(self.part, op.src)),
            when=None if op.when is None else self.part(op.when),
            guards=tuple(map(self.guard, op.guards)),
            access=self.access(op.access, shared=space_of(op.operation) is Space.SHARED),
            shared=self.access(op.shared, shared=True),
            operator=self.operators[op.operator],
            dst_tensor=self.tensors[op.dst_tensor],
            src_tensors=tuple(self.tensors[one] for one in op.src_tensors),
            count=count,
        )
        if op.effect is not Effect.SPECIAL:
            return [moved]
        before = self.before[READ_BY[Special(int(op.numbers[0]))]]
        return self.special(moved, before) if before else [moved]

    def special(self, op: Op, before: int) -> list[Op]:
        """A special register, counted from where the part begins."""
        raw = Part(Virtual(self.next, 1, "special"), 0, 1)
        self.next += 1
        subtract = Op(Operation.ALU, Effect.ADD, op.dst, (raw,), (-before,), operator=op.operator)
        return [replace(op, dst=(raw,)), subtract]

    def part(self, part: Part) -> Part:
        """A register by its new number."""
        return replace(part, virtual=replace(part.virtual, number=part.virtual.number + self.first))

    def guard(self, guard: Guard) -> Guard:
        """A condition."""
        return replace(guard, expression=self.expression(guard.expression))

    def access(self, access: Access | None, *, shared: bool) -> Access | None:
        """An address; the part's place in shared memory is added to the immediate."""
        if access is None:
            return None
        more = self.begin.shared_bytes if shared else 0
        return replace(access, address=self.expression(access.address) + more, offset=access.offset + more)

    def expression(self, source: Expression) -> Expression:
        """The same value, of variables that count from the grid's and the block's beginning."""
        constant, terms = source.constant, []
        for term in source.terms:
            moved = self.term(term)
            if moved.divisor == 1 and not moved.modulus:
                constant += moved.coefficient * moved.offset
                moved = replace(moved, offset=0)
            terms.append(moved)
        return Expression(constant, tuple(terms))

    def term(self, term: Term) -> Term:
        """One term."""
        variables = []
        offset = term.offset
        for variable, factor in term.variables:
            if variable is Variable.BLOCK:
                raise InputError(self.kernel.name, "counts blocks over all axes", "use one axis")
            offset -= factor * self.before.get(variable, 0)
            variables.append((self.deeper(variable), factor))
        return replace(term, variables=tuple(variables), offset=offset)

    def deeper(self, variable: Variable) -> Variable:
        """The counter of a loop that now stands in an arm."""
        if variable < Variable.LOOP0 or not self.begin.inside_arm:
            return variable
        if variable >= Variable.LOOP0 + MAX_LOOP_DEPTH - 1:
            raise InputError(self.kernel.name, "nests its loops too deep for an arm", "merge loops")
        return Variable(variable + 1)
