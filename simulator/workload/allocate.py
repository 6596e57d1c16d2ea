"""Gives virtual registers their places in the register file: linear scan over live intervals, groups aligned
to their size as the hardware wants pairs and quads. What exceeds the cap is computed again where that is
cheap, else spilled.

R1 is the stack pointer and never given out; two more registers a thread hold the program counter of
independently scheduled threads, so a kernel reports its highest register + 1 + 2. Rounding to the allocation
unit is the hardware's business (occupancy). Predicates are seven and never spilled.
"""

from dataclasses import dataclass, replace

from hwmodels.errors import InputError
from simulator.workload.ir import Body, Kernel, Virtual
from simulator.workload.linear_scan import scan
from simulator.workload.liveness import Liveness, analyse
from simulator.workload.rematerialise import Recipe, recomputed
from simulator.workload.spill import Spills, highest, spilled

MAX_REGISTERS = 255
RESERVED = 2
LEAST_REGISTERS = 16
LEAST_CAP = 24
FILE, UNIT = 65536, 8
"""Registers of an SM, and the unit that a warp's threads get them in: a block must fit."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """A program with places: physical register of each virtual one, what a thread needs, what was spilled and
    what is computed again instead.
    """

    kernel: Kernel
    places: dict[int, int]
    registers_per_thread: int
    spill_bytes_per_thread: int
    liveness: Liveness
    spilled_names: tuple[str, ...]
    recomputed_names: tuple[str, ...] = ()


def allocate(kernel: Kernel, cap: int | None = None) -> Allocation:
    """Places for every register within `cap` registers a thread; spills until it fits. Without one the
    block's size bounds them, as its launch bounds do in a compiler.
    """
    limit = min(MAX_REGISTERS, FILE // kernel.threads // UNIT * UNIT) if cap is None else cap
    if not LEAST_CAP <= limit <= MAX_REGISTERS:
        raise InputError(
            "registers.cap", f"{limit} is out of range", f"give {LEAST_CAP} to {MAX_REGISTERS}, or null"
        )
    body, spills = kernel.body, Spills()
    while True:
        liveness = analyse(body)
        places, failed, cheap = scan(liveness, limit - RESERVED, spills)
        if not failed:
            break
        body = without(body, failed, cheap, spills)
    general = [virtual for virtual in liveness.virtuals.values() if not virtual.predicate]
    highest = max((places[virtual.number] + virtual.words for virtual in general), default=0)
    return Allocation(
        replace(kernel, body=body),
        places,
        max(LEAST_REGISTERS, highest + RESERVED),
        spills.bytes,
        liveness,
        tuple(spills.names),
        tuple(spills.recomputed),
    )


def without(body: Body, failed: list[Virtual], cheap: dict[int, Recipe], spills: Spills) -> Body:
    """The program with registers given up: first the cheap ones, from the last definition to the first."""
    again = [virtual for virtual in failed if virtual.number in cheap]
    for virtual in sorted(again, key=lambda virtual: -cheap[virtual.number].place):
        number = spills.next_number or 1 + highest(body)
        recipe = cheap[virtual.number]
        body, spills.next_number = recomputed(body, virtual, recipe, spills.temporaries, number)
        spills.recomputed.append(virtual.name or "temporary")
    for virtual in failed:
        if virtual.number not in cheap:
            body = spilled(body, virtual, spills)
    return body
