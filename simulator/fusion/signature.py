"""What decides a group's cost, as one digest: operators with attributes, how they are wired, shapes, types
and layouts, what is stored and what is in L2 before, the card, the rung, and the version of the sources.

Names and addresses stay outside, and so do the numbers of weights: two blocks of a model with equal shapes
are priced once. Addresses move the times of a replay a little (DRAM's channels are hashed), which counts as
noise.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from simulator.fusion.groups import Group, operators_of
from simulator.sources import digest_of
from simulator.workload.build import KernelMaker
from simulator.workload.graph import Graph, Tensor

SOURCES = (
    "hwmodels/**/*.py",
    "simulator/trace/**/*.py",
    "simulator/machine/**/*.py",
    "simulator/statistics/*.py",
    "simulator/workload/**/*.py",
    "simulator/fusion/analytic.py",
    "simulator/fusion/before.py",
    "simulator/fusion/footprint.py",
    "simulator/fusion/groups.py",
    "simulator/fusion/in_a_row.py",
    "simulator/fusion/ladder.py",
    "simulator/fusion/price.py",
    "simulator/fusion/signature.py",
)
"""Files that a price takes rules from."""


SCALED = frozenset({"Resize", "Upsample"})
"""Operators that fractions tell what to do: the factors of the axes."""


def is_data(tensor: Tensor) -> bool:
    """Whether a constant is only computed with: several numbers with a point. A single one may stand in an
    instruction, whole ones say what an operator does (axes, pads, places).
    """
    return tensor.elements > 1 and tensor.dtype.startswith("float")


@cache
def version() -> str:
    """The digest of the sources."""
    return digest_of(SOURCES)[:24]


def signature(
    graph: Graph, group: Group, maker: KernelMaker, resident: frozenset[str], *facts: object
) -> str:
    """The digest of a group; `facts` are card, rung and whatever else the price depends on."""
    numbers: dict[str, int] = {}
    document = [group_facts(graph, one, maker, resident, numbers) for one in group.leaves()]
    text = json.dumps([group.form, graph.rounding, document, [str(fact) for fact in facts]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def group_facts(
    graph: Graph, group: Group, maker: KernelMaker, resident: frozenset[str], numbers: dict[str, int]
) -> list[Any]:
    """Operators and tensors by number, in the order of first mention."""
    consumers = graph.consumers()
    members = list(operators_of(graph, group))
    inside = {operator.name for operator in members}
    operators, tensors = [], []
    made = {name for operator in members for name in operator.outputs}
    scales = {name for operator in members if operator.kind in SCALED for name in operator.inputs}

    def number(name: str) -> int:
        if not name:
            return -1
        if name not in numbers:
            numbers[name] = len(numbers)
            tensor, layout = graph.tensors[name], maker.layout(name)
            where = (tensor.kind == "weight", maker.place(name).name in resident)
            data = is_data(tensor) and name not in scales
            values = None if data else tensor.values
            tensors.append([numbers[name], tensor.shape, tensor.dtype, layout.role, values, *where])
        return numbers[name]

    for operator in members:
        inputs, outputs = (
            [number(name) for name in operator.inputs],
            [number(one) for one in operator.outputs],
        )
        operators.append([operator.kind, operator.attributes, inputs, outputs])
    writes = group.writes
    if writes is None:
        writes = tuple(
            name
            for name in made
            if name
            and (
                graph.tensors[name].kind == "output"
                or not consumers.get(name)
                or {one.name for one in consumers[name]} - inside
            )
        )
    return [operators, tensors, sorted(numbers[name] for name in writes)]
