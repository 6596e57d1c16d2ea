"""A kernel for a chain of element-wise operators: each thread takes some vectors of 16 bytes, a block's width
apart, so that every warp access is 512 contiguous bytes.

All loads are issued before the first arithmetic. Channel parameters are loaded once a thread where a block's
width is a multiple of the channels, else once a vector. Broadcasting other than by channel is not built here.
"""

from hwmodels.errors import InputError
from simulator.workload.builders.chain import (
    Parameters,
    Stage,
    channel_parameters,
    load_others,
    other_pointers,
)
from simulator.workload.builders.chain_arithmetic import apply
from simulator.workload.emit import INDEX_LIMIT, Emitter, Flag, Scalar
from simulator.workload.ir import Kernel, Part, Special
from simulator.workload.layout import VECTOR_BYTES, Layout, dtype_of

THREADS = 128
PLAIN_VECTORS = 4
FEW_VECTORS = 2


def elementwise_kernel(name: str, stages: tuple[Stage, ...], layout: Layout) -> Kernel:
    """The program for a chain over tensors of one layout; the first stage's source is read, the last one's
    result is written.
    """
    size = dtype_of(layout.dtype).itemsize
    lanes = VECTOR_BYTES // size
    by_channel = any(stage.kind == "affine" for stage in stages)
    if layout.elements >= INDEX_LIMIT:
        raise InputError(name, f"{layout.elements} elements exceed 32-bit indices", "use a smaller batch")
    wide = by_channel or any(stage.other is not None for stage in stages)
    vectors = FEW_VECTORS if wide else PLAIN_VECTORS
    width = THREADS * lanes
    blocks = -(-layout.elements // (width * vectors))
    emitter = Emitter(name, (blocks, 1, 1), THREADS)
    source, result = stages[0].source, stages[-1].result
    with emitter.working_for(stages[0].operator):
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        start = emitter.multiply_add(thread, lanes, name="lane element")
        element = emitter.multiply_add(block, width * vectors, start, "element")
        pointer = emitter.pointer(source.base_address, element, size, f"{source.name} address")
        source_id = emitter.tensor(source)
    pointers = other_pointers(emitter, stages, element, size)
    tails = layout.elements % (width * vectors) != 0
    flags: list[Flag | None] = []
    loaded: list[Part] = []
    others: list[dict[int, Part]] = []
    for vector in range(vectors):
        offset = vector * width * size
        with emitter.working_for(stages[0].operator):
            flag = None
            if tails:
                flag = emitter.within(
                    emitter.add(element, vector * width) if vector else element, layout.elements
                )
            loaded.append(emitter.load(pointer, 4, offset, flag, source_id, name=source.name))
        flags.append(flag)
        others.append(load_others(emitter, stages, pointers, 4, offset, flag))
    parameters = parameters_of(emitter, stages, element, layout.channels, width, vectors, lanes)
    with emitter.working_for(stages[-1].operator):
        out = emitter.pointer(result.base_address, element, size, f"{result.name} address")
        result_id = emitter.tensor(result)
    for vector in range(vectors):
        apply(emitter, stages, loaded[vector], size == 2, parameters[vector], others[vector])
        with emitter.working_for(stages[-1].operator):
            emitter.store(out, loaded[vector], vector * width * size, flags[vector], result_id)
    return emitter.finish()


def parameters_of(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    element: Scalar,
    channels: int,
    width: int,
    vectors: int,
    lanes: int,
) -> list[dict[int, Parameters]]:
    """Channel parameters for each vector of a thread."""
    if not any(stage.kind == "affine" for stage in stages):
        return [{}] * vectors
    found: list[dict[int, Parameters]] = []
    for vector in range(vectors):
        if vector and width % channels == 0:
            found.append(found[0])
            continue
        with emitter.working_for(next(stage.operator for stage in stages if stage.kind == "affine")):
            here = emitter.add(element, vector * width) if vector else element
            channel = emitter.remainder(here, channels, name="channel")
        found.append(channel_parameters(emitter, stages, channel, channels, lanes))
    return found
