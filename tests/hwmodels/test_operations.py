"""The closed list of operations and its predicates."""

import pytest

from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.operations import (
    Operation,
    Space,
    is_atomic,
    is_load,
    is_memory,
    is_store,
    is_tensor,
    multiply_adds_of,
    operation_from,
    space_of,
    uses_lg_queue,
    uses_mio_queue,
)


def test_values_are_dense_since_tables_are_indexed_by_them() -> None:
    assert [int(operation) for operation in Operation] == list(range(len(Operation)))


def test_values_are_stable_since_trace_files_hold_them() -> None:
    known = {"ALU": 0, "FFMA": 4, "SHUFFLE": 16, "BRANCH": 19, "HMMA_884_F16": 20, "DMMA_884": 33, "LDG": 34}
    known |= {"LDS": 40, "LDC": 43, "LDSM": 47, "ASYNC_WAIT": 50, "EXIT": 53, "OPAQUE": 55}
    assert {name: int(Operation[name]) for name in known} == known


@pytest.mark.parametrize("operation", Operation)
def test_a_memory_operation_is_exactly_one_of_load_store_atomic(operation: Operation) -> None:
    kinds = [is_load(operation), is_store(operation), is_atomic(operation)]
    assert sum(kinds) == is_memory(operation) == (space_of(operation) is not Space.NONE)


def test_queues_follow_the_space() -> None:
    lg = {"LDG", "STG", "ATOMG", "REDG", "LDL", "STL", "LDGSTS", "LD", "ST", "ATOM"}
    mio = {"LDS", "STS", "ATOMS", "LDSM", "SHUFFLE"}
    assert {operation.name for operation in Operation if uses_lg_queue(operation)} == lg
    assert {operation.name for operation in Operation if uses_mio_queue(operation)} == mio


@pytest.mark.parametrize(
    "operation", [one for one in Operation if one.name.startswith(("HMMA_1", "TF32", "IMMA"))]
)
def test_multiply_adds_are_the_shape_in_the_name(operation: Operation) -> None:
    digits = operation.name.split("_")[1]
    rows, columns, depth = (16, 8, digits[3:]) if digits.startswith("168") else (8, 8, digits[2:])
    assert is_tensor(operation)
    assert multiply_adds_of(operation) == rows * columns * int(depth)


def test_names_are_found_in_any_case() -> None:
    assert operation_from(" ffma ") is Operation.FFMA
    with pytest.raises(InputError, match=r"^operation: unknown operation 'FMMA'; did you mean 'FFMA'\?$"):
        operation_from("FMMA")


def test_an_operation_that_a_card_lacks_names_the_nearest() -> None:
    table = Gpu.from_card("v100-sxm2-16gb").operations
    assert table.get(Operation.LDGSTS) is None
    with pytest.raises(
        InputError, match="unknown operation of this card 'HMMA_16816_F32'; did you mean 'HMMA_884"
    ):
        table[Operation.HMMA_16816_F32]
