"""Whether one static instruction makes sense by itself: its registers, mask, operands, addresses, and the
numbers in them.

What an address comes to when the program runs is judged by `check_program` and `check_walk`.
"""

from typing import NoReturn

from hwmodels.errors import InputError, unknown
from hwmodels.operations import Operation, Space, is_memory, space_of
from simulator.trace import limits
from simulator.trace.expression import Expression, Variable
from simulator.trace.schema import CACHE_OPERATORS, FULL_MASK, REGISTER_NAMES, Instruction, KernelTrace

LANE_VARIABLES = frozenset({Variable.LANE, Variable.THREAD})


def place_of(trace: KernelTrace, index: int, instruction: Instruction) -> str:
    """How errors name an instruction."""
    return f"kernel {trace.name!r}, instruction {index} ({Operation(instruction.operation).name})"


def refuse(place: str, problem: str, remedy: str) -> NoReturn:
    """Raise the error of one line."""
    raise InputError(place, problem, remedy)


def check_instruction(trace: KernelTrace, index: int, instruction: Instruction, depth: int) -> None:
    """Raise an InputError if anything is out of range; `depth` counts the loops around it."""
    place = place_of(trace, index, instruction)
    for register in (*instruction.dst, *instruction.src):
        if not 0 <= register < REGISTER_NAMES:
            refuse(place, f"register {register} does not exist", "use 0–254, 255 (RZ) or 256–262 (P0–P6)")
        if trace.registers_per_thread <= register < 255:
            refuse(
                place,
                f"register {register} is beyond the {trace.registers_per_thread} registers a thread",
                f"say registers_per_thread={register + 1} or more",
            )
    if max(len(instruction.dst), len(instruction.src)) > limits.MAX_OPERANDS:
        refuse(place, "has too many operands", f"at most {limits.MAX_OPERANDS} registers each way")
    if not 0 <= instruction.mask <= FULL_MASK:
        refuse(place, f"mask {instruction.mask} is not 32 bits", "use 0 to 0xFFFFFFFF")
    check_references(trace, place, instruction)
    check_memory(trace, place, instruction)
    if len(instruction.guards) > limits.MAX_GUARDS:
        refuse(place, f"{len(instruction.guards)} guards", f"use at most {limits.MAX_GUARDS}")
    for guard in instruction.guards:
        check_expression(place, "guard", guard.expression, depth)
        if max(abs(guard.low), abs(guard.high)) > limits.MAX_CONSTANT:
            refuse(place, "a guard's bound is beyond 60 bits", "use smaller bounds")
    for name, source in (("address", instruction.address), ("shared address", instruction.shared_address)):
        if source is not None:
            check_expression(place, name, source, depth)


def check_references(trace: KernelTrace, place: str, instruction: Instruction) -> None:
    """Operators, tensors, barriers, latencies: what names something else or stands in a table."""
    if not -1 <= instruction.operator < len(trace.operators):
        count = len(trace.operators)
        refuse(place, f"operator {instruction.operator} is not one of the {count}", f"use -1 to {count - 1}")
    for tensor in (instruction.dst_tensor, *instruction.src_tensors):
        if not -1 <= tensor < len(trace.tensors):
            count = len(trace.tensors)
            refuse(place, f"tensor {tensor} is not one of the {count}", f"use -1 to {count - 1}")
    if instruction.src_tensors and len(instruction.src_tensors) != len(instruction.src):
        refuse(
            place,
            f"{len(instruction.src_tensors)} source tensors for {len(instruction.src)} sources",
            "give one for each source, -1 for none",
        )
    if not 0 <= instruction.latency <= limits.MAX_LATENCY_CYCLES:
        refuse(place, f"a latency of {instruction.latency} cycles", f"use 0 to {limits.MAX_LATENCY_CYCLES}")
    if instruction.operation is Operation.BARRIER and not 0 <= instruction.count < trace.barriers:
        refuse(
            place,
            f"barrier {instruction.count} is not one of the {trace.barriers} of the kernel",
            f"say barriers={max(instruction.count, 0) + 1}",
        )
    if not 0 <= instruction.count <= limits.MAX_LATENCY_CYCLES:
        refuse(place, f"a count of {instruction.count}", "use a small count from 0")


def check_memory(trace: KernelTrace, place: str, instruction: Instruction) -> None:
    """Addresses where there must be some, and none elsewhere."""
    operation = instruction.operation
    if instruction.cache not in CACHE_OPERATORS:
        raise unknown(place, "cache operator", instruction.cache, CACHE_OPERATORS)
    if not is_memory(operation):
        if instruction.address is not None or instruction.shared_address is not None:
            refuse(place, "has an address but accesses no memory", "leave the address out")
        return
    recorded = trace.form == "recorded"
    if operation is not Operation.LDC and (instruction.address is None) != recorded:
        refuse(
            place,
            "has an address of its own" if recorded else "has no address",
            f"in the {trace.form} form " + ("addresses are in the records" if recorded else "give one"),
        )
    if not recorded and (instruction.shared_address is not None) != (operation is Operation.LDGSTS):
        refuse(
            place,
            "has no shared address" if operation is Operation.LDGSTS else "has a shared address",
            "LDGSTS has one, nothing else",
        )
    if instruction.bytes_per_lane not in limits.BYTES_PER_LANE and operation is not Operation.LDC:
        refuse(place, f"accesses {instruction.bytes_per_lane} bytes a lane", "use 1, 2, 4, 8 or 16")
    if space_of(operation) is Space.LOCAL and instruction.address is not None:
        varying = instruction.address.variables() & LANE_VARIABLES
        if varying:
            refuse(
                place,
                "a local address depends on the lane",
                "give the offset in the thread's own local memory",
            )


def check_expression(place: str, what: str, source: Expression, depth: int) -> None:
    """Bounded numbers, sensible quotients, and counters of loops that are really around it."""
    if len(source.terms) > limits.MAX_TERMS:
        refuse(place, f"the {what} has {len(source.terms)} terms", f"use at most {limits.MAX_TERMS}")
    numbers = [source.constant]
    for term in source.terms:
        numbers += [term.coefficient, term.offset, term.divisor, term.modulus]
        numbers += [factor for _, factor in term.variables]
        if term.divisor < 1 or term.modulus < 0:
            refuse(
                place, f"the {what} divides by {term.divisor} modulo {term.modulus}", "use positive numbers"
            )
    if max(map(abs, numbers)) > limits.MAX_CONSTANT:
        refuse(place, f"a number in the {what} is beyond 60 bits", "use smaller numbers")
    for variable in source.variables():
        if variable >= Variable.LOOP0 + depth:
            refuse(
                place, f"the {what} uses {variable.name} outside of that loop", f"{depth} loops are around it"
            )
