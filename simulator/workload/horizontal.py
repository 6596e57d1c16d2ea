"""Horizontal fusion: the programs of independent kernels in one launch, block beside block or warp beside
warp.

Each part becomes an arm behind a comparison and a branch, and ends with its own EXIT; the last one stands
behind the other arms. Registers are one thread's maximum over the parts, since a thread runs one of them
only; a block holds shared memory for the largest part (block-split) or for all (thread-split). What idle
warps and blocks cost, and that a block waits for its slowest part, is the machine's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.expression import of
from simulator.trace.expression import warp as warp_number
from simulator.trace.limits import MAX_BARRIERS, MAX_GRID, MAX_THREADS_PER_BLOCK
from simulator.trace.schema import LANES, Guard
from simulator.workload.emit import Emitter, Flag
from simulator.workload.horizontal_parts import BLOCK_AXES, Begin, Mover
from simulator.workload.ir import Effect, Kernel, Op, Repeat, Special, walk

BLOCK_SPLIT, THREAD_SPLIT = "block-split", "thread-split"
SHARED_ALIGNMENT = 128
SPECIALS = (Special.BLOCK_X, Special.BLOCK_Y, Special.BLOCK_Z)
Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part runs: its first block along each axis and how many, its first warp and how many."""

    kernel: Kernel
    blocks: Grid
    warp: int
    shared_bytes: int = 0
    barrier: int = 0

    @property
    def grid(self) -> Grid:
        """Blocks of the part along each axis."""
        return self.kernel.grid

    @property
    def warps(self) -> int:
        """Warps of the part in each of its blocks."""
        return self.kernel.threads // LANES


def block_split(kernels: Sequence[Kernel], name: str = "") -> Kernel:
    """One kernel whose first blocks run the first program, the next ones the second, and so on.

    Grids are put one behind another along the axis that leaves the fewest blocks without work (none where the
    other axes agree). A block is as large as the largest; a part's surplus warps leave at once.
    """
    check_parts(kernels, BLOCK_SPLIT)
    axis = best_axis([kernel.grid for kernel in kernels])
    widest = max(kernel.threads for kernel in kernels)
    barriers = [0]
    places, begin = [], 0
    for kernel in kernels:
        barrier = 0
        if kernel.threads < widest and has_barriers(kernel):
            barrier = len(barriers)
            barriers.append(kernel.threads // LANES)
        first = (begin if axis == 0 else 0, begin if axis == 1 else 0, begin if axis == 2 else 0)
        places.append(Place(kernel, first, 0, 0, barrier))
        begin += kernel.grid[axis]
    grid = along([kernel.grid for kernel in kernels], axis)
    shared = max(kernel.shared_bytes for kernel in kernels)
    return merged(places, grid, widest, shared, barriers, BLOCK_SPLIT, name)


def thread_split(kernels: Sequence[Kernel], name: str = "") -> Kernel:
    """One kernel each of whose blocks runs a block of every program, side by side in warps of their own.

    A part with barriers gets one at which only its warps meet. Where a part's grid ends before the others',
    its warps of the remaining blocks leave at once.
    """
    check_parts(kernels, THREAD_SPLIT)
    places: list[Place] = []
    barriers: list[int] = []
    warp = shared = 0
    for kernel in kernels:
        shared = -(-shared // SHARED_ALIGNMENT) * SHARED_ALIGNMENT if kernel.shared_bytes else shared
        barrier = 0
        if has_barriers(kernel):
            barrier = len(barriers)
            barriers.append(kernel.threads // LANES)
        places.append(Place(kernel, (0, 0, 0), warp, shared, barrier))
        warp += kernel.threads // LANES
        shared += kernel.shared_bytes
    if warp * LANES > MAX_THREADS_PER_BLOCK:
        raise InputError(
            kernels[0].name,
            f"{warp * LANES} threads of all parts in one block",
            f"at most {MAX_THREADS_PER_BLOCK}: split by blocks",
        )
    x, y, z = (max(kernel.grid[axis] for kernel in kernels) for axis in range(3))
    return merged(places, (x, y, z), warp * LANES, shared, barriers, THREAD_SPLIT, name)


def check_parts(kernels: Sequence[Kernel], form: str) -> None:
    """Refuse what is no set of plain kernels."""
    if len(kernels) < 2:
        raise InputError(form, f"{len(kernels)} kernels", "give two or more")
    for kernel in kernels:
        if kernel.threads % LANES or kernel.barrier_warps:
            raise InputError(
                kernel.name, "is a merged kernel or has half a warp", "merge plain kernels of whole warps"
            )
    if sum(map(has_barriers, kernels)) >= MAX_BARRIERS:
        raise InputError(form, f"{len(kernels)} parts with barriers", f"at most {MAX_BARRIERS - 1}")


def has_barriers(kernel: Kernel) -> bool:
    """Whether warps of a block wait for each other."""
    return any(op.effect is Effect.BARRIER for _, op in walk(kernel.body))


def along(grids: Sequence[Grid], axis: int) -> Grid:
    """The grid that holds all grids one behind another along an axis."""
    x, y, z = (
        sum(grid[one] for grid in grids) if one == axis else max(grid[one] for grid in grids)
        for one in range(3)
    )
    return x, y, z


def best_axis(grids: Sequence[Grid]) -> int:
    """The axis with the fewest blocks in all; the first among equals."""
    possible = [
        axis
        for axis in range(3)
        if all(size <= most for size, most in zip(along(grids, axis), MAX_GRID, strict=True))
    ]
    if not possible:
        raise InputError(BLOCK_SPLIT, f"grids {list(grids)} fit on no axis", "merge fewer kernels")
    return min(possible, key=lambda axis: prod(along(grids, axis)))


def merged(
    places: Sequence[Place],
    grid: Grid,
    threads: int,
    shared_bytes: int,
    barriers: Sequence[int],
    form: str,
    name: str,
) -> Kernel:
    """The program: the parts' arms one behind another."""
    emitter = Emitter(name or joined_name(places, form), grid, threads)
    ends = False
    for number, place in enumerate(places):
        last = number == len(places) - 1
        conditions = [] if last and fills(places, grid, threads) else conditions_of(place, grid, threads)
        if conditions:
            emitter.op(Operation.BRANCH, Effect.BRANCH, (), (test(emitter, place, grid, threads).part,))
        body = moved_body(emitter, place, inside_arm=bool(conditions))
        emitter.bodies[0] += [Repeat(1, tuple(body), tuple(conditions))] if conditions else body
        ends = not conditions
    if not ends:
        emitter.op(Operation.EXIT, Effect.EXIT)
    return Kernel(
        emitter.name,
        grid,
        threads,
        tuple(emitter.bodies[0]),
        shared_bytes,
        tuple(emitter.operators),
        tuple(emitter.tensors),
        notes_of(places, form),
        tuple(barriers) if any(barriers) else (),
    )


def fills(places: Sequence[Place], grid: Grid, threads: int) -> bool:
    """Whether every warp of the grid has a part, so that the last one needs no condition."""
    mine = sum(prod(place.grid) * place.warps for place in places)
    return mine == prod(grid) * threads // LANES


def conditions_of(place: Place, grid: Grid, threads: int) -> list[Guard]:
    """What holds for the warps of a part and for no others, where it is not all of them."""
    found = [
        Guard(of(variable), first, first + size)
        for variable, first, size, whole in zip(BLOCK_AXES, place.blocks, place.grid, grid, strict=True)
        if size < whole
    ]
    if place.warps < threads // LANES:
        found.append(Guard(warp_number, place.warp, place.warp + place.warps))
    return found


def test(emitter: Emitter, place: Place, grid: Grid, threads: int) -> Flag:
    """The same as a predicate: an unsigned comparison for each number, after a subtraction where the part
    does not begin at 0.
    """
    wanted = [
        (special, first, size)
        for special, first, size, whole in zip(SPECIALS, place.blocks, place.grid, grid, strict=True)
        if size < whole
    ]
    if place.warps < threads // LANES:
        wanted.append((Special.THREAD, LANES * place.warp, LANES * place.warps))
    flag: Flag | None = None
    for special, first, size in wanted:
        here = emitter.special(special)
        flag = emitter.within(emitter.add(here, -first) if first else here, size, flag)
    assert flag is not None, "only a part of the grid is tested for"
    return flag


def moved_body(emitter: Emitter, place: Place, *, inside_arm: bool) -> list[Op | Repeat]:
    """A part's program with numbers of the merged kernel."""
    kernel = place.kernel
    for operator in kernel.operators:
        if operator not in emitter.operators:
            emitter.operators.append(operator)
    begin = Begin(place.blocks, place.warp, place.shared_bytes, place.barrier, inside_arm)
    mover = Mover(
        kernel,
        begin,
        emitter.virtuals,
        {at: emitter.operators.index(one) for at, one in enumerate(kernel.operators)},
        {at: emitter.tensor(one) for at, one in enumerate(kernel.tensors)},
    )
    body = list(mover.body())
    emitter.virtuals = mover.next
    return body


def joined_name(places: Sequence[Place], form: str) -> str:
    """A name that says the form and all parts."""
    return f"{form}[{'|'.join(place.kernel.name for place in places)}]"


def notes_of(places: Sequence[Place], form: str) -> tuple[tuple[str, str], ...]:
    """The form, what each part is, and what parts without a program say."""
    parts = ";".join(f"{place.kernel.name} blocks={prod(place.grid)} warps={place.warps}" for place in places)
    opaque = [text for place in places for key, text in place.kernel.notes if key == "opaque"]
    notes = (("form", form), ("parts", parts))
    return (*notes, ("opaque", "; ".join(opaque))) if opaque else notes
