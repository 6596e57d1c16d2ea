"""Which sets of operators one kernel can compute, and the rule that forbids each other one, with its number
and its limit.

The rules are those of the kernel builders: a contraction or an image operator with a chain behind it, a
region of element-wise operators of one result shape (smaller values may be computed again for each element of
it), or one row operator with regions before and behind. What a dearer builder could do (halos, products of
products) is not considered. Limits of the card are checked on the emitted kernel, by the planner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from simulator.fusion.problem import bits, is_convex, reach_of
from simulator.workload.element_groups import MOST_OPERANDS, MOST_OPERATORS, result_shape
from simulator.workload.element_operators import BINARY, UNARY, VARIADIC
from simulator.workload.element_operators import refused as element_refused
from simulator.workload.epilogue_operators import carries
from simulator.workload.families import family_of
from simulator.workload.graph import Graph, Operator
from simulator.workload.image_operators import carries_chain
from simulator.workload.legality import chained_input, convolution_of
from simulator.workload.movement import view_root
from simulator.workload.products import KINDS as PRODUCTS
from simulator.workload.products import layout_rule, product_of
from simulator.workload.row_groups import ALONE, counts_elements, short_rows
from simulator.workload.row_operators import KINDS as ROWS
from simulator.workload.row_operators import REDUCTIONS
from simulator.workload.row_operators import refused as row_refused

CONTRACTION, WINDOW, REDUCTION = "contraction", "window", "reduction"
ELEMENTS, BROADCAST, INJECTIVE = "element-wise", "broadcast", "injective"
VIEW, OPAQUE, CLOSED = "view", "opaque", "closed"
REPEATABLE = frozenset(UNARY) | frozenset(BINARY) | frozenset(VARIADIC) | {"Clip", "Where", "Cast"}
MOST_STORED = 3
"""Values of a tiled product's epilogue that leave it; each takes the registers of an address."""
FINAL = frozenset({"two contractions", "two rows", "kind", "opaque", "chain", "operators"})
"""Rules that a larger set of operators breaks as well."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why operators can't share a kernel: the rule, a sentence, and where the rule counts something the
    number and its limit.
    """

    rule: str
    sentence: str
    number: int | None = None
    limit: int | None = None


@dataclass(slots=True)
class Legality:
    """Answers for one graph."""

    graph: Graph
    kinds: dict[str, str] = field(default_factory=dict)
    operators: dict[str, Operator] = field(default_factory=dict)
    number: dict[str, int] = field(default_factory=dict)
    readers: tuple[int, ...] = ()
    reach: tuple[int, ...] = ()
    consumers: dict[str, list[Operator]] = field(default_factory=dict)
    producers: dict[str, Operator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.graph
        self.consumers, self.producers = graph.consumers(), graph.producers()
        self.operators = {operator.name: operator for operator in graph.operators}
        self.number = {operator.name: at for at, operator in enumerate(graph.operators)}
        self.kinds = {operator.name: self.kind_of(operator) for operator in graph.operators}
        readers = [0] * len(graph.operators)
        for at, operator in enumerate(graph.operators):
            for name in operator.outputs:
                for reader in self.consumers.get(name, []):
                    readers[at] |= 1 << self.number[reader.name]
        self.readers = tuple(readers)
        self.reach = reach_of(readers)

    def kind_of(self, operator: Operator) -> str:
        """The kind by which rules judge an operator."""
        graph, layout = self.graph, layout_rule(self.graph)
        if operator.kind in PRODUCTS:
            return OPAQUE if product_of(graph, operator, layout)[0] is None else CONTRACTION
        if operator.kind == "Conv":
            return OPAQUE if convolution_of(graph, operator)[0] is None else CONTRACTION
        if carries_chain(graph, operator):
            return WINDOW
        if operator.kind in ROWS and not row_refused(graph, operator):
            return REDUCTION
        if not element_refused(graph, operator):
            shapes = {graph.tensors[name].shape for name in operator.inputs if name in self.producers}
            grows = any(prod(shape) < prod(result_shape(graph, operator)) for shape in shapes)
            return BROADCAST if grows else ELEMENTS
        if view_root(graph, operator, layout):
            return VIEW
        family = family_of(graph, operator)[0]
        if family is None:
            return OPAQUE
        return INJECTIVE if family.name == "data movement" else CLOSED

    def is_elements(self, operator: Operator) -> bool:
        """Whether an operator is computed element by element."""
        return self.kinds[operator.name] in {ELEMENTS, BROADCAST}

    def mask(self, names: Iterable[str]) -> int:
        """Operators as bits."""
        return sum(1 << self.number[name] for name in names)

    def refusal(self, names: Iterable[str], writes: Iterable[str] | None = None) -> Refusal | None:
        """Why one vertical kernel can't compute these, or None where it can. `writes` as in a group."""
        chosen = set(names)
        members = [operator for operator in self.graph.operators if operator.name in chosen]
        if len(members) == 1:
            return None
        if len(members) > MOST_OPERATORS:
            return Refusal("operators", "too many operators in one kernel", len(members), MOST_OPERATORS)
        for operator in members:
            found = self.refused_kind(operator)
            if found is not None:
                return found
        leaving = self.leaving(members) if writes is None else set(writes)
        heavy = [one for one in members if self.kinds[one.name] in {CONTRACTION, WINDOW}]
        rows = [one for one in members if self.kinds[one.name] == REDUCTION]
        if heavy:
            found = self.refused_epilogue(members, heavy, rows, leaving)
        elif rows:
            found = self.refused_row(members, rows)
        else:
            found = self.refused_region(members, leaving)
        return found or self.refused_whole(members)

    def refused_kind(self, operator: Operator) -> Refusal | None:
        """Operators that share a kernel with nobody."""
        kind = self.kinds[operator.name]
        if kind == OPAQUE:
            return Refusal("opaque", f"{operator.name} ({operator.kind}) is opaque")
        if kind in {VIEW, INJECTIVE, CLOSED}:
            what = {VIEW: "only renames its input", INJECTIVE: "moves data by a kernel of its own"}
            reason = what.get(kind, "has a kernel that takes no other operators")
            return Refusal("kind", f"{operator.name} ({operator.kind}) {reason}")
        return None

    def leaving(self, members: Sequence[Operator]) -> set[str]:
        """Values that somebody outside reads."""
        chosen = {operator.name for operator in members}
        found = set()
        for operator in members:
            for name in operator.outputs:
                readers = {one.name for one in self.consumers.get(name, [])}
                if name and (self.graph.tensors[name].kind == "output" or not readers or readers - chosen):
                    found.add(name)
        return found

    def refused_epilogue(
        self, members: list[Operator], heavy: list[Operator], rows: list[Operator], leaving: set[str]
    ) -> Refusal | None:
        """A contraction or window carries one chain of element-wise operators. A window and a convolution of
        single channels store its end alone, tiled products a few values inside as well.
        """
        if len(heavy) > 1:
            pair = " and ".join(f"{one.name} ({one.kind})" for one in heavy[:2])
            return Refusal("two contractions", f"one kernel tiles one of {pair}", len(heavy), 1)
        first = members[0]
        if first is not heavy[0] or rows:
            other = (rows or members)[0]
            return Refusal("chain", f"{heavy[0].name} ({heavy[0].kind}) and {other.name} ({other.kind}) "
                           "work on different tiles")  # fmt: skip
        layout = layout_rule(self.graph)
        value = next(name for name in first.outputs if name)
        room, stored = MOST_STORED if self.is_tiled(first) else 1, 1
        inner = {name for one in members for name in one.outputs if name}
        for operator in members[1:]:
            earlier = (inner - {value}) & set(operator.inputs)
            if earlier:
                gone = min(earlier)
                return Refusal("chain", f"{operator.name} reads {gone}, which the chain has gone on from")
            tiled = carries(self.graph, operator, value, layout(value))
            if not tiled and chained_input(self.graph, operator, value) != value:
                return Refusal(
                    "chain", f"{operator.name} ({operator.kind}) does not go on from {value} by position"
                )
            stored += value in leaving
            if stored > room:
                what = "one value" if room == 1 else f"{room} values"
                where = f"{value} is read outside, and this epilogue stores {what}"
                return Refusal("several readers", where, stored, room)
            value = next(name for name in operator.outputs if name)
        return None

    def is_tiled(self, operator: Operator) -> bool:
        """Whether a contraction leaves tiles in shared memory, from where its epilogue goes on."""
        if self.kinds[operator.name] != CONTRACTION:
            return False
        shape, _ = convolution_of(self.graph, operator)
        return shape is None or not shape.depthwise

    def refused_region(self, members: list[Operator], leaving: set[str]) -> Refusal | None:
        """Element-wise operators of one result shape, or smaller ones that nobody outside reads."""
        shape = max((result_shape(self.graph, one) for one in members), key=lambda one: (prod(one), len(one)))
        for operator in members:
            own = result_shape(self.graph, operator)
            if own == shape:
                continue
            if operator.kind not in REPEATABLE or not broadcasts(own, shape):
                sentence = f"{operator.name} ({operator.kind}) makes {list(own)}, the kernel {list(shape)}"
                return Refusal("shape", sentence)
            if any(name in leaving for name in operator.outputs):
                value = operator.outputs[0]
                return Refusal("shape", f"{value} {list(own)} is stored, but the kernel makes {list(shape)}")
        if len(members) > 1 and any(one.kind in ALONE for one in members) and not all(
            result_shape(self.graph, one) == shape for one in members
        ):  # fmt: skip
            return Refusal("shape", "random numbers are counted by the element's own index")
        return self.refused_operands(members)

    def refused_row(self, members: list[Operator], rows: list[Operator]) -> Refusal | None:
        """One row operator, the region that feeds it, and the region that goes on from its result."""
        if len(rows) > 1:
            pair = " and ".join(f"{one.name} ({one.kind})" for one in rows[:2])
            return Refusal("two rows", f"{pair} each need whole rows first", len(rows), 1)
        row = rows[0]
        place = members.index(row)
        before, behind = members[:place], members[place + 1 :]
        for operator in behind if counts_elements(self.graph, row) else (*before, *behind):
            if operator.kind in ALONE:
                return Refusal("kind", f"{operator.name} ({operator.kind}) needs its element's index")
        used = {name for one in before for name in one.outputs if name}
        source = self.graph.tensors[row.inputs[0]].shape
        for operator in before:
            if result_shape(self.graph, operator) != source:
                own = list(result_shape(self.graph, operator))
                return Refusal("shape", f"{operator.name} makes {own}, the rows are {list(source)}")
        if before and (row.inputs[0] not in used or not short_rows(self.graph, row)):
            return Refusal("row", f"{row.name} ({row.kind}) does not take its rows from registers here")
        if before and used & set(row.inputs[1:]):
            return Refusal("row", f"{row.name} ({row.kind}) reads a second value of the region before it")
        if behind and (row.kind in REDUCTIONS or result_shape(self.graph, row) != source):
            return Refusal("row", f"{row.name} ({row.kind}) leaves one number a row")
        side = {name for name in row.outputs[1:] if name}
        for operator in behind:
            if result_shape(self.graph, operator) != source:
                own = list(result_shape(self.graph, operator))
                return Refusal("shape", f"{operator.name} makes {own}, the rows are {list(source)}")
            if (used | side) & set(operator.inputs):
                value = next(name for name in operator.inputs if name in used | side)
                return Refusal("row", f"{operator.name} reads {value}, which {row.name} has used up")
        return self.refused_operands(before) or self.refused_operands([row, *behind])

    def refused_operands(self, members: Sequence[Operator]) -> Refusal | None:
        """Each operand takes address registers."""
        made = {name for one in members for name in one.outputs}
        outside = {name for one in members for name in one.inputs if name} - made
        if len(outside) > MOST_OPERANDS:
            return Refusal("operands", "too many operands in one kernel", len(outside), MOST_OPERANDS)
        return None

    def refused_whole(self, members: Sequence[Operator]) -> Refusal | None:
        """The set hangs together, and nothing outside stands between two of its members."""
        mask = self.mask(one.name for one in members)
        if not is_connected(mask, self.readers):
            return Refusal("apart", f"nothing passes between {members[0].name} and some of the others")
        if not is_convex(mask, self.reach):
            after = 0
            for at in bits(mask):
                after |= self.reach[at]
            between = next(at for at in bits(after & ~mask) if self.reach[at] & mask)
            name = self.graph.operators[between].name
            return Refusal("convexity", f"the kernel would wait for {name}, which waits for the kernel")
        return None


def is_connected(mask: int, readers: Sequence[int]) -> bool:
    """Whether values pass from each member to each other, in whatever direction."""
    seen = mask & -mask
    grown = True
    while grown:
        grown = False
        for at in bits(mask & ~seen):
            if readers[at] & seen or any(readers[other] >> at & 1 for other in bits(seen)):
                seen |= 1 << at
                grown = True
    return seen == mask


def broadcasts(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether a shape spreads over another by ONNX's rule."""
    if len(shape) > len(whole):
        return False
    return all(own in {1, of} for own, of in zip(reversed(shape), reversed(whole), strict=False))
