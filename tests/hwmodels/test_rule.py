"""The list of rules, and that each also compiles to the same numbers (skipped without numba)."""

import importlib
import inspect
import pkgutil
import types

import numpy as np
import pytest

import hwmodels
from hwmodels.rule import listed_rules, rule

OWN_MODULES = (
    "cache",
    "coalescing",
    "crossbar",
    "register_file",
    "replacement",
    "scatter",
    "shared_memory",
    "slice_hash",
)
SIZES = {  # ranges of integer parameters that have a meaning; every other one is drawn below 2**20
    "bytes_per_lane": [1, 2, 4, 8, 16],
    "tag_banks": [1, 2, 4, 8, 16],
    "banks": [2, 16, 32, 100],
    "first_bank": [0, 48],
    "bank_bytes": [4, 8],
    "bank_ports": [1, 2],
    "partitions": [1, 2],
    "slices": [2, 20, 80, 94],
    "sm_count": [1, 20, 114],
    "count": list(range(33)),
    "lane": list(range(32)),
    "first_lane": [0, 8],
    "lanes": [8, 16],
    "start": [0, 8],
    "ways": [1, 4, 16],
    "sets": [1, 64, 242],
    "pinned": list(range(16)),
    **{f"r{number}": [-1, 0, 1, 2, 3, 4, 6, 254, 255, 256] for number in range(4)},
}


def all_rules():
    for module in pkgutil.walk_packages(hwmodels.__path__, "hwmodels."):
        importlib.import_module(module.name)
    return {name: function for name, function in listed_rules().items() if name.startswith("hwmodels.")}


def signature_of(function):
    return inspect.signature(function, eval_str=True)


def compiled_rules():
    """Each rule compiled as a copy that calls compiled copies; the plain functions stay as they are."""
    numba = pytest.importorskip("numba")
    compiled = {}
    by_function = {}
    for name, function in all_rules().items():
        scope = {
            key: by_function.get(value, value) if callable(value) else value
            for key, value in function.__globals__.items()
        }
        compiled[name] = numba.njit(types.FunctionType(function.__code__, scope, function.__name__))
        by_function[function] = compiled[name]
    return compiled


def draw(random, parameters):
    arguments = []
    for parameter in parameters:
        if "Sequence" in str(parameter.annotation):
            values = random.integers(0, 2000, 128)
            arguments.append(np.sort(values) if random.random() < 0.5 else values)
        elif parameter.name == "mask":
            arguments.append(int(random.choice([0xFFFFFFFF, int(random.integers(0, 1 << 32))])))
        else:
            arguments.append(
                int(random.choice(SIZES.get(parameter.name, [int(random.integers(0, 1 << 20))])))
            )
    return arguments


def test_rule_returns_the_function_itself_and_lists_it():
    def double(value: int) -> int:
        return 2 * value

    before = dict(listed_rules())
    assert rule(double) is double
    added = {name: function for name, function in listed_rules().items() if name not in before}
    assert list(added.values()) == [double]
    assert next(iter(added)).endswith("double")


def test_the_list_cannot_be_changed_from_outside():
    with pytest.raises(TypeError):
        listed_rules()["x"] = len


def test_rules_take_and_give_integers_only():
    for name, function in all_rules().items():
        signature = signature_of(function)
        assert signature.return_annotation is int, name
        for parameter in signature.parameters.values():
            assert parameter.annotation is int or "Sequence[int]" in str(parameter.annotation), (
                name,
                parameter,
            )


def test_every_rule_of_this_floor_compiles():
    numba = pytest.importorskip("numba")
    plain = all_rules()
    for name, function in compiled_rules().items():
        parameters = signature_of(plain[name]).parameters.values()
        types_ = [numba.int64 if parameter.annotation is int else numba.int64[:] for parameter in parameters]
        function.compile(tuple(types_))
        assert function.nopython_signatures[0].return_type in {numba.int64, numba.intp}, name


def test_compiled_rules_give_the_same_numbers():
    compiled = compiled_rules()
    random = np.random.default_rng(7)
    plain = all_rules()
    for name in plain:
        if name.split(".")[1] not in OWN_MODULES:
            continue
        parameters = list(signature_of(plain[name]).parameters.values())
        for _ in range(60):
            arguments = draw(random, parameters)
            as_lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
            assert compiled[name](*arguments) == plain[name](*as_lists), (name, as_lists)
            for array, plain_list in zip(arguments, as_lists, strict=True):
                if isinstance(array, np.ndarray):
                    assert array.tolist() == plain_list, name
