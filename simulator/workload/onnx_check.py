"""What is checked of a parsed ONNX model before shapes are inferred, so that each fault gets its own words:
names that a terminal would not print as they are, and operators that wait for one another.

Subgraphs of control flow are not looked into: an operator that has some is opaque here.
"""

from graphlib import CycleError, TopologicalSorter
from typing import Any

from hwmodels.errors import InputError

MAX_NAME = 1000


def check_model(model: Any, name: str) -> None:
    """An InputError for names that cannot be shown and for cycles."""
    writer: dict[str, int] = {}
    for index, node in enumerate(model.graph.node):
        check_name(name, f"node {index}", node.name)
        check_name(name, f"the operator of node {index}", node.op_type)
        for one in (*node.input, *node.output):
            check_name(name, f"a tensor of node {index}", one)
        for output in node.output:
            if output:
                writer[output] = index
    for value in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        check_name(name, "a tensor", value.name)
    needs = {
        index: [writer[one] for one in node.input if one in writer]
        for index, node in enumerate(model.graph.node)
    }
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        node = model.graph.node[error.args[1][0]]
        label = node.name or f"that writes {next((one for one in node.output if one), '?')}"
        problem = f"operator {label} ({node.op_type}) waits for itself through a cycle"
        raise InputError(name, problem, "break the cycle") from None


def check_name(model: str, what: str, name: str | bytes) -> None:
    """An InputError for a name with control characters or of absurd length. A name that is no UTF-8 comes as
    bytes.
    """
    if isinstance(name, bytes) or not name.isprintable():
        raise InputError(
            model, f"the name of {what} has unprintable characters ({name[:40]!r})", "export it again"
        )
    if len(name) > MAX_NAME:
        raise InputError(model, f"the name of {what} has {len(name)} characters", f"{MAX_NAME} at most")


def printable(text: str) -> str:
    """A text without what a terminal would act upon."""
    return "".join(one if one.isprintable() else " " for one in text)
