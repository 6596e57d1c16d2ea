"""What a card can do that changes the program, not only its speed: asynchronous copies, matrix loads, the
shape of the tensor core's instruction.

Read from the card's table of operations, so that a card decides and no architecture name stands in a builder.
"""

from dataclasses import dataclass

from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.operations import Operation


@dataclass(frozen=True, slots=True)
class Target:
    """The features of a card that builders ask for."""

    async_copy: bool
    matrix_load: bool
    matrix: Operation
    sm_count: int = 108

    @classmethod
    def of(cls, gpu: Gpu) -> "Target":
        """The features of a card; one without a known tensor-core shape is refused."""
        for matrix in (Operation.HMMA_16816_F32, Operation.HMMA_884_F32):
            if matrix in gpu.operations:
                return cls(
                    Operation.LDGSTS in gpu.operations,
                    Operation.LDSM in gpu.operations,
                    matrix,
                    gpu.sm_count,
                )
        raise InputError(gpu.name, "has no tensor core that is known here", "give operations.HMMA_16816_F32")


VOLTA = Target(False, False, Operation.HMMA_884_F32, 80)
AMPERE = Target(True, True, Operation.HMMA_16816_F32, 108)
