"""Element-wise work on a vector of 16 bytes a lane: the body of element-wise kernels and the epilogue of
convolutions.

Halves are widened to single precision, computed, and rounded once at the end of the chain, as compiled
kernels do; an intermediate of a fused chain is therefore more precise than one that went through memory.
"""

from dataclasses import dataclass

from simulator.trace.schema import TensorInfo
from simulator.workload.emit import Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Part


@dataclass(frozen=True, slots=True)
class Stage:
    """One element-wise operator of a chain.

    `kind` is `affine` (scale and shift by channel; bias has no scale), `relu`, `add` (a second operand of the
    same layout; the same tensor twice has `other` None), or `function` (an element function by name, with its
    numbers).
    """

    kind: str
    operator: str
    source: TensorInfo
    result: TensorInfo
    scale: TensorInfo | None = None
    shift: TensorInfo | None = None
    other: TensorInfo | None = None
    function: str = ""
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameters:
    """Channel parameters of one stage in registers: a quad for every four channels."""

    scale: tuple[Part, ...]
    shift: tuple[Part, ...]


def channel_parameters(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    channel: Scalar,
    channels: int,
    lanes: int,
    flag: Flag | None = None,
) -> dict[int, Parameters]:
    """Load scale and shift of `lanes` neighbouring channels for each affine stage; fewer channels than lanes
    repeat.
    """
    found = {}
    for number, stage in enumerate(stages):
        if stage.kind != "affine":
            continue
        with emitter.working_for(stage.operator):
            rows: list[tuple[Part, ...]] = []
            for info in (stage.scale, stage.shift):
                if info is None:
                    rows.append(())
                    continue
                tensor = emitter.tensor(info)
                pointer = emitter.pointer(info.base_address, channel, 4, f"{info.name} address")
                rows.append(
                    tuple(
                        emitter.load(pointer, 4, 16 * quad % (4 * channels), flag, tensor, name=info.name)
                        for quad in range(lanes // 4)
                    )
                )
            found[number] = Parameters(rows[0], rows[1])
    return found


def load_others(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    pointers: dict[int, Pointer],
    words: int,
    offset: int,
    flag: Flag | None,
    width: int = 0,
) -> dict[int, Part]:
    """Load one vector of the second operand of each addition; `width` bytes of it where that is less."""
    found = {}
    for number, pointer in pointers.items():
        stage = stages[number]
        if stage.other is not None:
            with emitter.working_for(stage.operator):
                tensor = emitter.tensor(stage.other)
                name = stage.other.name
                found[number] = emitter.load(pointer, words, offset, flag, tensor, width=width, name=name)
    return found


def other_pointers(
    emitter: Emitter, stages: tuple[Stage, ...], element: Scalar, size: int
) -> dict[int, Pointer]:
    """Addresses of the second operands at an element index."""
    found = {}
    for number, stage in enumerate(stages):
        if stage.kind == "add" and stage.other is not None:
            with emitter.working_for(stage.operator):
                base = stage.other.base_address
                found[number] = emitter.pointer(base, element, size, f"{stage.other.name} address")
    return found
