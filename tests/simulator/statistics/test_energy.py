"""Energy: hand-added numbers, conservation over levels, a closed form on a copy; every number counts."""

import pytest

from hwmodels import Gpu
from hwmodels.energy import EnergySpec, warp_energy_fj
from hwmodels.gpu import gpu_keys
from hwmodels.operations import Operation, Pipeline, multiply_adds_of
from simulator import replay
from simulator.statistics.energy import LEVELS, energy_fj
from simulator.statistics.result import Result
from simulator.trace.kernels.streams import stream
from tests.simulator.statistics.synthetic import CARD, FFMA, HEADERS, set_counts, synthetic_run

SMALL = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")


@pytest.fixture(scope="module")
def copied() -> Result:
    return replay(stream("copy", 0.25, 256), SMALL, engine="reference")


def test_hand_added_levels() -> None:
    run = synthetic_run()
    kernel = run.kernels[0]
    kernel.counts = [0] * len(kernel.counts)
    kernel.operations = [0] * 56
    set_counts(kernel, dram_read_sectors=3, dram_write_sectors=2, request_bytes=64, reply_bytes=128)
    set_counts(kernel, l1_global_load_sectors=4, l1_global_store_sectors=1, shared_load_bytes=10)
    set_counts(kernel, warp_instructions=10, thread_instructions=160)
    kernel.operations[FFMA] = 10
    found = energy_fj(Result(run, HEADERS, CARD, "none", verify=False).source, 0)
    assert found == {
        "dram": 5 * 32 * 160_000,
        "l2": 192 * 120_000,
        "l1": 5 * 32 * 40_000,
        "shared": 10 * 30_000,
        # Ten warp instructions with half of their lanes.
        "instructions": 10 * 1_600_000 // 2,
        "matrix": 0,
    }


def test_levels_add_up_to_the_kernel(copied: Result) -> None:
    for row in copied.kernels.to_dict("records"):
        parts = copied.energy[copied.energy["kernel"] == row["kernel"]]
        assert list(parts["level"]) == list(LEVELS)
        assert parts["energy_uj"].sum() == pytest.approx(row["energy_uj"], rel=1e-12)
        assert parts["pct"].sum() == pytest.approx(100)


def test_a_copy_against_its_closed_form(copied: Result) -> None:
    """Every byte crosses L2 and L1 once each way; DRAM reads half and may write less: L2 keeps some."""
    energy, half = SMALL.energy, 1 << 18
    rows = {row["level"]: row for row in copied.energy.to_dict("records")}
    assert rows["l2"]["bytes"] == rows["l1"]["bytes"] == 2 * half
    assert rows["l2"]["energy_uj"] == pytest.approx(2 * half * energy.l2_fj_per_byte / 1e9)
    assert rows["l1"]["energy_uj"] == pytest.approx(2 * half * energy.l1_fj_per_byte / 1e9)
    assert rows["shared"]["energy_uj"] == rows["matrix"]["energy_uj"] == 0
    kernel = copied.kernels.iloc[0]
    left = kernel["dirty_bytes_left"]
    assert rows["dram"]["energy_uj"] == pytest.approx((2 * half - left) * energy.dram_fj_per_byte / 1e9)


def test_every_energy_of_a_card_counts() -> None:
    """Each key by itself moves the energy of the class or level that it names."""
    spec = SMALL.energy
    sample = {
        "integer_fj": Operation.ALU,
        "fp32_fj": Operation.FFMA,
        "fp16_fj": Operation.HFMA2,
        "fp64_fj": Operation.DFMA,
        "special_fj": Operation.MUFU,
        "matrix_fj_per_multiply_add": Operation.HMMA_884_F32,
    }
    keys = [key.removeprefix("energy.") for key in gpu_keys() if key.startswith("energy.")]
    assert len(keys) == len(EnergySpec.__dataclass_fields__)
    for key in keys:
        more = SMALL.with_overrides({f"energy.{key}": getattr(spec, key) + 1000})
        if key in sample:
            operation = sample[key]
            pipeline = SMALL.operations[operation].pipeline
            moved = warp_energy_fj(more.energy, operation, pipeline) - warp_energy_fj(
                spec, operation, pipeline
            )
            assert moved == 1000 * (multiply_adds_of(operation) if pipeline is Pipeline.TENSOR else 32)
        else:
            facts, changed = Result(synthetic_run(), HEADERS, SMALL, verify=False).card, None
            changed = Result(synthetic_run(), HEADERS, more, verify=False).card
            differs = [new - old for new, old in zip(changed.fj_per_byte, facts.fj_per_byte, strict=True)]
            assert sorted(differs) == [0, 0, 0, 1000]


def test_published_bits_and_bytes_agree() -> None:
    """GPUJoule prints nanojoules a transaction and picojoules a bit; the cards hold the latter as bytes."""
    for key, nanojoules, transaction_bytes in (
        ("l2_fj_per_byte", 3.96, 32),
        ("l1_fj_per_byte", 5.99, 128),
        ("shared_fj_per_byte", 5.45, 128),
    ):
        assert getattr(SMALL.energy, key) == pytest.approx(nanojoules * 1e6 / transaction_bytes, rel=0.001)
    gddr = Gpu.from_card("rtx-a6000").energy.dram_fj_per_byte
    assert gddr == pytest.approx(7.82e6 / 32, rel=0.001)
