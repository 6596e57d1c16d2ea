"""Occupancy against what others published: profiler rows of real kernels and Nsight Compute's own tables."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from hwmodels.block_limits import BlockNeeds, launch_problem, require_launchable
from hwmodels.errors import InputError
from hwmodels.kineto_occupancy import kineto_occupancy_pct
from hwmodels.occupancy import occupancy_of
from hwmodels.occupancy_rules import register_limit, warp_limit
from hwmodels.sm_limits import CAPABILITIES, SmLimits

ROWS = Path(__file__).parents[2] / "experiments" / "data" / "occupancy_kineto.csv"


def limits(capability: str) -> SmLimits:
    return SmLimits.of_capability(capability)


def test_every_profiler_row_is_reproduced() -> None:
    with ROWS.open() as file:
        rows = list(csv.DictReader(file))
    wrong = [
        row
        for row in rows
        if kineto_occupancy_pct(
            limits(row["compute_capability"]),
            int(row["sm_count"]),
            int(row["threads_per_block"]),
            int(row["registers_per_thread"]),
            int(row["shared_bytes_per_block"]),
            int(row["grid_blocks"]),
        )
        != int(row["reported_occupancy_pct"])
    ]
    assert len(rows) == 1211
    assert not wrong


@pytest.mark.external
def test_our_copies_of_the_facts_are_current(shared_folder: Path) -> None:
    for name in ("dram_reference", "occupancy_kineto", "published_measurements"):
        copy = ROWS.parent / f"{name}.csv"
        assert copy.read_bytes() == (shared_folder / "facts" / copy.name).read_bytes(), copy.name


def test_profiler_quirks() -> None:
    volta = limits("7.0")
    assert kineto_occupancy_pct(volta, 0, 128, 32, 0, 100) == -1
    assert kineto_occupancy_pct(volta, 80, 128, 32, 49_153, 100_000) == 0  # more than the default 48 KiB
    assert kineto_occupancy_pct(volta, 80, 128, 32, 49_152, 100_000) == 13  # 12.5 rounds up


# capability, threads, registers, shared bytes, barriers, carve-out → blocks by limiter, theoretical %
NSIGHT = [
    (
        "10.0",
        384,
        168,
        205_696,
        7,
        None,
        {"registers": 1, "shared_memory": 1, "warps": 5, "blocks": 32, "barriers": 9},
        18.75,
    ),
    ("8.9", 256, 37, 0, 0, None, {"registers": 6, "warps": 6}, 100.0),
    ("8.9", 256, 54, 29_820, 0, None, {"registers": 4, "shared_memory": 3}, 50.0),
    (
        "9.0",
        128,
        64,
        30_740,
        2,
        None,
        {"registers": 8, "shared_memory": 7, "warps": 16, "barriers": 32},
        43.75,
    ),
    ("8.9", 128, 32, 2_048, 0, 64, {"shared_memory": 21}, None),
    ("8.9", 128, 32, 1_024, 0, 32, {"shared_memory": 16}, None),
]


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "barriers", "carveout", "blocks", "percent"), NSIGHT
)
def test_published_nsight_examples(
    capability: str,
    threads: int,
    registers: int,
    shared: int,
    barriers: int,
    carveout: int | None,
    blocks: dict[str, int],
    percent: float | None,
) -> None:
    answer = occupancy_of(limits(capability), BlockNeeds(threads, registers, shared, barriers, carveout))
    assert {name: answer.limits[name] for name in blocks} == blocks
    if percent is not None:
        assert answer.theoretical_pct == pytest.approx(percent)


def test_published_pascal_example_by_the_bare_rules() -> None:
    assert register_limit(32, 8, 65_536, 4, 256, 255) == 8
    assert warp_limit(32, 64) == 2


def test_several_limiters_bind_at_once() -> None:
    answer = occupancy_of(limits("10.0"), BlockNeeds(384, 168, 205_696, 7))
    assert answer.limiters == ("registers", "shared_memory")


def test_the_register_file_is_a_variable() -> None:
    for factor in (1, 2, 4):
        wide = replace(limits("8.0"), register_file_registers=65_536 * factor)
        assert occupancy_of(wide, BlockNeeds(128, 255, 0)).limits["registers"] == 2 * factor


def test_a_preferred_carveout_is_raised_to_a_size_that_exists_and_fits() -> None:
    def carveout_kib(preferred: int | None, shared: int) -> int:
        return occupancy_of(limits("8.0"), BlockNeeds(128, 32, shared, 0, preferred)).carveout_bytes // 1024

    assert carveout_kib(None, 0) == 164
    assert carveout_kib(33, 0) == 64
    assert carveout_kib(8, 60_000) == 64
    assert carveout_kib(0, 166_912) == 164


@pytest.mark.parametrize(
    ("needs", "problem"),
    [
        (BlockNeeds(1025, 32, 0), "1025 threads a block, 1 over the limit of 1024"),
        (BlockNeeds(128, 300, 0), "300 registers a thread, 45 over the limit of 255"),
        (BlockNeeds(1024, 65, 0), "73728 registers a block, 8192 over the limit of 65536"),
        (BlockNeeds(128, 32, 166_913), "166913 bytes of shared memory a block, 1 over the limit of 166912"),
        (
            BlockNeeds(128, 32, 49_153, opt_in=False),
            "49153 bytes of shared memory a block, 1 over the limit of 49152",
        ),
    ],
)
def test_a_kernel_that_cannot_launch_says_which_limit_and_by_how_much(
    needs: BlockNeeds, problem: str
) -> None:
    ampere = limits("8.0")
    answer = occupancy_of(ampere, needs)
    assert (answer.blocks_per_sm, answer.cannot_launch) == (0, problem)
    with pytest.raises(InputError, match=problem):
        require_launchable(ampere, needs, "kernel k")


@pytest.mark.parametrize(
    "needs",
    [
        BlockNeeds(0, 1, 0),
        BlockNeeds(-1, 1, 0),
        BlockNeeds(1, -1, 0),
        BlockNeeds(1, 1, -4),
        BlockNeeds(1, 1, 2**70),
        BlockNeeds(1, 1, 0, -1),
        BlockNeeds(1, 1, 0, 0, 165),
        BlockNeeds(1, 1, 0, 0, -1),
    ],
)
def test_numbers_that_no_kernel_can_have_are_refused(needs: BlockNeeds) -> None:
    with pytest.raises(InputError, match="out of range"):
        occupancy_of(limits("8.0"), needs)


def test_unknown_capability_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown compute capability '9\.1'; did you mean"):
        limits("9.1")


def test_every_capability_answers() -> None:
    for capability in CAPABILITIES:
        assert launch_problem(limits(capability), BlockNeeds(32, 16, 0)) == ""
        assert occupancy_of(limits(capability), BlockNeeds(32, 16, 0)).limiters == ("blocks",)
