"""Latencies as pointer chases see them: shared memory, L1, L2 near and far, DRAM, constants.

One warp, one lane, on the whole card. Loads beyond L1 are `.cg`, so that the footprint decides which
level answers. The plateaus between one L2 partition and all of L2 need a warm-up of many megabytes: they are
measured on the smallest slice of the card, with the footprint cut alike. Not modelled: the second level of
the TLB, so the published cold first access (1,029 cycles on a V100) has no counterpart here.
"""

from collections.abc import Callable
from fractions import Fraction

from experiments.probes.chases import (
    FIRST_ADDRESS,
    chase,
    chase_lines,
    constant_chase,
    element_at,
    shared_chase,
)
from experiments.probes.measure import Load, last_loads, marginal_cycles, mean_latency, mean_step, replayed
from experiments.probes.published import Published, boards_of, die_boards, published
from experiments.probes.row import Row
from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES
from hwmodels.crossbar import distance_cycles
from hwmodels.slice_hash import home_of, line_from
from simulator.machine.options import Preload

KIB, MIB = 1 << 10, 1 << 20
LOADS = 512
SKIPPED = 32
"""First loads of a chase, which meet the cold instruction caches."""
ADDRESS_CYCLES = 6
"""Arithmetic between two loads of one published kind of chase: 29 cycles in shared memory against 23."""
CYCLES = "SM cycles"
PLAIN_CHASES = ("lat.chase.l1", "lat.l1_hit")


def latency(gpu: Gpu) -> list[Row]:
    """All plateaus of a card."""
    return [*inside_sm(gpu), *l2_hits(gpu), *dram(gpu), *between_partitions(gpu)]


def smallest_slice(gpu: Gpu) -> Gpu:
    """The smallest honest slice of a card: the greatest divisor that all of its parts allow."""
    for denominator in range(gpu.memory_partitions, 1, -1):
        counts = (gpu.sm_count, gpu.l2.slices // gpu.l2.partitions, gpu.memory_partitions, gpu.dram.channels)
        if not any(count % denominator for count in counts):
            return gpu.scaled(f"1/{denominator}")
    return gpu


def inside_sm(gpu: Gpu) -> list[Row]:
    """What does not leave the SM."""
    die, boards = die_boards(gpu), boards_of(gpu)
    with_arithmetic = f"{ADDRESS_CYCLES} cycles of address arithmetic between loads"

    def shared(cycles: int) -> float:
        return marginal_cycles(gpu, lambda rounds: [shared_chase(rounds, cycles)], 128)

    def l1(cycles: int) -> float:
        trace = chase(32 * KIB, 256, warm=True, cache="ca", address_cycles=cycles)
        return mean_step(last_loads(replayed([trace], gpu, keep_requests=True), 224))

    random = published(die, PLAIN_CHASES, method="random") or published(boards, PLAIN_CHASES)
    rows = [
        ("shared load", shared(0), published(die, ("lat.shared", "lat.shared_load"), without="chase"), ""),
        (
            "shared load, chase with arithmetic",
            shared(ADDRESS_CYCLES),
            published(die, "lat.shared", method="chase"),
            with_arithmetic,
        ),
        ("L1 hit", l1(0), random, "32 KiB"),
    ]
    if gpu.architecture != "volta":
        luo = published(die, "lat.l1_hit", method="pointer chase", without="random")
        rows.append(("L1 hit, chase with arithmetic", l1(ADDRESS_CYCLES), luo, with_arithmetic))
    constant = marginal_cycles(gpu, lambda rounds: [constant_chase(rounds)], 128)
    rows.append(("constant, first level", constant, published(boards, "lat.const_l1"), ""))
    return [Row(gpu.name, name, CYCLES, ours, theirs, how) for name, ours, theirs, how in rows]


def l2_hits(gpu: Gpu) -> list[Row]:
    """Hits in the nearest L2: the mean over slices, and the nearest slice."""
    boards = boards_of(gpu)
    loads = _loads(gpu, chase(MIB, LOADS, warm=True))
    near = ("lat.chase.l2", "lat.chase.l2_near", "lat.l2_hit_near")
    mean = published(boards, near, method="chase") or published(boards, near)
    nearest = published(boards, "lat.l2_hit", method="one location") or published(
        boards, "lat.l2_hit", method="single dependent"
    )
    return [
        Row(gpu.name, "L2 hit near", CYCLES, mean_step(loads), mean, "1 MiB, random"),
        Row(
            gpu.name,
            "L2 hit, nearest slice",
            CYCLES,
            min(one.latency_cycles for one in loads),
            nearest,
            "the shortest of these",
        ),
    ]


def dram(gpu: Gpu) -> list[Row]:
    """Loads that miss everywhere, with and without the first TLB level's misses, and with the row open."""
    boards = boards_of(gpu)
    tlb_warm = _loads(gpu, chase(16 * MIB, LOADS, stride_bytes=32 * KIB))
    large = _loads(gpu, chase(1024 * MIB, LOADS, stride_bytes=33 * KIB))
    plateau = _best(
        published(
            boards,
            ("lat.chase.dram", "lat.chase.dram_156MB", "lat.chase.dram_2.2GB", "lat.dram"),
            method="random",
        ),
        published(boards, "lat.dram"),
    )
    far, near = _split(large)
    rows = [
        (
            "DRAM, few pages",
            mean_step(tlb_warm),
            published(boards, "lat.chase.dram", method="16008"),
            "512 cold lines in 16 MiB",
        ),
        ("DRAM", mean_step(large), plateau, "512 cold lines in 1 GiB"),
    ]
    if gpu.l2.partitions > 1:
        rows += [
            (
                "DRAM, home near",
                mean_latency(near),
                published(boards, "lat.l2_miss_near"),
                "of these, home near",
            ),
            ("DRAM, home far", mean_latency(far), published(boards, "lat.l2_miss_far"), "of these, home far"),
        ]
    else:
        lines = chase_lines([_nearest_line(gpu, place) * LINE_BYTES for place in range(64)])
        shortest = min(one.latency_cycles for one in _loads(gpu, lines, 64))
        how = "nearest slice, row open"
        rows.append(("DRAM, one location", shortest, published(boards, "lat.dram_tlb_hit"), how))
    return [Row(gpu.name, name, CYCLES, ours, theirs, how) for name, ours, theirs, how in rows]


def between_partitions(gpu: Gpu) -> list[Row]:
    """A card with two L2 partitions: a hit at a far home, and the plateau between one partition and both."""
    if gpu.l2.partitions < 2:
        return []
    boards = boards_of(gpu)
    count = LOADS
    lines = [FIRST_ADDRESS + element_at(i, count) * 32 * KIB for i in range(count)]  # type: ignore[operator]
    homes = [Preload(address, LINE_BYTES) for address in lines]
    far, _ = _split(_loads(gpu, chase(count * 32 * KIB, LOADS, stride_bytes=32 * KIB), preload=homes))
    cluster = _best(
        published(boards, "lat.l2_hit_far", method="cluster"),
        published(boards, "lat.l2_hit_far", method="remote"),
    )
    part = smallest_slice(gpu)
    share = Fraction(part.l2.size_kib, gpu.l2.size_kib)
    rows = [
        Row(
            gpu.name,
            "L2 hit far",
            CYCLES,
            mean_latency(far),
            cluster,
            "first touch of lines that their home holds",
        )
    ]
    between = gpu.l2.size_kib * KIB * 37 // 50
    plateaus: list[tuple[str, int, Published | None]] = [
        (
            "L2 hit near, 4/5 of a partition",
            gpu.l2.size_kib * KIB * 2 // 5,
            published(boards, "lat.chase.l2_near", method="16008"),
        ),
        (
            "L2 between one partition and two",
            between,
            published(boards, ("lat.chase.l2_far", "lat.l2_hit_far"), method="random"),
        ),
    ]
    for name, whole_bytes, theirs in plateaus:
        footprint = int(whole_bytes * share) // (64 * KIB) * 64 * KIB
        loads = _loads(part, chase(footprint, 256, warm=True), 224)
        how = f"{whole_bytes / MIB:.1f} MiB on {share} of the card, warm"
        rows.append(Row(gpu.name, name, CYCLES, mean_step(loads), theirs, how))
    return rows


def _best(*choices: Published | None) -> Published | None:
    """The first that is there."""
    return next((one for one in choices if one is not None), None)


def _loads(gpu: Gpu, trace: object, count: int = LOADS - SKIPPED, **options: object) -> list[Load]:
    return last_loads(replayed([trace], gpu, keep_requests=True, **options), count)  # type: ignore[list-item, arg-type]


def _split(loads: list[Load]) -> tuple[list[Load], list[Load]]:
    """Loads that crossed between the partitions, and those that did not."""
    return [one for one in loads if "partition_link" in one.phases], [
        one for one in loads if "partition_link" not in one.phases
    ]


def _nearest_line(gpu: Gpu, place: int) -> int:
    """The line at a place of the slice that is nearest to SM 0, above the first address."""
    l2, crossbar = gpu.l2, gpu.crossbar

    def distance(number: int) -> int:
        return distance_cycles(0, number, gpu.sm_count, l2.slices, crossbar.spread_cycles)

    nearest: Callable[[int], int] = distance
    slice_id = min(range(l2.slices), key=nearest)
    first = FIRST_ADDRESS // LINE_BYTES // l2.slices
    line = line_from(slice_id, first + place, l2.slices, l2.partitions)
    assert home_of(line, l2.slices, l2.partitions) == slice_id
    return line
