"""Named kernels against closed forms: bytes, instruction counts, orders, conflicts; parameters, errors."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hwmodels.errors import InputError
from hwmodels.operations import Operation, is_memory
from hwmodels.shared_memory import bank_cycles
from simulator.trace.archive import load, save
from simulator.trace.check import check
from simulator.trace.expand import Dynamic, expand
from simulator.trace.info import info
from simulator.trace.kernels import describe, from_spec, kernel_names, named
from simulator.trace.kernels.arithmetic import OPERANDS
from simulator.trace.kernels.caches import golden_step
from simulator.trace.schema import KernelTrace
from simulator.trace.sources import traces_from

KIB = 1 << 10


def issued(trace: KernelTrace, operation: Operation) -> list[Dynamic]:
    instructions = trace.flat().instructions
    return [item for item in expand(trace) if instructions[item.static].operation is operation]


def touched(trace: KernelTrace, operation: Operation) -> Counter[int]:
    """How often each byte is accessed by an operation."""
    count: Counter[int] = Counter()
    instructions = trace.flat().instructions
    for item in issued(trace, operation):
        width = instructions[item.static].bytes_per_lane
        for lane, address in enumerate(item.addresses or ()):
            if item.mask >> lane & 1:
                count.update(range(address, address + width))
    return count


def tensor_bytes(trace: KernelTrace, *names: str) -> set[int]:
    chosen = [tensor for tensor in trace.tensors if tensor.name in names]
    return {one.base_address + offset for one in chosen for offset in range(one.bytes)}


@pytest.mark.parametrize("name", kernel_names())
def test_every_kernel_passes_the_full_check_and_survives_a_file(name: str, tmp_path: Path) -> None:
    small: dict[str, Any] = {"megabytes": 0.125} if name in STREAMS or name in {"chain", "stream"} else {}
    traces = named(name, small)
    for trace in traces:
        check(trace, full=True)
        assert info(trace)["warp_instructions"] > 0
    assert load(save(traces, tmp_path / "k.trace.npz")) == traces
    assert name in describe(name)


STREAMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "copy": (("x",), ("y",)),
    "saxpy": (("x", "y"), ("y",)),
    "triad": (("b", "c"), ("a",)),
    "read": (("x",), ()),
    "init": ((), ("x",)),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(("bytes_per_lane", "unroll", "kilobytes"), [(16, 1, 64), (4, 4, 64), (8, 3, 63)])
def test_streams_touch_each_byte_of_each_array_once(
    name: str, bytes_per_lane: int, unroll: int, kilobytes: int
) -> None:
    (trace,) = named(
        name,
        {"megabytes": kilobytes / 1024, "bytes_per_lane": bytes_per_lane, "unroll": unroll, "threads": 96},
    )
    for operation, arrays in zip((Operation.LDG, Operation.STG), STREAMS[name], strict=True):
        count = touched(trace, operation)
        assert set(count) == tensor_bytes(trace, *arrays)
        assert set(count.values()) <= {1}


def test_a_copy_has_ten_instructions_a_warp() -> None:
    (trace,) = from_spec("kernel:copy,megabytes=4")
    facts = info(trace)
    assert facts["grid"] == [1024, 1, 1]
    assert facts["warp_instructions"] == 10 * 1024 * 8
    assert facts["mix"]["LDG"] * 32 * 16 == 4 << 20 == facts["mix"]["STG"] * 32 * 16


def test_a_strided_read_is_a_permutation_with_lanes_apart() -> None:
    (trace,) = named("read", {"megabytes": 0.0625, "stride": 8, "bytes_per_lane": 4, "unroll": 1})
    count = touched(trace, Operation.LDG)
    assert set(count) == tensor_bytes(trace, "x")
    addresses = issued(trace, Operation.LDG)[0].addresses
    assert addresses is not None
    assert [addresses[lane] - addresses[0] for lane in range(4)] == [0, 32, 64, 96]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("copy,megabytes=0.1", 104_864),
        ("copy,megabytes=0.1,bytes_per_lane=4", 104_860),
        ("saxpy,megabytes=1", KIB * KIB),
    ],
)
def test_a_size_is_rounded_up_to_whole_vectors(text: str, size: int) -> None:
    """0.1 MiB are 104,857.6 bytes."""
    (trace,) = from_spec(text)
    assert {tensor.bytes for tensor in trace.tensors} == {size}


@pytest.mark.parametrize("kind", ["read", "init", "copy", "scale", "triad"])
def test_stream_reads_and_writes_one_double_a_thread(kind: str) -> None:
    (trace,) = named("stream", {"kind": kind, "megabytes": 0.25, "threads": 512, "shared_bytes": 4096})
    mix = info(trace)["mix"]
    warps = (KIB * 256) // 8 // 32
    assert mix.get("LDG", 0) == warps * {"read": 1, "init": 0, "copy": 1, "scale": 1, "triad": 2}[kind]
    assert mix.get("STG", 0) == warps * (kind != "read")
    assert mix["IMAD"] >= 13 * warps
    assert trace.shared_bytes_per_block == 4096


def test_the_index_of_a_stream_is_ready_after_about_85_cycles() -> None:
    (trace,) = named("stream", {"megabytes": 0.125})
    ready: dict[int, int] = {}
    issue = 0
    for instruction in trace.flat().instructions:
        issue = max([issue + 2, *(ready.get(register, 0) for register in instruction.src)])
        if instruction.operation is Operation.LDG:
            break
        latency = 20 if instruction.operation is Operation.S2R else 4
        ready.update(dict.fromkeys(instruction.dst, issue + latency))
    assert issue == pytest.approx(85, abs=4)


def test_fusing_a_chain_saves_all_intermediate_traffic() -> None:
    parts = named("chain", {"stages": 5, "megabytes": 0.0625})
    (whole,) = named("chain", {"stages": 5, "megabytes": 0.0625, "fused": 1})
    assert len(parts) == 5
    loads = [info(one)["mix"]["LDG"] for one in parts]
    assert sum(loads) == 5 * info(whole)["mix"]["LDG"]
    names = [operator for one in parts for operator in one.operators]
    assert names == list(whole.operators)
    for before, after in pairwise(parts):
        assert before.tensors[1] == after.tensors[0]
    assert [tensor.kind for tensor in whole.tensors] == ["input", "output"]


def test_a_stage_of_a_chain_is_as_many_instructions_as_are_asked_for() -> None:
    thin, thick = (
        info(named("chain", {"stages": 2, "megabytes": 0.0625, "fused": 1, "instructions": count})[0])
        for count in (1, 3)
    )
    for operation in ("FADD", "FMUL"):
        assert thick["mix"][operation] == 3 * thin["mix"][operation]
    assert thick["mix"]["LDG"] == thin["mix"]["LDG"]


@pytest.mark.parametrize(
    ("kilobytes", "stride", "order"), [(4, 128, "random"), (3, 32, "linear"), (8, 8, "random")]
)
def test_a_chase_visits_every_element_before_one_comes_again(kilobytes: int, stride: int, order: str) -> None:
    count = kilobytes * KIB // stride
    (trace,) = named(
        "chase", {"kilobytes": kilobytes, "stride": stride, "order": order, "loads": 2 * count, "unroll": 8}
    )
    chased = [item.addresses[0] for item in issued(trace, Operation.LDG) if item.mask == 1 and item.addresses]
    base = trace.tensors[0].base_address
    chased = chased[-2 * count :]
    assert sorted(chased[:count]) == [base + stride * element for element in range(count)]
    assert chased[:count] == chased[count:]
    warmed = {
        address
        for item in issued(trace, Operation.LDG)
        if trace.operators[trace.flat().instructions[item.static].operator] == "warm"
        for lane, address in enumerate(item.addresses or ())
        if item.mask >> lane & 1
    }
    assert warmed == set(chased)
    instructions = [
        one for one in trace.flat().instructions if one.operation is Operation.LDG and one.mask == 1
    ]
    assert all(one.dst[0] in one.src for one in instructions)


def test_golden_steps_are_coprime() -> None:
    assert all(len({i * golden_step(n) % n for i in range(n)}) == n for n in range(1, 200))


@pytest.mark.parametrize("ways", [1, 2, 3, 5, 16, 31, 32])
def test_conflicts_have_the_degree_that_was_asked_for(ways: int) -> None:
    (trace,) = named("shared_conflict", {"ways": ways, "loads": 16})
    for item in issued(trace, Operation.LDS):
        assert item.addresses is not None
        assert bank_cycles(item.addresses, item.mask, 4, 32, 4) == ways


def test_shared_bandwidth_has_no_conflicts() -> None:
    for width in (4, 8, 16):
        (trace,) = named("shared_bandwidth", {"threads": 128, "repeats": 2, "bytes_per_lane": width})
        for item in issued(trace, Operation.LDS):
            assert item.addresses is not None
            assert bank_cycles(item.addresses, item.mask, width, 32, 4) == width // 4


@pytest.mark.parametrize("stride", [0, 1, 3, 32])
def test_l1_stride_keeps_lanes_apart(stride: int) -> None:
    (trace,) = named("l1_stride", {"stride": stride, "repeats": 2, "threads": 64})
    for item in issued(trace, Operation.LDG):
        assert item.addresses is not None
        assert {b - a for a, b in zip(item.addresses, item.addresses[1:], strict=False)} == {4 * stride}


def test_cache_read_reads_the_buffer_in_every_block_and_pass() -> None:
    (trace,) = named("cache_read", {"kilobytes": 5, "blocks": 3, "threads": 96, "repeats": 2})
    count = touched(trace, Operation.LDG)
    assert set(count) == tensor_bytes(trace, "x")
    assert set(count.values()) == {3 * 2}


def test_barriers_and_atomics_are_counted() -> None:
    (trace,) = named("barrier", {"warps": 5, "repeats": 30, "blocks": 2})
    assert info(trace)["mix"]["BARRIER"] == 5 * 30 * 2
    for kind, operation in (("red", "REDG"), ("atom", "ATOMG"), ("shared", "ATOMS")):
        (trace,) = named("atomic", {"kind": kind, "addresses": 3, "blocks": 2, "threads": 64, "repeats": 12})
        assert info(trace)["mix"][operation] == 2 * 2 * 12
        assert len(touched(trace, Operation[operation])) == 3 * 4


@pytest.mark.parametrize(
    "operation", ["FFMA", "DADD", "MUFU", "PREDICATE", "SHUFFLE", *(one.name for one in OPERANDS)]
)
def test_dependent_chains_feed_themselves_and_independent_ones_do_not(operation: str) -> None:
    (chain,) = named("dependent", {"operation": operation, "count": 64})
    assert info(chain)["mix"][operation] >= 64
    found = [
        one
        for one in chain.flat().instructions
        if one.operation.name == operation and one.src and one.dst != (256,)
    ]
    last = found[-1]
    assert set(last.dst) <= set(last.src)
    (many,) = named("independent", {"operation": operation, "count": 64, "chains": 4, "warps": 2})
    assert info(many)["mix"][operation] >= 128
    if operation != "PREDICATE":
        body = [
            one.dst for one in many.flat().instructions if one.operation.name == operation and len(one.src)
        ]
        assert len(set(body)) >= 4


BAD = [
    ("kernel:cpoy", "unknown kernel 'cpoy'; did you mean 'copy'"),
    ("kernel:copy,megabyte=4", "unknown parameter 'megabyte'; did you mean 'megabytes'"),
    ("kernel:copy,megabytes", "'megabytes' is no key=value"),
    ("kernel:copy,megabytes=1,megabytes=2", "is given twice"),
    ("kernel:copy,megabytes=many", "'many' is not a number; give"),
    ("kernel:copy,megabytes=-1", "-1 is out of range"),
    ("kernel:copy,megabytes=nan", "nan is out of range"),
    ("kernel:copy,threads=2.5", "'2.5' is not a whole number"),
    ("kernel:copy,threads=2048", "2048 is out of range; give 1 to 1,024"),
    ("kernel:copy,bytes_per_lane=12", "12 bytes a lane; use 4, 8 or 16"),
    ("kernel:chase,stride=65536,kilobytes=32", "32768 bytes hold no element of 65536; give 64 KiB or more"),
    ("kernel:copy,unroll=64", "needs too many registers; unroll less"),
    ("kernel:chase,order=backwards", "unknown choice 'backwards'; did you mean"),
    ("kernel:chase,stride=12,kilobytes=12", "is no multiple of 8"),
    ("kernel:chase,loads=7,unroll=2", "is no multiple of unroll=2"),
    ("kernel:chase,cache=xx", "unknown cache operator 'xx'"),
    ("kernel:read,stride=7", "stride 7 does not divide"),
    ("kernel:dependent,operation=LDG", "LDG is no arithmetic"),
    ("kernel:dependent,operation=FFMX", "unknown operation 'FFMX'"),
    ("kernel:independent,count=7", "is no multiple of 8 chains"),
    ("kernel:stream,kind=add", "unknown choice 'add'"),
    ("nothing-here", "is neither a file nor a named kernel"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_wrong_names_and_parameters_are_answered_in_one_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        traces_from(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_trace_is_named_by_file_or_by_kernel(tmp_path: Path) -> None:
    traces = traces_from("kernel:chain,stages=2,megabytes=0.0625")
    path = save(traces, tmp_path / "a.trace.npz")
    assert traces_from(str(path)) == traces
    assert named("copy", {"megabytes": 1, "threads": "128"})[0].threads_per_block == 128


def test_memory_instructions_take_their_address_from_a_register() -> None:
    for name in kernel_names():
        for trace in named(name, {}):
            for instruction in trace.flat().instructions:
                if is_memory(instruction.operation):
                    assert instruction.src
                    assert instruction.src[0] != 255
