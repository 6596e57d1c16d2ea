"""Makes a graph only if it is sound: unique names, known shapes, one writer a tensor, no cycle; sorts the
operators.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from hwmodels.errors import InputError
from simulator.workload.graph import Graph, Operator, Tensor

MAX_OPERATORS = 100_000


def make_graph(name: str, operators: Iterable[Operator], tensors: Mapping[str, Tensor]) -> Graph:
    """A checked graph: unique names, known tensors, one writer each, sorted so that writers come before
    readers.
    """
    listed = list(operators)
    if not listed:
        raise InputError(name, "has no operators", "give at least one")
    if len(listed) > MAX_OPERATORS:
        raise InputError(name, f"{len(listed)} operators", f"at most {MAX_OPERATORS}")
    writer: dict[str, Operator] = {}
    names: set[str] = set()
    for operator in listed:
        if operator.name in names:
            raise InputError(name, f"two operators are called {operator.name}", "give each its own name")
        names.add(operator.name)
        for tensor in (*operator.inputs, *operator.outputs):
            if tensor and tensor not in tensors:
                problem = f"{operator.name} ({operator.kind}): shape of tensor {tensor} is unknown"
                raise InputError(name, problem, "state its shape")
        for output in operator.outputs:
            if output in writer:
                raise InputError(
                    name, f"{writer[output].name} and {operator.name} both write {output}", "rename one"
                )
            if output:
                writer[output] = operator
    return Graph(name, tuple(sorted_topologically(name, listed, writer)), dict(tensors))


def sorted_topologically(
    name: str, operators: list[Operator], writer: Mapping[str, Operator]
) -> list[Operator]:
    """Writers before readers, otherwise as given; a cycle is refused by the name of an operator on it."""
    place = {operator.name: index for index, operator in enumerate(operators)}
    needs = [{place[writer[one].name] for one in operator.inputs if one in writer} for operator in operators]
    readers: list[list[int]] = [[] for _ in operators]
    for index, sources in enumerate(needs):
        for source in sources:
            readers[source].append(index)
    missing = [len(sources) for sources in needs]
    ready = [index for index, count in enumerate(missing) if not count]
    order: list[Operator] = []
    while ready:
        index = heappop(ready)
        order.append(operators[index])
        for reader in readers[index]:
            missing[reader] -= 1
            if not missing[reader]:
                heappush(ready, reader)
    if len(order) < len(operators):
        stuck = next(operators[index] for index, count in enumerate(missing) if count)
        raise InputError(name, f"operator {stuck.name} waits for itself through a cycle", "break the cycle")
    return order
