"""Pairs of rows: which belong together, their ratio, and the sign of a cap's effect."""

import pytest

from experiments.validation.hfuse_kernels import NEEDED, hfuse_seconds, hfuse_trace
from experiments.validation.hfuse_shapes import hfuse_request
from experiments.validation.judge import BY_SIGN, COVERED, Judged, document, groups
from experiments.validation.measurements import Measurement
from experiments.validation.relations import CAP, FUSED, relations, summary
from experiments.validation.request import OWN_SPILLS, Request
from hwmodels import Gpu
from hwmodels.operations import Operation


def kernel(quantity, theirs, ours, family, status=COVERED, unit="us"):
    row = Measurement("rows.csv:2", "A100", quantity, theirs, unit, "", "", "high")
    return Judged(row, "a100-sxm-40gb", ("kernel", "GA100", family), ours, status)


def test_the_same_work_fused_and_apart_is_one_pair():
    rows = [
        kernel("kernel.a", 10.0, 11.0, "liger_rms_norm 8x16 float16"),
        kernel("kernel.b", 40.0, 40.0, "rms_norm_eager_half 8x16 float16, one by one"),
        kernel("kernel.c", 40.0, 20.0, "rms_norm_eager 8x32 float16, one by one"),
    ]
    (pair,) = relations(rows)
    assert (pair.kind, pair.name) == (FUSED, "rms_norm 8x16 float16")
    assert (pair.theirs, pair.ours) == (0.25, 0.275)
    assert pair.error_pct == pytest.approx(10.0)
    assert summary([pair])[FUSED]["mean_abs_error_pct"] == pytest.approx(10.0)


def test_a_librarys_kernel_stands_beside_the_frameworks_own():
    rows = [
        kernel("kernel.a", 10.0, 11.0, "liger_layer_norm 8x16 float32"),
        kernel("kernel.b", 20.0, 20.0, "layer_norm_twice 8x16 float32"),
    ]
    (pair,) = relations(rows)
    assert (pair.name, pair.theirs, pair.ours) == ("layer_norm 8x16 float32", 0.5, 0.55)


def test_of_rates_the_smaller_is_the_slower():
    rows = [
        kernel("kernel.a", 100.0, 100.0, "softmax 8x16 float32", unit="GB/s"),
        kernel("kernel.b", 50.0, 25.0, "softmax_eager 8x16 float32, one by one", unit="GB/s"),
    ]
    (pair,) = relations(rows)
    assert (pair.theirs, pair.ours) == (0.5, 0.25)


def test_a_speed_up_is_a_pair_by_itself():
    (pair,) = relations([kernel("kernel.a", 2.0, 1.6, "bias_softmax 8x16x2, speed-up", unit="x")])
    assert (pair.theirs, pair.ours) == (0.5, 0.625)


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [(2.0, 1.1, True), (0.8, 0.97, True), (1.01, 0.99, True), (1.05, 0.99, False), (0.9, 1.1, False)],
)
def test_a_cap_is_judged_by_its_sign(theirs, ours, same):
    rows = [
        kernel("kernel.hfuse.x.default_regs", 100.0, 50.0, "hfuse x, default_regs"),
        kernel("kernel.hfuse.x.reg_capped", 100.0 * theirs, 50.0 * ours, "hfuse x, reg_capped", BY_SIGN),
    ]
    (pair,) = relations(rows)
    assert (pair.kind, pair.same_sign) == (CAP, same)
    assert len(groups(rows)) == document(rows)["covered"] == document(rows)["by_sign"] == 1


def test_spills_are_what_a_body_needs_beyond_the_cap():
    """Written once for each element, read in each of the 20 turns over planes."""
    free, capped = (hfuse_trace("max_pool", "upsample", "shared threads", 10, 512, cap) for cap in (64, 32))
    assert free.local_bytes_per_thread == 0
    assert capped.local_bytes_per_thread == 4 * (NEEDED["upsample"] - 32)
    operations = [one.operation for one in capped.flat().instructions]
    assert operations.count(Operation.STL) == operations.count(Operation.LDL) == NEEDED["upsample"] - 32


def test_a_cap_harms_where_it_spills_and_helps_where_it_only_lets_more_threads_in():
    gpu = Gpu.from_card("v100-sxm2-16gb")
    harmed = [
        hfuse_seconds(gpu, "histogram", "upsample", "threads apart", 10_000, 1024, cap) for cap in (64, 32)
    ]
    helped = [
        hfuse_seconds(gpu, "histogram", "max_pool", "threads in turn", 10_000, 768, cap) for cap in (64, 32)
    ]
    assert harmed[1] > 1.3 * harmed[0]
    assert helped[1] < 0.9 * helped[0]


def test_capped_pairs_are_asked_for_and_marked():
    wanted = hfuse_request(
        "kernelHistogram1D_MaxPoolForward_0", "reg_capped", "grid 10000 block 768 threads, 32 regs"
    )
    assert isinstance(wanted, Request)
    assert wanted.method == OWN_SPILLS
