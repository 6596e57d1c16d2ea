"""Moves a virtual register to local memory: a load before each use and a store after each write, as the
compiler's LDL and STL, a word each.

Each use gets a short-lived register of its own, which is never spilled again, so that spilling always ends. A
predicated write loads the old value first, since lanes that it skips must keep it, unless there is none yet.
Cheap values are computed again before anything is spilled (rematerialise).
"""

from dataclasses import dataclass, field, replace

from hwmodels.operations import Operation
from simulator.trace.expression import Expression
from simulator.workload.ir import Access, Body, Effect, Op, Part, Repeat, Virtual

WORD_BYTES = 4


@dataclass(slots=True)
class Spills:
    """What left its register so far: bytes of local memory a thread, names of what was spilled and of what is
    computed again, and the short-lived registers.
    """

    bytes: int = 0
    names: list[str] = field(default_factory=list)
    recomputed: list[str] = field(default_factory=list)
    temporaries: set[int] = field(default_factory=set)
    next_number: int = 0


def spilled(body: Body, virtual: Virtual, spills: Spills) -> Body:
    """The program with `virtual` in local memory."""
    if not spills.next_number:
        spills.next_number = 1 + highest(body)
    home = spills.bytes
    spills.bytes += WORD_BYTES * virtual.words
    spills.names.append(virtual.name or "temporary")
    return rewritten(body, virtual, home, spills, set())


def highest(body: Body) -> int:
    """The greatest number of a virtual register in use."""
    most = 0
    for item in body:
        if isinstance(item, Repeat):
            most = max(most, highest(item.body))
        else:
            most = max((most, *(part.virtual.number for part in (*item.dst, *item.reads))))
    return most


def rewritten(body: Body, virtual: Virtual, home: int, spills: Spills, known: set[int]) -> Body:
    """Every mention replaced; `known` collects the words of the register that may be written by then."""
    out: list[Op | Repeat] = []
    for item in body:
        if isinstance(item, Repeat):
            known |= words_written(item.body, virtual)
            out.append(replace(item, body=rewritten(item.body, virtual, home, spills, known)))
        elif any(part.virtual == virtual for part in (*item.dst, *item.reads)):
            out.extend(with_traffic(item, virtual, home, spills, known))
            known |= words_written((item,), virtual)
        else:
            out.append(item)
    return tuple(out)


def words_written(body: Body, virtual: Virtual) -> set[int]:
    """The words of a virtual register that a body may write."""
    found: set[int] = set()
    for item in body:
        if isinstance(item, Repeat):
            found |= words_written(item.body, virtual)
        else:
            found.update(word for part in item.dst if part.virtual == virtual for word in words_of(part))
    return found


def with_traffic(op: Op, virtual: Virtual, home: int, spills: Spills, known: set[int]) -> list[Op]:
    """One operation with its loads before and stores after; all its mentions share one short-lived group."""
    mentioned = [part for part in (*op.dst, *op.reads) if part.virtual == virtual]
    low = min(part.first for part in mentioned)
    high = max(part.first + part.words for part in mentioned)
    if high - low == 1:
        base, words = low, 1
    elif low // 2 == (high - 1) // 2:
        base, words = low // 2 * 2, 2
    else:
        base, words = 0, virtual.words
    stand_in = Virtual(spills.next_number, words, virtual.name)
    spills.next_number += 1
    spills.temporaries.add(stand_in.number)

    def moved(part: Part) -> Part:
        return Part(stand_in, part.first - base, part.words) if part.virtual == virtual else part

    reads = {word for part in op.reads if part.virtual == virtual for word in words_of(part)}
    writes = {word for part in op.dst if part.virtual == virtual for word in words_of(part)}
    if not op.writes_all_lanes:
        reads |= writes & known
    loads = [
        transfer(Operation.LDL, Effect.LOAD, stand_in, word - base, home, word, op.operator)
        for word in sorted(reads)
    ]
    stores = [
        transfer(Operation.STL, Effect.STORE, stand_in, word - base, home, word, op.operator)
        for word in sorted(writes)
    ]
    changed = replace(
        op,
        dst=tuple(map(moved, op.dst)),
        src=tuple(map(moved, op.src)),
        when=moved(op.when) if op.when else None,
    )
    return [*loads, changed, *stores]


def words_of(part: Part) -> range:
    """The word numbers of a part within its virtual register."""
    return range(part.first, part.first + part.words)


def transfer(
    operation: Operation, effect: Effect, stand_in: Virtual, index: int, home: int, word: int, operator: int
) -> Op:
    """One LDL or STL of one word."""
    place = home + WORD_BYTES * word
    access = Access(Expression(place), place, WORD_BYTES)
    part = Part(stand_in, index, 1)
    if effect is Effect.LOAD:
        return Op(operation, effect, dst=(part,), access=access, operator=operator)
    return Op(operation, effect, src=(part,), access=access, operator=operator)
