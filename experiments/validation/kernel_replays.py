"""Kernels replayed as rows describe them: operators fused or one by one, and rates and ratios made of their
times.
"""

from __future__ import annotations

from experiments.validation.graphs import GRAPHS, WIDTH_TYPES
from experiments.validation.machine import graph_seconds_of, kernel_seconds
from hwmodels import Gpu
from simulator.trace.schema import KernelTrace
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.target import Target

FUSED, EAGER = "vertical", "none"
EVENTS, PROFILER, LAUNCHES, GRAPH = "events", "profiler", "launches", "graph"
"""How time was taken: by events around one call, by a profiler from first to last block, over many launches
in a row, each with its gap, or over rounds of a graph whose inputs take turns.
"""


def graph_traces(gpu: Gpu, graph: str, sizes: str, dtype: str, strategy: str) -> list[KernelTrace]:
    """The kernels of a graph; `sizes` are its parameters, such as `4096x1024`."""
    items = GRAPHS[graph](*(int(one) for one in sizes.split("x")))
    made = operator_list(items, None, WIDTH_TYPES[dtype])
    return plan_for(made, strategy, Target.of(gpu)).traces


def graph_seconds(gpu: Gpu, graph: str, sizes: str, dtype: str, strategy: str, timer: str) -> float:
    """Time of its kernels, by events around them or by a profiler."""
    traces = graph_traces(gpu, graph, sizes, dtype, strategy)
    if timer == GRAPH:
        return graph_seconds_of(traces, gpu)
    return kernel_seconds(traces, gpu, first_gap=timer != PROFILER)


def graph_bytes_per_second(
    gpu: Gpu, graph: str, sizes: str, dtype: str, strategy: str, timer: str, bytes_once: int
) -> float:
    """A row's own count of bytes over the time."""
    return bytes_once / graph_seconds(gpu, graph, sizes, dtype, strategy, timer)


def fusion_speedup(gpu: Gpu, graph: str, sizes: str, dtype: str, timer: str) -> float:
    """Time of the kernels one by one over that of the fused ones."""
    one_by_one = graph_seconds(gpu, graph, sizes, dtype, EAGER, timer)
    return one_by_one / graph_seconds(gpu, graph, sizes, dtype, FUSED, timer)


def relu_bytes_per_second(gpu: Gpu, elements: int, element_bytes: int) -> float:
    """ReLU of a vector: bytes in and out over the time."""
    dtype = {4: "float32", 2: "float16"}[element_bytes]
    return 2 * elements * element_bytes / graph_seconds(gpu, "relu", str(elements), dtype, EAGER, PROFILER)
