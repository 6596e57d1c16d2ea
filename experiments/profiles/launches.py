"""Finds for each kernel the call that launched it (by correlation number) and the CPU operator around that
call.

The operator is the innermost on the launching thread that encloses the call; its shapes, where it recorded
none, are those of the nearest operator around it that did. This holds for traces of all ages, where numbers
that tie operators to kernels changed their meaning between versions. A kernel without a launch in the trace
takes the operator with its external number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.profiles.profile import Launch, ProfiledKernel, ProfiledOperator

Thread = tuple[str, str]
GRAPH_LAUNCH = "GraphLaunch"
MOST_OPEN = 256
"""Operators that are looked at around one call; deeper nesting is not seen in real traces."""


def joined(
    kernels: Sequence[ProfiledKernel],
    launches: Mapping[int, Launch],
    operators: Mapping[Thread, list[ProfiledOperator]],
) -> list[ProfiledKernel]:
    """The kernels with launches and operators."""
    wanted: dict[Thread, list[tuple[int, int]]] = {}
    for kernel in kernels:
        launch = launches.get(kernel.correlation)
        if launch is not None:
            wanted.setdefault(launch.thread, []).append((launch.start_ns, kernel.correlation))
    around: dict[int, ProfiledOperator] = {}
    for thread, calls in wanted.items():
        around |= _enclosing(operators.get(thread, []), sorted(calls))
    numbered = {
        one.external_id: one for group in operators.values() for one in group if one.external_id is not None
    }
    made = []
    for kernel in kernels:
        launch = launches.get(kernel.correlation)
        operator = around.get(kernel.correlation)
        if launch is None and kernel.external_id is not None:
            operator = numbered.get(kernel.external_id)
        if launch is not None and GRAPH_LAUNCH in launch.name:
            operator = None  # the call launches many kernels, recorded from operators that ran earlier
        made.append(replace(kernel, launch=launch, operator=operator))
    return made


def _enclosing(
    operators: list[ProfiledOperator], calls: Sequence[tuple[int, int]]
) -> dict[int, ProfiledOperator]:
    """The operator around each call (start, correlation) of one thread; calls are in order."""
    # Of two that start together the longer one is outside.
    ordered = sorted(operators, key=lambda one: (one.start_ns, -one.end_ns))
    found: dict[int, ProfiledOperator] = {}
    open_ones: list[ProfiledOperator] = []
    at = 0
    for start, correlation in calls:
        while at < len(ordered) and ordered[at].start_ns <= start:
            while open_ones and open_ones[-1].end_ns < ordered[at].start_ns:
                open_ones.pop()
            open_ones = [*open_ones[1 - MOST_OPEN :], ordered[at]]
            at += 1
        inside = [one for one in open_ones if one.end_ns >= start]
        open_ones = inside
        if inside:
            shaped = next((one for one in reversed(inside) if one.shapes), inside[-1])
            found[correlation] = replace(inside[-1], shapes=shaped.shapes, types=shaped.types)
    return found
