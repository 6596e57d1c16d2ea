"""From an allocated program to the kernel trace that the machine replays: physical registers, closed-form
addresses and guards, and the header.

Effects and immediates fall away here: the machine needs where values go, not what they are.
"""

from simulator.trace.expression import Expression
from simulator.trace.schema import Instruction, KernelTrace, Loop, Program
from simulator.workload.allocate import Allocation, allocate
from simulator.workload.ir import Body, Kernel, Op, Part, Repeat

FAR = 1 << 32
"""More than any block or warp number."""


def lower(kernel: Kernel, cap: int | None = None) -> KernelTrace:
    """Allocate registers within `cap` and make the trace."""
    return trace_of(allocate(kernel, cap))


def trace_of(allocation: Allocation) -> KernelTrace:
    """The trace of an allocated kernel. `meta` holds the peak of register pressure and what was spilled."""
    kernel = allocation.kernel
    words, place, names = allocation.liveness.peak()
    meta = (
        ("pressure_peak_words", str(words)),
        ("pressure_peak_operation", str(place)),
        ("live_at_peak", " ".join(names)),
        ("spilled", " ".join(allocation.spilled_names)),
        *kernel.notes,
    )
    return KernelTrace(
        name=kernel.name,
        grid=kernel.grid,
        block=(kernel.threads, 1, 1),
        registers_per_thread=allocation.registers_per_thread,
        shared_bytes_per_block=kernel.shared_bytes,
        local_bytes_per_thread=allocation.spill_bytes_per_thread,
        barriers=max(len(kernel.barrier_warps), 1 if kernel.shared_bytes else 0),
        barrier_warps=kernel.barrier_warps,
        operators=kernel.operators,
        tensors=kernel.tensors,
        program=Program(lowered(kernel.body, allocation.places)),
        meta=meta,
    )


def lowered(body: Body, places: dict[int, int]) -> tuple[Instruction | Loop, ...]:
    """Each operation as an instruction."""
    return tuple(
        Loop(trips_of(item), lowered(item.body, places))
        if isinstance(item, Repeat)
        else instruction(item, places)
        for item in body
    )


def trips_of(item: Repeat) -> Expression:
    """Turns of a loop; of an arm 1 where all its conditions hold, and 0 or less elsewhere.

    (value − high + FAR) // FAR is 1 from `high` on and 0 below, for all values within FAR.
    """
    trips = Expression(item.trips)
    for guard in item.only:
        trips -= (guard.expression - guard.high + FAR) // FAR
        trips -= (-guard.expression + (guard.low - 1 + FAR)) // FAR
    return trips


def instruction(op: Op, places: dict[int, int]) -> Instruction:
    """One operation; a vector operand names all its registers, the predicate comes last."""
    src: list[int] = []
    tensors: list[int] = []
    for index, part in enumerate(op.reads):
        registers = registers_of(part, places)
        src += registers
        tensor = op.src_tensors[index] if index < len(op.src_tensors) else -1
        tensors += [tensor] * len(registers)
    dst = [register for part in op.dst for register in registers_of(part, places)]
    return Instruction(
        operation=op.operation,
        dst=tuple(dst),
        src=tuple(src),
        guards=op.guards,
        address=None if op.access is None else op.access.address,
        bytes_per_lane=0 if op.access is None else op.access.bytes_per_lane,
        shared_address=None if op.shared is None else op.shared.address,
        cache=op.cache,
        operator=op.operator,
        dst_tensor=op.dst_tensor,
        src_tensors=tuple(tensors) if any(tensor >= 0 for tensor in tensors) else (),
        latency=op.latency,
        count=op.count,
        taken=False,
    )


def registers_of(part: Part, places: dict[int, int]) -> list[int]:
    """The physical registers of an operand."""
    place = places[part.virtual.number] + part.first
    return list(range(place, place + part.words))
