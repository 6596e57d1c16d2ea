"""Attention in one kernel, in the manner of FlashAttention: a block holds 64 queries in registers and walks
over the keys, 64 at a time; scores never leave the registers.

Values arrive while scores are computed, the next keys while outputs are, each in one tile of shared memory.
Needs asynchronous copies and matrix loads. Not built: splitting keys over blocks, warp specialisation.
"""

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.workload.affine import Index
from simulator.workload.builders.attention import ROWS, Attention, Heads
from simulator.workload.builders.attention_softmax import OnlineSoftmax
from simulator.workload.builders.attention_tiles import HeadCopies, HeadFragments
from simulator.workload.builders.geometry import THREADS
from simulator.workload.emit import Emitter, Scalar
from simulator.workload.ir import Effect, Kernel, Part, Special
from simulator.workload.target import Target


def attention_kernel(
    name: str,
    operator: str,
    shape: Attention,
    inputs: tuple[Heads, Heads, Heads],
    result: Heads,
    target: Target,
) -> Kernel:
    """The program of one attention; inputs are queries, keys, values."""
    if not (target.async_copy and target.matrix_load):
        raise InputError(
            operator, "attention in one kernel needs asynchronous copies", "leave it unfused on this card"
        )
    emitter = Emitter(name, shape.grid, THREADS)
    with emitter.working_for(operator):
        Walk(emitter, shape, inputs, result).run()
    return emitter.finish(2 * shape.tile_bytes)


class Walk:
    """The state of the walk over keys. Shared memory: one tile for keys, one for values, which also brings
    the queries in and takes the outputs out.
    """

    def __init__(
        self, emitter: Emitter, shape: Attention, inputs: tuple[Heads, Heads, Heads], result: Heads
    ) -> None:
        self.emitter = emitter
        self.shape = shape
        thread = emitter.special(Special.THREAD)
        block, head = emitter.special(Special.BLOCK_X), emitter.special(Special.BLOCK_Y)
        queries, keys, values = inputs
        self.keys = HeadCopies(emitter, shape, keys, shape.keys)
        self.values = HeadCopies(emitter, shape, values, shape.keys)
        asked = HeadCopies(emitter, shape, queries, shape.queries)
        self.result = (HeadCopies(emitter, shape, result, shape.queries), thread, head, block)
        self.second = shape.tile_bytes
        asked.begin(thread, head, block)
        asked.fetch(self.second)
        self.keys.begin(thread, head)
        self.keys.fetch(0)
        emitter.commit()
        self.values.begin(thread, head)
        tensors = (asked.tensor, self.keys.tensor, self.values.tensor)
        self.tensor = self.result[0].tensor
        self.fragments = HeadFragments(emitter, shape, thread, tensors)
        emitter.wait(0)
        emitter.barrier()
        self.queries = self.fragments.queries(self.second)
        self.outputs = [emitter.constant(0, "output", 4) for _ in range(shape.width // 8)]
        self.softmax = OnlineSoftmax(emitter, shape.scale, self.tensor)

    def run(self) -> None:
        """All tiles of keys, then the outputs."""
        emitter, whole = self.emitter, self.shape.keys // ROWS
        tail = self.shape.keys % ROWS
        if whole:
            with emitter.repeat(whole) as turn:
                self.tile(turn, more=whole + bool(tail) > 1)
        if tail:
            last = Scalar(emitter.constant(whole, "last tile"), Index(whole))
            self.tile(last, more=False, tail=True)
        self.softmax.finish(self.outputs)
        self.write()

    def tile(self, number: Scalar, *, more: bool, tail: bool = False) -> None:
        """One tile of keys and values."""
        emitter = self.emitter
        # Keys are there, and every warp is done with the values before them.
        emitter.wait(0)
        emitter.barrier()
        self.values.fetch(self.second, number)
        emitter.commit()
        scores = self.scores()
        if tail:
            self.softmax.mask(scores, self.fragments.key_index(number.index), self.shape.keys)
        self.softmax.update(scores, self.outputs)
        emitter.wait(0)
        emitter.barrier()
        if more:
            self.keys.fetch(0, emitter.add(number, 1))
            emitter.commit()
        self.weigh(scores)

    def scores(self) -> list[Part]:
        """Queries by this tile's keys: a quad for every 8 keys."""
        found = [self.emitter.constant(0, "scores", 4) for _ in range(ROWS // 8)]
        for step, asked in enumerate(self.queries):
            for number in range(ROWS // 16):
                quad = self.fragments.keys(0, 16 * number, step)
                for half in range(2):
                    total = found[2 * number + half]
                    self.product(total, asked, quad.cut(2 * half, 2), self.fragments.tensors[:2])
        return found

    def weigh(self, scores: list[Part]) -> None:
        """Weights by this tile's values, into the outputs."""
        emitter = self.emitter
        for number in range(ROWS // 16):
            weights = emitter.fresh(4, "weights")
            for word in range(4):
                pair = scores[2 * number + word // 2].cut(2 * (word % 2), 2)
                emitter.op(
                    Operation.CONVERT,
                    Effect.PACK,
                    (weights[word],),
                    (pair[0], pair[1]),
                    dst_tensor=self.tensor,
                )
            for step in range(self.shape.width // 16):
                quad = self.fragments.values(self.second, 16 * number, step)
                for half in range(2):
                    total = self.outputs[2 * step + half]
                    self.product(total, weights, quad.cut(2 * half, 2), (-1, self.fragments.tensors[2]))

    def product(self, total: Part, left: Part, right: Part, tensors: tuple[int, ...]) -> None:
        """One product of 16 × 8 × 16."""
        self.emitter.op(
            Operation.HMMA_16816_F32,
            Effect.MATRIX_16816,
            (total,),
            (left, right, total),
            dst_tensor=self.tensor,
            src_tensors=(*tensors, -1),
        )

    def write(self) -> None:
        """Outputs through the keys' tile, which nobody reads any more, as whole vectors to memory."""
        emitter = self.emitter
        emitter.barrier()
        for step, quad in enumerate(self.outputs):
            for half in range(2):
                packed = emitter.fresh(1, "rounded")
                cells = quad.cut(2 * half, 2)
                emitter.op(
                    Operation.CONVERT, Effect.PACK, (packed,), (cells[0], cells[1]), dst_tensor=self.tensor
                )
                offset = 8 * half * self.shape.pitch + 16 * step
                emitter.store(self.fragments.output_place, packed, offset, tensor=self.tensor)
        emitter.barrier()
        copies, thread, head, block = self.result
        copies.begin(thread, head, block)
        copies.write(0)
