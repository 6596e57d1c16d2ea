"""The counting exercise of the article that this project came from, beside counts that leave nothing out.

The toy takes 20 cycles an operator and 200 cycles for each KB that goes to or from global memory: unfused
each operator reads and writes a tensor, fused one transfer is left of all. It forgets that a fused kernel
still reads its input and writes its output, and that an addition has a second operand. Neither is a time that
a card would show: latency is overlapped, and bandwidth is what counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.workload.graph import Graph

CYCLES_AN_OPERATOR = 20
CYCLES_A_KB = 200
KB = 1024


@dataclass(frozen=True, slots=True)
class Toy:
    """Cycles by the toy's formula, and tensors moved when all of them are counted."""

    operators: int
    kilobytes: int
    unfused_tensors: int
    fused_tensors: int
    fused_tensors_without_operands: int

    @property
    def unfused_cycles(self) -> int:
        """20 an operator, and two transfers of each: n · (20 + 2 · KB · 200)."""
        return self.operators * (CYCLES_AN_OPERATOR + 2 * self.kilobytes * CYCLES_A_KB)

    @property
    def fused_cycles(self) -> int:
        """20 an operator, and one transfer in all: n · 20 + KB · 200."""
        return self.operators * CYCLES_AN_OPERATOR + self.kilobytes * CYCLES_A_KB

    @property
    def ratio(self) -> float:
        """What the toy promises."""
        return self.unfused_cycles / self.fused_cycles

    @property
    def with_ends(self) -> float:
        """The same with the fused kernel's input and output: of transfers alone."""
        return 2 * self.operators / self.fused_tensors_without_operands

    @property
    def with_operands(self) -> float:
        """The same with every second operand, which fusing does not save."""
        return self.unfused_tensors / self.fused_tensors

    def sentence(self) -> str:
        """One line for a person."""
        return (
            f"The article's toy promises {self.unfused_cycles:,} / {self.fused_cycles:,} = {self.ratio:.2f}×"
            f"; with input and output {self.with_ends:.2f}×, with second operands {self.with_operands:.2f}×"
        )


def toy_of(graph: Graph) -> Toy:
    """The toy for a part of a graph, its operators taken as one chain over tensors of the largest size."""
    made = {name for operator in graph.operators for name in operator.outputs if name}
    second = sum(
        len({name for name in operator.inputs if name and graph.tensors[name].kind != "weight"}) - 1
        for operator in graph.operators
    )
    sizes = [graph.tensors[name].bytes for name in made]
    count = len(graph.operators)
    return Toy(count, max(sizes, default=0) // KB, 2 * count + second, 2 + second, 2)
