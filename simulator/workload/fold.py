"""Folding inference batch normalisation into the convolution before it: scaled filters and a bias take its
place, so that one operator, one read of the parameters and one rounding fall away.

Only a convolution that nobody else reads, with filters and parameters that are weights, is folded; anything
else stays as it is. The new weights are computed once, when a framework loads the model, and cost no kernel.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simulator.workload.graph import Graph, Operator, Tensor
from simulator.workload.legality import refused_element_wise

Array = npt.NDArray[np.generic]
PARAMETERS = 5


@dataclass(frozen=True, slots=True)
class Fold:
    """One folded pair: the convolution as it was, the batch normalisation, and the new weights' names."""

    convolution: Operator
    normalisation: Operator
    filters: str
    bias: str


def fold_batch_norms(graph: Graph) -> tuple[Graph, tuple[Fold, ...]]:
    """The graph without the batch normalisations that could be folded, and what was folded."""
    consumers = graph.consumers()
    folds: dict[str, Fold] = {}
    for operator in graph.operators:
        result = next((name for name in operator.outputs if name), "")
        readers = consumers.get(result, [])
        if operator.kind == "Conv" and len(readers) == 1 and folds_into(graph, operator, readers[0], result):
            made = readers[0].outputs[0]
            folds[operator.name] = Fold(operator, readers[0], f"{made}.filters", f"{made}.bias")
    gone = {fold.normalisation.name for fold in folds.values()}
    operators = tuple(
        with_fold(operator, folds.get(operator.name))
        for operator in graph.operators
        if operator.name not in gone
    )
    used = {name for operator in operators for name in (*operator.inputs, *operator.outputs)}
    tensors = {name: tensor for name, tensor in graph.tensors.items() if name in used}
    for fold in folds.values():
        old = graph.tensors[fold.convolution.inputs[1]]
        tensors[fold.filters] = replace(old, name=fold.filters)
        tensors[fold.bias] = Tensor(fold.bias, old.shape[:1], old.dtype, "weight")
    return replace(graph, operators=operators, tensors=tensors), tuple(folds.values())


def folds_into(graph: Graph, convolution: Operator, reader: Operator, result: str) -> bool:
    """Whether `reader` is a batch normalisation of `result` whose numbers are all known beforehand."""
    if reader.kind != "BatchNormalization" or reader.inputs[0] != result:
        return False
    if graph.tensors[result].kind == "output" or refused_element_wise(graph, reader):
        return False
    known = (*convolution.inputs[1:], *reader.inputs[1:PARAMETERS])
    return all(graph.tensors[name].kind == "weight" for name in known if name)


def with_fold(operator: Operator, fold: Fold | None) -> Operator:
    """The convolution that gives the normalised result; any other operator as it is."""
    if fold is None:
        return operator
    inputs = (operator.inputs[0], fold.filters, fold.bias)
    return replace(operator, inputs=inputs, outputs=fold.normalisation.outputs[:1])


def fold_values(fold: Fold, values: Mapping[str, Array]) -> dict[str, Array]:
    """The new weights from the old ones' values."""
    gamma, beta, mean, variance = (
        values[name].astype(np.float64) for name in fold.normalisation.inputs[1:PARAMETERS]
    )
    epsilon = float(np.asarray(fold.normalisation.attribute("epsilon", 1e-5)))
    scale = gamma / np.sqrt(variance + epsilon)
    filters = values[fold.convolution.inputs[1]]
    old = fold.convolution.inputs[2:3]
    shift = values[old[0]].astype(np.float64) if old and old[0] else 0.0
    scaled = filters.astype(np.float64) * scale.reshape(-1, *(1,) * (filters.ndim - 1))
    return {fold.filters: scaled.astype(filters.dtype), fold.bias: beta + (shift - mean) * scale}
