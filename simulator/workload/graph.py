"""The operator graph: tensors with shape and type, operators in topological order, and parts of it by name.

It knows no operator's meaning beyond names and shapes. Dimensions are fixed numbers; what is dynamic,
missing, cyclic or absurd is refused when the graph is made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from hwmodels.errors import InputError, unknown

KERNEL, OPERATOR = "kernel", "operator"
MAX_ELEMENTS = 1 << 40
ITEM_BYTES = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
}
AttributeValue = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value: shape in elements; kind is `input`, `weight`, `intermediate` or `output`. Small constants keep
    their numbers (`values`, flat), since pads, starts and axes decide what an operator does.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    values: tuple[int | float, ...] | None = None

    def __post_init__(self) -> None:
        if self.dtype not in ITEM_BYTES:
            raise unknown(self.name, "element type", self.dtype, ITEM_BYTES)
        if any(extent < 0 for extent in self.shape) or self.elements > MAX_ELEMENTS:
            raise InputError(
                self.name, f"shape {list(self.shape)} is out of range", f"at most {MAX_ELEMENTS} elements"
            )

    @property
    def elements(self) -> int:
        """Elements in all."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes without padding."""
        return self.elements * ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class Operator:
    """One node: `kind` is its type (`Conv`); an input that is left out has the empty name."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, AttributeValue], ...] = ()

    def attribute(self, name: str, default: AttributeValue) -> AttributeValue:
        """An attribute or its default."""
        return dict(self.attributes).get(name, default)

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """An attribute that is a list of integers."""
        value = self.attribute(name, default)
        if not isinstance(value, tuple) or not all(isinstance(one, int) for one in value):
            raise InputError(
                self.name, f"attribute {name} is no list of integers", "as the operator set has it"
            )
        return tuple(int(one) for one in value)


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators in topological order and every tensor that they mention. `rounding` says where values of half
    precision are rounded: where a kernel stores them (KERNEL), or behind each operator (OPERATOR).
    """

    name: str
    operators: tuple[Operator, ...]
    tensors: Mapping[str, Tensor]
    whole: frozenset[str] = frozenset()
    rounding: str = KERNEL

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of operators in the whole model, of which this may be a part."""
        return self.whole or frozenset(operator.kind for operator in self.operators)

    def producers(self) -> dict[str, Operator]:
        """Tensor name → the operator that writes it."""
        return {output: operator for operator in self.operators for output in operator.outputs if output}

    def consumers(self) -> dict[str, list[Operator]]:
        """Tensor name → the operators that read it, one entry a reading operator."""
        found: dict[str, list[Operator]] = {}
        for operator in self.operators:
            for name in dict.fromkeys(operator.inputs):
                if name:
                    found.setdefault(name, []).append(operator)
        return found

    def position(self, name: str, *, reading: bool = False) -> int:
        """The index of an operator: by its name, by n0, n1, …, or by a tensor that it writes (or, with
        `reading`, that it is the first to read).
        """
        for index, operator in enumerate(self.operators):
            if name == operator.name:
                return index
        if name[:1] == "n" and name[1:].isdigit() and int(name[1:]) < len(self.operators):
            return int(name[1:])
        for index, operator in enumerate(self.operators):
            if name in operator.outputs:
                return index
        if reading:
            for index, operator in enumerate(self.operators):
                if name in operator.inputs:
                    return index
        known = [operator.name for operator in self.operators] + list(self.producers())
        raise unknown(self.name, "operator or tensor", name, known)

    def subgraph(self, first: str | None = None, last: str | None = None) -> "Graph":
        """The operators from `first` to `last` in the graph's order, both included."""
        begin = 0 if first is None else self.position(first, reading=True)
        end = len(self.operators) - 1 if last is None else self.position(last)
        if end < begin:
            raise InputError(self.name, f"{last} comes before {first}", "exchange first and last")
        return self.cut(self.operators[begin : end + 1])

    def parts(self, ranges: Iterable[tuple[str, str]]) -> list["Graph"]:
        """Several parts, each from its first to its last operator."""
        return [self.subgraph(first, last) for first, last in ranges]

    def cut(self, operators: tuple[Operator, ...]) -> "Graph":
        """A graph of some of the operators; what they take from outside becomes an input, what they give an
        output.
        """
        inside = {output for operator in operators for output in operator.outputs}
        chosen = {operator.name for operator in operators}
        consumers = self.consumers()
        tensors = {}
        for operator in operators:
            for name in (*operator.inputs, *operator.outputs):
                if not name or name in tensors:
                    continue
                tensor = self.tensors[name]
                if name not in inside:
                    kind = "weight" if tensor.kind == "weight" else "input"
                else:
                    readers = {one.name for one in consumers.get(name, [])}
                    leaves = tensor.kind == "output" or not readers or not readers <= chosen
                    kind = "output" if leaves else "intermediate"
                tensors[name] = replace(tensor, kind=kind)
        return Graph(self.name, operators, tensors, self.kinds, self.rounding)
