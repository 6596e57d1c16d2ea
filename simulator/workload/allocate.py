"""Gives virtual registers their places in the register file: linear scan over live intervals, groups aligned to
their size as the hardware wants pairs and quads, spilling what exceeds the cap.

R1 is the stack pointer and never given out; two more registers a thread hold the program counter of
independently scheduled threads, so a kernel reports its highest register + 1 + 2. Rounding to the allocation
unit is the hardware's business (occupancy). Predicates are seven and never spilled.
"""

from dataclasses import dataclass

from hwmodels.errors import InputError

from simulator.trace.schema import FIRST_PREDICATE, PREDICATES
from simulator.workload.ir import Body, Kernel, Virtual
from simulator.workload.liveness import Interval, Liveness, analyse
from simulator.workload.spill import Spills, spilled

MAX_REGISTERS = 255
STACK_POINTER = 1
RESERVED = 2
LEAST_REGISTERS = 16
LEAST_CAP = 24


@dataclass(frozen=True, slots=True)
class Allocation:
    """A program with places: physical register of each virtual one, what a thread needs, what was spilled."""

    kernel: Kernel
    places: dict[int, int]
    registers_per_thread: int
    spill_bytes_per_thread: int
    liveness: Liveness
    spilled_names: tuple[str, ...]


def allocate(kernel: Kernel, cap: int | None = None) -> Allocation:
    """Places for every register within `cap` registers a thread (launch bounds); spills until it fits."""
    limit = MAX_REGISTERS if cap is None else cap
    if not LEAST_CAP <= limit <= MAX_REGISTERS:
        raise InputError(
            "registers.cap", f"{limit} is out of range", f"give {LEAST_CAP} to {MAX_REGISTERS}, or null"
        )
    body, spills = kernel.body, Spills()
    while True:
        liveness = analyse(body)
        places, failed = scan(liveness, limit - RESERVED, spills)
        if not failed:
            break
        for virtual in failed:
            body = spilled(body, virtual, spills)
    highest = max(
        (place + interval.virtual.words for interval in liveness.intervals()
         if not interval.virtual.predicate and (place := places[interval.virtual.number]) >= 0),
        default=0,
    )
    return Allocation(
        with_body(kernel, body),
        places,
        max(LEAST_REGISTERS, highest + RESERVED),
        spills.bytes,
        liveness,
        tuple(spills.names),
    )


def with_body(kernel: Kernel, body: Body) -> Kernel:
    """The kernel with another program."""
    return Kernel(
        kernel.name,
        kernel.grid,
        kernel.threads,
        body,
        kernel.shared_bytes,
        kernel.operators,
        kernel.tensors,
        kernel.notes,
    )


def scan(liveness: Liveness, limit: int, spills: Spills) -> tuple[dict[int, int], list[Virtual]]:
    """One pass of linear scan over registers 0 … limit - 1: (places, what has to be spilled before the next pass)."""
    places: dict[int, int] = {}
    failed: list[Virtual] = []
    free = [index != STACK_POINTER for index in range(limit)]
    predicates = [True] * PREDICATES
    active: list[Interval] = []
    for interval in liveness.intervals():
        for old in [one for one in active if one.end < interval.start]:
            active.remove(old)
            give_back(old.virtual, places, free, predicates)
        if interval.virtual.predicate:
            if True not in predicates:
                raise InputError("kernel", "more than seven predicates live at once", "combine conditions")
            place = predicates.index(True)
            predicates[place] = False
            places[interval.virtual.number] = FIRST_PREDICATE + place
            active.append(interval)
            continue
        found = best_fit(free, interval.virtual.words)
        while found is None:
            loser = victim(active, interval, liveness, spills)
            failed.append(loser.virtual)
            if loser is interval:
                break
            active.remove(loser)
            give_back(loser.virtual, places, free, predicates)
            found = best_fit(free, interval.virtual.words)
        else:
            free[found : found + interval.virtual.words] = [False] * interval.virtual.words
            places[interval.virtual.number] = found
            active.append(interval)
    return places, failed


def give_back(
    virtual: Virtual, places: dict[int, int], free: list[bool], predicates: list[bool]
) -> None:
    """Mark a dead register's place free."""
    place = places[virtual.number]
    if virtual.predicate:
        predicates[place - FIRST_PREDICATE] = True
    else:
        free[place : place + virtual.words] = [True] * virtual.words


def best_fit(free: list[bool], words: int) -> int | None:
    """The aligned free place in the fullest quad, lowest on ties: scalars fill gaps, quads stay whole."""
    best: tuple[int, int] | None = None
    for place in range(0, len(free) - words + 1, words):
        if all(free[place : place + words]):
            quad = place // 4 * 4
            taken = sum(not empty for empty in free[quad : quad + 4])
            rank = (-taken, place)
            best = rank if best is None or rank < best else best
    return None if best is None else best[1]


def victim(active: list[Interval], new: Interval, liveness: Liveness, spills: Spills) -> Interval:
    """What to spill where `new` found no place: the least weighted mentions (ten times as heavy a loop) for the words
    freed; on ties the furthest next use.
    """
    candidates = [
        one for one in (*active, new) if not one.virtual.predicate and one.virtual.number not in spills.temporaries
    ]
    if not candidates:
        raise InputError("registers.cap", "too few registers for one operation", "raise the cap")
    weights = dict.fromkeys((one.virtual.number for one in candidates), 0)
    next_use = dict.fromkeys(weights, 0)
    for place, (op, depth) in enumerate(zip(liveness.ops, liveness.depths, strict=True)):
        for part in (*op.dst, *op.reads):
            number = part.virtual.number
            if number in weights:
                weights[number] += part.words * 10**depth
                if 2 * place > new.start and not next_use[number]:
                    next_use[number] = place
    needed = new.virtual.words
    return min(
        candidates,
        key=lambda one: (
            weights[one.virtual.number] * max(1, needed // one.virtual.words) / one.virtual.words,
            -next_use[one.virtual.number],
            one.virtual.number,
        ),
    )
