"""What the numeric tests share: memories filled with packed tensors, and a run in both warp orders."""

import numpy as np

from simulator.workload.allocate import allocate
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement


def run_kernels(kernels, placement: Placement, inputs: dict, outputs: list[str], cap=None):
    """The named outputs after running kernels in turn; forward and reverse warp order must agree."""
    results = []
    for reverse in (False, True):
        memory = GlobalMemory()
        for name, info in placement.infos.items():
            content = placement.layouts[name].pack(inputs[name]) if name in inputs else info.bytes
            memory.place(name, info.base_address, content)
        allocations = [allocate(kernel, cap) for kernel in kernels]
        for allocation in allocations:
            interpret(allocation, memory, reverse=reverse)
        results.append([placement.layouts[name].unpack(memory.content(name)) for name in outputs])
    for forward, backward in zip(*results, strict=True):
        np.testing.assert_array_equal(forward, backward)
    return results[0], allocations
