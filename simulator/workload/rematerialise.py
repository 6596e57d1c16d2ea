"""Cheap values: what a compiler computes again before each use rather than keep in a register or spill.

Cheap are constants, special registers, copies of them and sums of them with a constant; and a copy of a value
that stays in its register anyway, or its sum with a constant. One or two instructions at each use replace a
register over the whole life. Anything dearer (products, loads, predicates) is not recomputed here.
"""

from dataclasses import dataclass, replace

from simulator.workload.ir import Body, Effect, Op, Part, Repeat, Virtual
from simulator.workload.liveness import Interval, Liveness

SOURCELESS = frozenset({Effect.CONSTANT, Effect.SPECIAL})
DERIVED = frozenset({Effect.COPY, Effect.ADD})
LONGEST = 2


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to compute each word of a register again. `steps` holds, by word, operations in order: the first
    reads nothing or a value that lives anyway, each later one the result before it. `place` is the last
    definition: recipes are applied from the last to the first, so that none names a register that is gone.
    """

    steps: dict[int, tuple[Op, ...]]
    place: int


def recipes(liveness: Liveness, intervals: dict[int, Interval], temporaries: set[int]) -> dict[int, Recipe]:
    """Virtual register number → recipe, for all that are cheap. Short-lived registers are left out, and are
    no source either.
    """
    definitions: dict[int, list[int]] = {}
    reads: dict[int, list[tuple[int, Part]]] = {}
    for place, op in enumerate(liveness.ops):
        for part in op.dst:
            definitions.setdefault(part.virtual.number, []).append(place)
        for part in op.reads:
            reads.setdefault(part.virtual.number, []).append((place, part))
    found: dict[int, Recipe] = {}
    fixed: dict[int, dict[int, tuple[Op, ...]]] = {}
    # A source is defined before what is computed from it, or the value is not cheap.
    for number in sorted(definitions, key=lambda number: definitions[number][0]):
        virtual = liveness.virtuals[number]
        if virtual.predicate or number in temporaries:
            continue
        written = [liveness.ops[place] for place in definitions[number]]
        steps = fixed_steps(written, fixed)
        if steps is not None:
            fixed[number] = steps
        else:
            steps = tied_steps(number, definitions, reads, liveness, intervals, temporaries)
        wanted = {part.first + word for _, part in reads.get(number, []) for word in range(part.words)}
        if steps is not None and wanted <= set(steps):
            found[number] = Recipe(steps, definitions[number][-1])
    return found


def fixed_steps(
    written: list[Op], fixed: dict[int, dict[int, tuple[Op, ...]]]
) -> dict[int, tuple[Op, ...]] | None:
    """Steps of a register that holds the same value whenever it is written, from nothing; else None."""
    steps: dict[int, tuple[Op, ...]] = {}
    for op in written:
        if op.when is not None or len(op.dst) != 1:
            return None
        if op.effect in SOURCELESS:
            way: tuple[Op, ...] = (plain(op),)
        elif op.effect in DERIVED and len(op.src) == 1 and op.src[0].words == 1 and op.dst[0].words == 1:
            source = fixed.get(op.src[0].virtual.number, {}).get(op.src[0].first, ())
            way = (*source, plain(op)) if source else ()
        else:
            return None
        if not way or len(way) > LONGEST:
            return None
        for word in range(op.dst[0].first, op.dst[0].first + op.dst[0].words):
            if steps.setdefault(word, way) != way:
                return None
    return steps


def tied_steps(
    number: int,
    definitions: dict[int, list[int]],
    reads: dict[int, list[tuple[int, Part]]],
    liveness: Liveness,
    intervals: dict[int, Interval],
    temporaries: set[int],
) -> dict[int, tuple[Op, ...]] | None:
    """Steps of a register that is computed once from another that is written once before it and stays at
    least as long; else None. Reads must follow the definition, so that no turn of a loop sees the one before.
    """
    (place, *more) = definitions[number]
    op = liveness.ops[place]
    if more or op.when is not None or op.effect not in DERIVED or len(op.src) != 1:
        return None
    source = op.src[0]
    origin = source.virtual.number
    if source.words != 1 or op.dst[0].words != 1 or origin in temporaries or origin == number:
        return None
    once = definitions.get(origin, [])
    if len(once) != 1 or once[0] >= place or liveness.ops[once[0]].when is not None:
        return None
    late = all(at > place for at, _ in reads.get(number, []))
    if not late or intervals[origin].end < intervals[number].end:
        return None
    return {op.dst[0].first: (replace(plain(op), src=(source,)),)}


def plain(op: Op) -> Op:
    """What an operation computes, without where it stands: no registers, no operator."""
    return Op(op.operation, op.effect, numbers=op.numbers)


def recomputed(
    body: Body, virtual: Virtual, recipe: Recipe, temporaries: set[int], next_number: int
) -> tuple[Body, int]:
    """The program without `virtual`: its definitions are gone, and each operation that reads it computes it
    in a short-lived register first. Returns the program and the next free number.
    """
    out: list[Op | Repeat] = []
    for item in body:
        if isinstance(item, Repeat):
            inner, next_number = recomputed(item.body, virtual, recipe, temporaries, next_number)
            out.append(replace(item, body=inner))
        elif any(part.virtual == virtual for part in item.src):
            stand_in = Virtual(next_number, virtual.words, virtual.name)
            next_number += 1
            temporaries.add(stand_in.number)
            out += [*fresh_values(item, virtual, stand_in, recipe), renamed(item, virtual, stand_in)]
        elif not any(part.virtual == virtual for part in item.dst):
            out.append(item)
    return tuple(out), next_number


def fresh_values(op: Op, virtual: Virtual, stand_in: Virtual, recipe: Recipe) -> list[Op]:
    """The operations that fill the words of the stand-in that an operation reads."""
    parts = [part for part in op.src if part.virtual == virtual]
    words = sorted({part.first + word for part in parts for word in range(part.words)})
    found = []
    for word in words:
        target = Part(stand_in, word, 1)
        for index, step in enumerate(recipe.steps[word]):
            src = step.src if index == 0 else (target,)
            found.append(replace(step, dst=(target,), src=src, operator=op.operator))
    return found


def renamed(op: Op, virtual: Virtual, stand_in: Virtual) -> Op:
    """An operation that reads the stand-in in the register's place."""
    parts = (replace(part, virtual=stand_in) if part.virtual == virtual else part for part in op.src)
    return replace(op, src=tuple(parts))
