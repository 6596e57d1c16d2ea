"""What the numeric tests share: memories filled with packed tensors, and runs in both warp orders."""

import numpy as np
import pytest

from simulator.workload.allocate import allocate
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement


def run(kernels, placement: Placement, inputs: dict, outputs: list[str], cap=None):
    """The named outputs after running kernels in turn; forward and reverse warp order must agree (with a cap,
    only the reverse one is run).
    """
    results = []
    for reverse in (True,) if cap else (True, False):
        memory = GlobalMemory()
        for name, info in placement.infos.items():
            content = placement.layouts[name].pack(inputs[name]) if name in inputs else info.bytes
            memory.place(name, info.base_address, content)
        allocations = [allocate(kernel, cap) for kernel in kernels]
        for allocation in allocations:
            interpret(allocation, memory, reverse=reverse)
        results.append([placement.layouts[name].unpack(memory.content(name)) for name in outputs])
    for backward, forward in zip(results[0], results[-1], strict=True):
        np.testing.assert_array_equal(forward, backward)
    return results[0], allocations


@pytest.fixture
def run_kernels():
    """Runs kernels on values: (kernels, placement, inputs, output names, cap) → (outputs, allocations)."""
    return run
