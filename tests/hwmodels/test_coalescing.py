"""Coalescing against sets of byte addresses, and the tag stage against the published stride table of A100."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.coalescing import coalesce, tag_cycles
from hwmodels.shared_memory import bank_cycles

FULL = 0xFFFFFFFF
# PARAMETERS.md 5.2: float stride → (cycles of the rule there, published cycles or None), A100.
STRIDES = {
    1: (1.00, None), 2: (2.00, 2.0), 3: (1.44, 1.63), 4: (4.00, 4.0), 5: (2.00, 2.20), 6: (2.38, 2.36),
    7: (2.50, 2.67), 8: (8.00, None), 9: (3.00, 3.03), 10: (3.31, 3.31), 11: (3.50, 3.64), 12: (4.00, 4.00),
    13: (4.00, 4.02), 14: (4.00, 4.00), 15: (4.25, 4.45), 16: (16.00, None), 17: (5.00, 5.1), 18: (5.19, 5.1),
    19: (5.50, 5.6), 20: (5.38, 5.3), 21: (6.00, 6.0), 22: (6.00, 6.1), 23: (6.12, 6.2), 24: (8.00, 8.0),
    25: (7.00, 7.0), 26: (7.00, 7.1), 27: (7.06, 7.3), 28: (7.12, 7.3), 29: (8.00, 8.0), 30: (8.00, 8.0),
    31: (8.50, 8.5), 32: (32.00, 32.0), 33: (8.81, 8.8),
}  # fmt: skip

# Clusters make lanes meet in lines and sectors; plain random addresses hardly ever would.
lane_addresses = st.one_of(
    st.lists(st.integers(0, 1500), min_size=32, max_size=32),
    st.lists(st.integers(0, 2**48 - 256), min_size=32, max_size=32),
    st.builds(
        lambda base, stride: [base + stride * lane for lane in range(32)],
        st.integers(2**20, 2**40),
        st.integers(-300, 300),
    ),
)
masks = st.one_of(st.just(FULL), st.integers(0, FULL))


def coalesced(addresses, mask, bytes_per_lane):
    lines, sectors = [-7] * 128, [-7] * 128
    count = coalesce(addresses, mask, bytes_per_lane, lines, sectors)
    assert lines[count:] == sectors[count:] == [-7] * (128 - count)
    return lines[:count], sectors[:count]


@given(lane_addresses, masks, st.sampled_from([1, 2, 4, 8, 12, 16]))
def test_lines_and_sectors_are_those_of_the_touched_bytes(addresses, mask, bytes_per_lane):
    touched = {
        addresses[lane] + byte for lane in range(32) if mask >> lane & 1 for byte in range(bytes_per_lane)
    }
    expected = dict.fromkeys(sorted({byte // 128 for byte in touched}), 0)
    for byte in touched:
        expected[byte // 128] |= 1 << (byte % 128 // 32)
    lines, sectors = coalesced(addresses, mask, bytes_per_lane)
    assert dict(zip(lines, sectors, strict=True)) == expected
    assert lines == sorted(expected)


@given(st.permutations(range(32)), st.integers(0, 40))
def test_the_order_of_lanes_does_not_matter(order, stride):
    addresses = [4096 + 4 * stride * lane for lane in range(32)]
    assert coalesced([addresses[lane] for lane in order], FULL, 4) == coalesced(addresses, FULL, 4)


def test_contiguous_words_fill_one_line_and_no_lane_touches_none():
    assert coalesced([128 * 9 + 4 * lane for lane in range(32)], FULL, 4) == ([9], [0b1111])
    assert coalesced([0] * 32, 0, 4) == ([], [])


def fold_by_bits(line, width):
    bank = 0
    while line and width:
        bank ^= line % (1 << width)
        line >>= width
    return bank


@given(st.sets(st.integers(0, 2**41 - 1), max_size=64), st.integers(0, 5))
def test_tag_cycles_are_the_fullest_bank(lines, width):
    loads = [0] * (1 << width)
    for line in lines:
        loads[fold_by_bits(line, width)] += 1
    assert tag_cycles(sorted(lines), len(lines), 1 << width) == max(loads)


def load_cycles(stride):
    """Mean over two warps and eight bases 16 bytes apart, as the published table was taken."""
    total = 0
    for base in range(0, 128, 16):
        for warp in range(2):
            addresses = [base + 4 * stride * (32 * warp + lane) for lane in range(32)]
            lines, _ = coalesced(addresses, FULL, 4)
            total += max(tag_cycles(lines, len(lines), 4), bank_cycles(addresses, FULL, 4, 32, 4))
    return total / 16


def test_stride_table_of_the_published_rule():
    for stride, (cycles, _) in STRIDES.items():
        assert abs(load_cycles(stride) - cycles) <= 0.01, stride


def test_strides_against_measured_cycles():
    errors = [
        abs(load_cycles(stride) - measured) / measured
        for stride, (_, measured) in STRIDES.items()
        if measured is not None and stride <= 32
    ]
    assert sum(errors) / len(errors) <= 0.02
    assert max(errors) <= 0.12


@settings(max_examples=30)
@given(st.integers(0, 64), st.integers(0, 2**30), st.permutations(range(32)))
def test_tag_cycles_lie_between_the_bounds_of_any_hash(stride, base, order):
    lines, _ = coalesced([base + 4 * stride * lane for lane in order], FULL, 4)
    assert (len(lines) + 3) // 4 <= tag_cycles(lines, len(lines), 4) <= len(lines)
