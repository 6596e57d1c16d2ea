"""The stand-in for an operator without a kernel program: it reads every input once, waits, and writes every
output once.

Its bytes are right, its arithmetic is unknown: one opaque instruction of fixed latency. Its register count is
that of a copy and says nothing about the real kernel.
"""

from hwmodels.operations import Operation
from simulator.trace.schema import TensorInfo
from simulator.workload.emit import INDEX_LIMIT, Emitter, Flag, Scalar
from simulator.workload.ir import Effect, Kernel, Special
from simulator.workload.layout import VECTOR_BYTES

THREADS = 128
LATENCY_CYCLES = 100


def opaque_kernel(
    name: str, operator: str, inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...], reason: str
) -> Kernel:
    """A streaming kernel over whole tensors, a vector of 16 bytes a thread and tensor."""
    most = max(VECTOR_BYTES, *(info.bytes for info in (*inputs, *outputs)))
    vectors = min(-(-most // VECTOR_BYTES), INDEX_LIMIT // VECTOR_BYTES)
    emitter = Emitter(name, (-(-vectors // THREADS), 1, 1), THREADS)
    with emitter.working_for(operator):
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        number = emitter.multiply_add(block, THREADS, thread, "vector")
        loaded = []
        for info in inputs:
            pointer = emitter.pointer(info.base_address, number, VECTOR_BYTES, f"{info.name} address")
            flag = inside(emitter, number, info)
            loaded.append(emitter.load(pointer, 4, 0, flag, emitter.tensor(info), name=info.name))
        value = emitter.constant(0, "result", 4)
        ids = tuple(emitter.tensor(info) for info in inputs)
        emitter.op(
            Operation.OPAQUE,
            Effect.OPAQUE,
            (value,),
            tuple(loaded),
            latency=LATENCY_CYCLES,
            src_tensors=ids,
        )
        for info in outputs:
            pointer = emitter.pointer(info.base_address, number, VECTOR_BYTES, f"{info.name} address")
            emitter.store(pointer, value, 0, inside(emitter, number, info), emitter.tensor(info))
    return emitter.finish(notes=(("opaque", reason),))


def inside(emitter: Emitter, number: Scalar, info: TensorInfo) -> Flag:
    """Whether a vector lies in the tensor."""
    return emitter.within(number, -(-info.bytes // VECTOR_BYTES))
