"""Whether a generated program can run: nesting, trip counts, addresses at their extremes, EXITs, barriers.

Bounds come from interval arithmetic, which proves most programs at once. Where it leaves a suspicion
(guards, quotients) the walk of `check_walk` decides on the blocks that it reaches.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodels.operations import Operation, Space, space_of
from simulator.trace import limits
from simulator.trace.check_instruction import LANE_VARIABLES, check_expression, place_of, refuse
from simulator.trace.expression import MAX_LOOP_DEPTH, Expression, Variable
from simulator.trace.flat import deepest
from simulator.trace.intervals import Interval, interval, launch_box
from simulator.trace.schema import ADDRESS_LIMIT, FULL_MASK, Instruction, KernelTrace, Loop
from simulator.trace.tally import batches, control_variables, exits, is_final_exit, static_size

CONSTANT_BYTES = 1 << 16
EXACT_BITS = 62


@dataclass(frozen=True, slots=True)
class Site:
    """A static instruction, the box of values that its variables may take, and whether all of them occur."""

    index: int
    instruction: Instruction
    box: list[Interval]
    certain: bool


def check_shape(trace: KernelTrace) -> None:
    """Nesting, emptiness and size of the program; to be called before anything walks it."""
    assert trace.program is not None, "only a generated trace has a program"
    body = trace.program.body
    place = f"kernel {trace.name!r}"
    if deepest(body) > MAX_LOOP_DEPTH:
        refuse(place, f"loops nest deeper than {MAX_LOOP_DEPTH}", "merge loops by // and % of one counter")
    size = static_size(body)
    if not 1 <= size <= limits.MAX_STATIC_INSTRUCTIONS:
        refuse(place, f"{size} static instructions", f"give 1 to {limits.MAX_STATIC_INSTRUCTIONS}")


def sites(trace: KernelTrace) -> Iterator[Site]:
    """Every instruction with its box; refuses loops that are empty, unbounded or by lane on the way."""
    assert trace.program is not None, "only a generated trace has a program"
    warps = trace.blocks * trace.warps_per_block
    yield from body_sites(trace, trace.program.body, launch_box(trace), 0, 0, warps, certain=True)


def body_sites(
    trace: KernelTrace,
    items: tuple[Instruction | Loop, ...],
    box: list[Interval],
    first: int,
    depth: int,
    issues: int,
    *,
    certain: bool,
) -> Iterator[Site]:
    """`sites` of one body, whose first static index is `first` and which runs at most `issues` times."""
    for item in items:
        if isinstance(item, Instruction):
            issue_limit(trace, first, item, issues)
            yield Site(first, item, box, certain and not item.guards and item.mask == FULL_MASK)
            first += 1
            continue
        place = f"kernel {trace.name!r}, loop at instruction {first}, depth {depth}"
        if not static_size(item.body):
            refuse(place, "the loop is empty", "leave it out")
        check_expression(place, "trip count", item.trips, depth)
        if item.trips.variables() & LANE_VARIABLES:
            refuse(place, "the trip count depends on the lane", "lanes leave by guards; trips are by warp")
        exact_values(place, "trip count", item.trips, box)
        low, high = interval(item.trips, box)
        if high * issues > limits.MAX_WARP_INSTRUCTIONS:
            refuse(
                place,
                f"up to {high} turns make more than {limits.MAX_WARP_INSTRUCTIONS} warp instructions",
                "give fewer turns or a smaller grid",
            )
        inner = list(box)
        inner[Variable.LOOP0 + depth] = (0, max(0, high - 1))
        constant = low == high and high > 0
        yield from body_sites(
            trace, item.body, inner, first, depth + 1, issues * max(0, high), certain=certain and constant
        )
        first += static_size(item.body)


def issue_limit(trace: KernelTrace, index: int, instruction: Instruction, issues: int) -> None:
    """Refuse an instruction that would be issued beyond the limit."""
    if issues > limits.MAX_WARP_INSTRUCTIONS:
        refuse(
            place_of(trace, index, instruction),
            f"is issued up to {issues} times",
            f"at most {limits.MAX_WARP_INSTRUCTIONS} warp instructions: give a smaller grid or fewer turns",
        )


def exact_values(place: str, what: str, source: Expression, box: list[Interval]) -> None:
    """Refuse an expression whose value, or any part of it, could leave 62 bits."""
    bound = sum(
        abs(term.coefficient)
        * (abs(term.offset) + sum(abs(factor) * max(map(abs, box[v])) for v, factor in term.variables))
        for term in source.terms
    )
    if bound + abs(source.constant) >= 1 << EXACT_BITS:
        refuse(place, f"the {what} may leave {EXACT_BITS} bits", "use smaller factors or fewer turns")


def space_limit(trace: KernelTrace, space: Space) -> tuple[int, str]:
    """The first byte address beyond a space, and its name in errors."""
    if space is Space.SHARED:
        return trace.shared_bytes_per_block, "shared memory of the block"
    if space is Space.LOCAL:
        return trace.local_bytes_per_thread, "local memory of the thread"
    if space is Space.CONSTANT:
        return CONSTANT_BYTES, "constant bank"
    return ADDRESS_LIMIT, "48-bit address space"


def accesses(instruction: Instruction) -> Iterator[tuple[str, Expression, Space]]:
    """The addresses of an instruction with the space that each is in."""
    if instruction.address is not None:
        yield "address", instruction.address, space_of(instruction.operation)
    if instruction.shared_address is not None:
        yield "shared address", instruction.shared_address, Space.SHARED


def suspicious(trace: KernelTrace, site: Site) -> bool:
    """Whether an address is not proven in range and aligned; refuses one that is certainly wrong."""
    doubt = False
    place = place_of(trace, site.index, site.instruction)
    width = max(1, site.instruction.bytes_per_lane)
    for what, source, space in accesses(site.instruction):
        low, high = interval(source, site.box)
        limit, name = space_limit(trace, space)
        if low < 0 or high + width > limit:
            if site.certain and independent(source):
                wrong = low if low < 0 else high
                refuse(
                    place,
                    f"{what} {wrong} is outside the {name} ({limit} bytes)",
                    "correct the address or size",
                )
            doubt = True
        parts = [source.constant]
        for term in source.terms:
            plain = term.divisor == 1 and not term.modulus
            factors = [factor for _, factor in term.variables] + [term.offset]
            parts += [term.coefficient * factor for factor in factors] if plain else [term.coefficient]
        doubt = doubt or any(part % width for part in parts)
    return doubt


def independent(source: Expression) -> bool:
    """Whether interval arithmetic is exact: a plain sum of variables that do not hang together."""
    seen: set[Variable] = set()
    for term in source.terms:
        if not term.linear or seen & term_variables(term.variables):
            return False
        seen |= term_variables(term.variables)
    return True


def term_variables(variables: tuple[tuple[Variable, int], ...]) -> set[Variable]:
    """The variables and those that hang together with them."""
    found: set[Variable] = set()
    for variable, _ in variables:
        found.add(variable)
        if variable is Variable.THREAD:
            found |= {Variable.WARP, Variable.LANE}
        elif variable <= Variable.BLOCK_Z:
            found.add(Variable.BLOCK)
    return found


def check_exits(trace: KernelTrace) -> None:
    """Every lane of every warp must leave by an EXIT."""
    assert trace.program is not None, "only a generated trace has a program"
    body = trace.program.body
    last = body[-1]
    if isinstance(last, Instruction) and is_final_exit(last):
        return
    staying = "every warp" if not any(exits(body)) else ""
    if not staying:
        for batch in batches(trace):
            if batch.alive is not None and batch.alive.any():
                row, lane = (int(found[0]) for found in np.nonzero(batch.alive))
                staying = f"lane {lane} of warp {int(batch.warps[row])} of block {int(batch.blocks[row])}"
                break
    if staying:
        refuse(
            f"kernel {trace.name!r}", f"{staying} reaches the end without EXIT", "end the program with EXIT"
        )


def check_barriers(trace: KernelTrace) -> None:
    """All warps of a block, or as many as meet at a barrier, must pass it equally often."""
    assert trace.program is not None, "only a generated trace has a program"
    found: dict[int, list[int]] = {}
    for index, instruction in enumerate(trace.flat().instructions):
        if instruction.operation is Operation.BARRIER:
            found.setdefault(instruction.count, []).append(index)
    uneven = control_variables(trace.program.body) & {Variable.WARP, Variable.THREAD}
    if not found or not (uneven or any(trace.barrier_warps)):
        return
    for batch in batches(trace, by_warp=True):
        for barrier, indices in found.items():
            total = sum(
                (batch.counts[index] for index in indices), np.zeros(len(batch.blocks), dtype=np.int64)
            )
            by_block = total.reshape(-1, trace.warps_per_block)
            if trace.warps_meeting(barrier):
                check_meeting(trace, barrier, by_block, batch.blocks)
            elif (by_block != by_block[:, :1]).any():
                row, warp = (int(where[0]) for where in np.nonzero(by_block != by_block[:, :1]))
                turns = int(by_block[row, warp])
                refuse(
                    f"kernel {trace.name!r}, block {int(batch.blocks[row * trace.warps_per_block])}",
                    f"warp 0 passes barrier {barrier} {by_block[row, 0]} times, warp {warp} {turns}",
                    "all warps of a block must agree",
                )


def check_meeting(
    trace: KernelTrace, barrier: int, passes: NDArray[np.int64], blocks: NDArray[np.int64]
) -> None:
    """A barrier of some warps: in each block nobody passes it, or exactly so many do, equally often.

    `passes` is (blocks, warps of a block).
    """
    meeting = trace.warps_meeting(barrier)
    most = passes.max(axis=1, keepdims=True)
    right = ((passes == 0) | (passes == most)).all(axis=1)
    right &= np.isin((passes > 0).sum(axis=1), (0, meeting))
    if not right.all():
        row = int(np.argmin(right))
        turns = sorted({int(count) for count in passes[row] if count})
        refuse(
            f"kernel {trace.name!r}, block {int(blocks[row * trace.warps_per_block])}",
            f"{int((passes[row] > 0).sum())} warps pass barrier {barrier} {turns} times",
            f"{meeting} warps meet there, equally often",
        )
