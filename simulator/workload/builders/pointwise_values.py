"""The arithmetic of an element-wise program on one vector of elements, from loaded groups to packed results.

Everything is single precision between one load and one store, as compiled kernels do; an intermediate of a
fused program is therefore more precise than one that went through memory. Values that must be rounded to half
precision in between are packed and widened again, one by one.
"""

from collections.abc import Sequence
from dataclasses import replace

from hwmodels.errors import InputError
from simulator.workload.builders.cells import packed, widened
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.floats import Floats
from simulator.workload.builders.pointwise_program import RANDOM, Node, Pointwise
from simulator.workload.builders.random_numbers import philox, unit_interval
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Op, Part

PHILOX_WORDS = 4


class Values:
    """Computes vectors of `lanes` elements; operands that are the same for every element are widened once."""

    def __init__(self, emitter: Emitter, program: Pointwise, lanes: int) -> None:
        self.emitter = emitter
        self.program = program
        self.lanes = lanes
        self.floats = Floats(emitter)

    def compute(self, cells: Sequence[Sequence[Part]], element: Scalar | None) -> list[Part]:
        """The packed group of each result; `cells[operand][lane]` are widened already, `element` counts
        random numbers.
        """
        groups = []
        for result in self.program.results:
            with self.emitter.working_for(result.operator):
                words = -(-self.lanes * result.item_bytes // 4)
                groups.append(self.emitter.fresh(words, result.info.name))
        made: list[list[Part]] = [[] for _ in groups]
        random: dict[int, tuple[Part, ...]] = {}
        for lane in range(self.lanes):
            values = [row[lane % len(row)] for row in cells]
            for number, node in enumerate(self.program.nodes, len(cells)):
                with self.emitter.working_for(node.operator):
                    if node.function == RANDOM:
                        values.append(self.random(random, number, lane, element))
                    else:
                        into = self.home(number, groups, lane)
                        values.append(self.apply(node, [values[one] for one in node.inputs], into))
            for row, result in zip(made, self.program.results, strict=True):
                row.append(values[result.value])
        for row, group, result in zip(made, groups, self.program.results, strict=True):
            with self.emitter.working_for(result.operator):
                packed(self.floats, row, result.layout.dtype, group)
        return groups

    def home(self, number: int, groups: Sequence[Part], lane: int) -> Part | None:
        """Where a value may be computed in place: the word of the single-precision result that it is."""
        for result, group in zip(self.program.results, groups, strict=True):
            if result.value == number and result.layout.dtype == "float32":
                return group[lane]
        return None

    def apply(self, node: Node, src: Sequence[Part], into: Part | None) -> Part:
        """One element function on one element; its last instruction makes the operator's tensor."""
        body = self.emitter.bodies[-1]
        before = len(body)
        value = ELEMENT_FUNCTIONS[node.function].emit(self.floats, src, node.numbers, into)
        if len(body) > before:
            last = body[-1]
            tensor = self.emitter.tensor(node.result)
            if isinstance(last, Op):
                body[-1] = replace(last, dst_tensor=tensor)
            self.floats.sources[value] = tensor
        return self.rounded(value, node) if node.rounds else value

    def rounded(self, value: Part, node: Node) -> Part:
        """A value as half precision has it, in single precision again."""
        half = self.emitter.fresh(1, "half")
        packed(self.floats, [value], "float16", half)
        return widened(self.floats, half, 0, "float16", self.emitter.tensor(node.result))

    def random(
        self, known: dict[int, tuple[Part, ...]], number: int, lane: int, element: Scalar | None
    ) -> Part:
        """A number in [0, 1): four to a counter where vectors have four elements, else one."""
        if element is None:
            raise InputError(self.emitter.name, "random numbers lack a counter", "give the element's index")
        together = PHILOX_WORDS if self.lanes >= PHILOX_WORDS else 1
        if lane % together == 0:
            here = self.emitter.add(element, lane) if lane else element
            counter = self.emitter.divide(here, together)
            known[number] = philox(self.floats, counter.part, self.program.seed)
        return unit_interval(self.floats, known[number][lane % together])

    def widen(self, words: Part, element: int, operand: int) -> Part:
        """One loaded element of an operand."""
        source = self.program.operands[operand]
        with self.emitter.working_for(source.operator):
            tensor = self.emitter.tensor(source.info)
            return widened(self.floats, words, element, source.layout.dtype, tensor)
