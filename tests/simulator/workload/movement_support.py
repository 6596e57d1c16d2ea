"""What the tests of data movement share: run a kernel on values, compare its counts and its accesses with
those of its trace.
"""

import numpy as np

from hwmodels.coalescing import coalesce
from hwmodels.operations import Operation
from hwmodels.shared_memory import bank_cycles
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.info import info
from simulator.workload.allocate import allocate
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Layout, Placement
from simulator.workload.lower import trace_of


def placed(shapes, dtype="float32", role="flat"):
    """A placement of tensors by name."""
    place = Placement()
    for name, shape in shapes.items():
        place.place(name, Layout(shape, dtype, role), "input")
    return place


def run(kernel, place, values, output, cap=None):
    """(the output, the trace): both warp orders agree, the trace passes the validator in full, its counts are
    the interpreter's.
    """
    allocation = allocate(kernel, cap)
    results = []
    for reverse in (False, True):
        memory = GlobalMemory()
        for name, where in place.infos.items():
            content = place.layouts[name].pack(values[name]) if name in values else where.bytes
            memory.place(name, where.base_address, content)
        executed = interpret(allocation, memory, reverse=reverse)
        results.append(place.layouts[output].unpack(memory.content(output)))
    np.testing.assert_array_equal(*results)
    trace = trace_of(allocation)
    check(trace, full=True)
    assert {op.name: count * trace.blocks for op, count in executed.items()} == info(trace)["mix"]
    moved = traffic(trace)
    assert moved["LDG"] == memory.read_bytes
    assert moved["STG"] == memory.written_bytes
    return results[0], trace


def traffic(trace):
    """Bytes by LDG (LDGSTS too) and STG, sectors of both, shared passes beyond the fewest possible."""
    found = {"LDG": 0, "STG": 0, "LDG sectors": 0, "STG sectors": 0, "conflicts": 0}
    lines, sectors = [0] * 128, [0] * 128
    for step in expand(trace):
        instruction = trace.flat().instructions[step.static]
        name, width = instruction.operation.name, instruction.bytes_per_lane
        if name in {"LDG", "STG", "LDGSTS"}:
            name = name[:3]
            found[name] += step.mask.bit_count() * width
            count = coalesce(step.addresses, step.mask, width, lines, sectors)
            found[f"{name} sectors"] += sum(mask.bit_count() for mask in sectors[:count])
        elif instruction.operation in {Operation.LDS, Operation.STS}:
            passes = bank_cycles(step.addresses, step.mask, width, 32, 4)
            found["conflicts"] += passes - max(1, width // 4)
    return found
