"""Overrides, digest, dump, scale and derived numbers of a Gpu."""

import pytest
import yaml

from hwmodels import Gpu, cards
from hwmodels.errors import InputError
from hwmodels.gpu import gpu_keys
from hwmodels.kinds import Nanoseconds, Number, Numbers
from hwmodels.scale import valid_divisors

A100 = Gpu.from_card("a100-sxm-40gb")
V100 = Gpu.from_card("v100-sxm2-16gb")
FIXED = {"l1.line_bytes", "l1.sector_bytes", "dram.width_bits", "dram.row_bytes"}
# Keys whose nearest other value would break a relation with another key, with a value that does not.
OTHER = {
    "memory_partitions": 20,
    "sm.sub_cores": 2,
    "sm.warp_slots": 32,
    "sm.fetch_line_bytes": 256,
    "sm.instruction_bytes": 8,
    "sm.max_threads_per_block": 512,
    "shared_memory.carveouts_kib": [0, 16, 32, 64, 100, 132, 164],
    "shared_memory.size_kib": 100,
    "l1.tag_banks": 8,
    "crossbar.packet_bytes": 32,
    "l2.size_kib": 20480,
    "l2.slices": 160,
    "l2.partitions": 1,
    "l2.ways": 8,
    "dram.channels": 80,
    "dram.pseudo_channels_per_channel": 1,
    "dram.bank_groups": 2,
    "dram.banks_per_group": 2,
    "dram.rows": 65536,
    "dram.row_bytes": 2048,
}


def number_keys() -> list[str]:
    return [key for key, kind in gpu_keys().items() if isinstance(kind, (Number, Numbers, Nanoseconds))]


@pytest.mark.parametrize("key", [key for key in number_keys() if key not in FIXED])
def test_every_number_changes_the_digest_and_only_itself(key: str) -> None:
    before = A100.sources()
    old = before[key].value
    changed = None
    for value in [OTHER[key]] if key in OTHER else [old + 1, old - 1]:
        try:
            changed = A100.with_overrides({f"gpu.{key}": value})
            break
        except InputError:
            continue
    assert changed is not None
    assert changed.digest() != A100.digest()
    assert changed.with_overrides({key: old}).digest() == A100.digest()
    moved = {one for one, source in changed.sources().items() if source.value != before[one].value}
    follow = {"dram.bandwidth_gb_s"}
    if key.startswith("shared_memory."):
        follow |= {
            f"shared_memory.{one}" for one in ("carveouts_kib", "per_block_max_bytes", "default_limit_bytes")
        }
    assert key in moved <= {key} | follow
    assert changed.sources()[key][1:] == (before[key].unit, "override", "user")


@pytest.mark.parametrize(
    "key", ["sm.scheduler", "dram.page_policy", "dram.refresh", "dram.address_map", "architecture"]
)
def test_choices_change_the_digest_too(key: str) -> None:
    value = {
        "sm.scheduler": "lrr",
        "dram.page_policy": "closed",
        "dram.refresh": "all_bank",
        "dram.address_map": "row:bankgroup:bank:column",
        "architecture": "hopper",
    }[key]
    assert A100.with_overrides({key: value}).digest() != A100.digest()


def test_labels_do_not_change_the_digest() -> None:
    assert A100.with_overrides({"name": "mine", "die": "X1"}).digest() == A100.digest()


@pytest.mark.parametrize("name", cards())
def test_a_dump_is_a_card(name: str, tmp_path) -> None:
    gpu = Gpu.from_card(name)
    path = tmp_path / "copy.yaml"
    path.write_text(yaml.safe_dump(gpu.dump()))
    copy = Gpu.from_card(str(path))
    assert copy == gpu
    assert copy.digest() == gpu.digest()
    assert {source.confidence for source in copy.sources().values()} == {"user"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"l2.slces": 3}, r"gpu\.l2\.slces: unknown key 'l2\.slces'; did you mean 'l2\.slices'\?"),
        ({"gpu.size_kib": 3}, "did you mean '[a-z0-9_]+[.]size_kib'"),
        ({"register_file.size_kib": 8}, "8 is outside 16 to 2048 KiB; 16 is the nearest"),
        ({"register_file.size_kib": -(10**500)}, "a number of 1661 bits is outside 16 to 2048 KiB"),
        ({"register_file.size_kib": 256.5}, "256.5 is not whole; 256 or 257"),
        ({"register_file.size_kib": "big"}, "'big' is not a number; a whole number of KiB"),
        ({"register_file.size_kib": True}, "'True' is not a number"),
        ({"register_file.size_kib": None}, "'None' is not a number"),
        ({"register_file.size_kib": float("nan")}, "nan is not finite"),
        ({"dram.timing.cl_ns": float("inf")}, "inf is not finite"),
        ({"dram.timing.cl_ns": -0.1}, "-0.1 is outside 0 to 1000 ns; 0 is the nearest"),
        ({"dram.timing.cl": 14}, "did you mean 'dram.timing.cl_ns'"),
        ({"sm.scheduler": "GTO"}, r"'GTO' is not a choice; 'gto' \(choices: gto, lrr, oldest\)"),
        ({"dram.standard": "HBM4"}, "'HBM4' is not a choice; 'HBM"),
        ({"dram.bandwidth_gb_s": 900}, "derived from others; set dram.data_rate_mbps"),
        (
            {"dram.address_map": "row"},
            "dram.address_map 'row': bank needs its 2 bits exactly once",
        ),
        (
            {"dram.address_map": "?"},
            "'.' is not of the right form; a text such as 'row:bank:column:bankgroup'",
        ),
        ({"dram.address_map": "row:bank:colum:bankgroup"}, "'colum' is not a field"),
        ({"shared_memory.carveouts_kib": [8, 0]}, r"the list does not ascend; \[0, 8\]"),
        ({"shared_memory.carveouts_kib": 8}, "8 is not a list"),
        ({"operations.FFMA.pipeline": "FMAA"}, "'FMAA' is not a choice; 'FMA'"),
        ({"operations.FMMA.latency_cycles": 4}, "did you mean 'operations.FFMA.latency_cycles'"),
        ({"crossbar.request_latency_cycles": 0}, "0 is outside 2 to 1000 L2 cycles; 2 is the nearest"),
    ],
)
def test_a_wrong_override_is_one_line_with_the_nearest(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        A100.with_overrides(overrides)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"l2.slices": 90}, "90 do not divide among 40 memory partitions; 80 or 120"),
        ({"dram.channels": 41}, "41 do not divide among 40 memory partitions; 40 or 80"),
        ({"memory_partitions": 5}, "5 do not divide between 2 L2 partitions; 4 or 6"),
        (
            {"l2.size_kib": 40001},
            "40001 KiB are not whole sets of 16 lines in each of 80 slices; 40000 or 40160",
        ),
        ({"shared_memory.size_kib": 192}, "a carve-out of 192 KiB leaves no L1 of 192; at most 191"),
        ({"l1.unusable_kib": 192}, "leaves no L1 of 192 KiB; at most 191"),
        ({"l1.tag_banks": 3}, "3 is not a power of two; 2 or 4"),
        ({"dram.drain_low": 192}, r"not below drain_high \(64\); at most 63"),
        ({"dram.drain_high": 257}, r"above write_queue_depth \(256\).*; at most 256"),
        ({"dram.rows": 1000}, "1000 is not a power of two.*; 512 or 1024"),
        ({"dram.width_bits": 48}, "a burst of HBM2 on 48 pins is not one sector of 32 bytes; 64 pins"),
        ({"dram.timing.rc_ns": 20}, "shorter than ras_ns; at least 34"),
        ({"dram.refresh": "all_bank", "dram.timing.refi_ns": 100}, "the memory would only refresh"),
        ({"dram.timing.refi_pb_ns": 10}, "the banks would only refresh; above 10"),
        ({"crossbar.partition_link_latency_cycles": 0}, "0 with two L2 partitions; at least 1"),
        ({"crossbar.partition_link_bytes_per_cycle": 0}, "0 with two L2 partitions; at least 1"),
        ({"crossbar.spread_cycles": 89}, "joined without latency; at most 88"),
        ({"crossbar.reply_lookahead": 17}, "more than the FIFO holds; at most 16"),
        (
            {"sm.warp_slots": 62, "sm.max_threads_per_block": 64},
            "62 do not divide among 4 sub-cores; 60 or 64",
        ),
        ({"shared_memory.per_block_max_bytes": 166913}, r"size_kib \(164\); 166912 would, or change both"),
        ({"shared_memory.carveouts_kib": [0, 8]}, r"size_kib \(164\); \[0, 8, 164\] would, or change both"),
        (
            {"sm.warp_slots": 256, "sm.sub_cores": 2},
            "256 are more than 64 a sub-core; at most 128",
        ),
        ({"sm.warp_slots": 16}, "more than 16 warps hold; at most 512"),
        (
            {"register_file.allocation_unit": 4096, "register_file.size_kib": 16},
            "only 1024 registers; at most 1024",
        ),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        A100.with_overrides(overrides)


def test_an_operation_may_be_added_only_whole() -> None:
    key = "operations.HMMA_16816_F32"
    with pytest.raises(
        InputError, match=rf"{key}\.pipeline: an operation that this card lacks needs all its keys"
    ):
        V100.with_overrides({f"{key}.latency_cycles": 3})
    added = V100.with_overrides(
        {f"{key}.pipeline": "TENSOR", f"{key}.latency_cycles": 33, f"{key}.interval_tenths": 160}
    )
    assert added.dump()["operations"]["HMMA_16816_F32"] == {
        "pipeline": "TENSOR",
        "latency_cycles": 33,
        "interval_tenths": 160,
    }


def test_a_smaller_shared_memory_takes_its_limits_along() -> None:
    small = A100.with_overrides({"shared_memory.size_kib": 40}).shared_memory
    assert small.carveouts_kib == (0, 8, 16, 32, 40)
    assert small.per_block_max_bytes == small.default_limit_bytes == 39 * 1024


def test_clocks_are_whole_and_near() -> None:
    for period, mhz in ((A100.sm_period_fs, 1410), (A100.l2_period_fs, 1410), (A100.dram_period_fs, 1215)):
        assert isinstance(period, int)
        assert period == pytest.approx(1e9 / mhz, abs=0.5)


SMALLEST = {
    "v100-sxm2-16gb": 16,
    "v100-pcie-16gb": 16,
    "h100-pcie": 2,
    "h800-pcie": 2,
    "h200-sxm": 12,
    "gh200": 12,
    "rtx-3090": 2,
    "rtx-a6000": 12,
    "a40": 12,
    "l40": 2,
    "rtx-4090": 8,
}


@pytest.mark.parametrize("name", cards())
def test_the_smallest_slice_is_the_greatest_common_divisor(name: str) -> None:
    whole = Gpu.from_card(name)
    smallest = SMALLEST.get(name, 4)
    part = whole.scaled(f"1/{smallest}")
    assert part.sm_count * smallest == whole.sm_count
    assert part.memory_partitions * smallest == whole.memory_partitions
    assert part.l2.slices * smallest == whole.l2.slices
    assert part.l2.size_kib * smallest == whole.l2.size_kib
    assert part.dram.channels * smallest == whole.dram.channels
    assert part.dram.bandwidth_gb_s * smallest == pytest.approx(whole.dram.bandwidth_gb_s)
    link = whole.crossbar.partition_link_bytes_per_cycle
    assert part.crossbar.partition_link_bytes_per_cycle == pytest.approx(link / smallest, rel=0.01)
    assert part.launch.dispatch_blocks_per_kilocycle == pytest.approx(1000 / smallest, rel=0.01)
    assert part.slices_per_memory_partition == whole.slices_per_memory_partition
    assert part.channels_per_memory_partition == whole.channels_per_memory_partition
    assert part.memory_partitions % part.l2.partitions == 0
    assert (part.sm, part.l1, part.dram.timing) == (whole.sm, whole.l1, whole.dram.timing)
    assert part.digest() != whole.digest()
    for divisor in range(1, smallest + 1):
        if smallest % divisor == 0:
            whole.scaled(f"1/{divisor}")
    with pytest.raises(InputError, match=f"the nearest valid is 1/{smallest}$"):
        whole.scaled(f"1/{2 * smallest}")


def test_a_slice_of_v100_is_five_sms_and_384_kib() -> None:
    part = V100.scaled("1/16")
    assert (part.sm_count, part.l2.size_kib, part.scale) == (5, 384, "1/16")


def test_a_scale_that_does_not_divide_names_both_neighbours() -> None:
    with pytest.raises(
        InputError, match=r"gpu\.scale: 1/3 does not divide .*; the nearest valid is 1/2 or 1/4"
    ):
        A100.scaled("1/3")


@pytest.mark.parametrize("text", ["0.25", "1/0", "2/4", "1/-1", "quarter", "1/99999"])
def test_a_scale_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"gpu\.scale: .*; (write 1/N|a text such as)"):
        A100.scaled(text)
    with pytest.raises(InputError, match=r"gpu\.scale: "):
        A100.with_overrides({"scale": text})


def test_scale_is_applied_last_and_to_the_whole_card() -> None:
    first = A100.scaled("1/4").with_overrides({"l2.size_kib": 20480})
    last = A100.with_overrides({"l2.size_kib": 20480}).scaled("1/4")
    assert first == last
    assert first.l2.size_kib == 5120
    assert A100.scaled("1/4").scaled("1/2") == A100.scaled("1/2")
    assert A100.scaled("1/4").scaled("1/1") == A100
    assert "40960 before scale 1/4" in A100.scaled("1/4").sources()["l2.size_kib"].source


def test_two_partitions_keep_an_even_number_of_memory_partitions() -> None:
    values = dict(A100.entries)
    odd = {key: entry.value for key, entry in values.items()} | {
        "memory_partitions": 12,
        "sm_count": 36,
        "dram.channels": 12,
    }
    odd |= {"l2.slices": 24, "l2.size_kib": 12288}
    assert valid_divisors(odd) == [1, 2, 3, 6]


def test_bandwidth_is_shown_as_derived() -> None:
    shown = A100.sources()["dram.bandwidth_gb_s"]
    assert shown.value == pytest.approx(1555.2)
    assert shown.source.startswith("derived from dram.data_rate_mbps")
