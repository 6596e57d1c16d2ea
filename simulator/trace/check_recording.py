"""Whether a recording is consistent: tables, starts, masks, EXITs, barriers, and every address."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwmodels.operations import Operation, Space, space_of
from simulator.trace.check_instruction import refuse
from simulator.trace.check_program import space_limit
from simulator.trace.check_walk import check_lanes
from simulator.trace.recording import Recording, RecordingPage
from simulator.trace.schema import LANES, KernelTrace

CHUNK = 1 << 15
BASE_LIMIT = 1 << 60


def check_recording(trace: KernelTrace) -> None:
    """Raise an InputError at the first inconsistency."""
    assert trace.recording is not None, "only a recorded trace has a recording"
    recording = trace.recording
    place = f"kernel {trace.name!r}"
    if len(recording.variant_statics) != len(recording.variant_masks):
        refuse(place, "variants and masks differ in number", "write one mask a variant")
    if not len(recording.fetch_addresses) == len(recording.accesses) == len(recording.instructions) > 0:
        refuse(place, "the tables of static instructions differ in length or are empty", "write one row each")
    inside(place, "static instruction", recording.variant_statics, len(recording.instructions))
    if max(largest(recording.strides) * LANES, largest(recording.lists)) > BASE_LIMIT:
        refuse(place, "an address pattern is beyond 60 bits", "the file is damaged: write it again")
    blocks = [number for page in recording.pages for number in page.blocks.tolist()]
    if sorted(blocks) != list(range(trace.blocks)):
        refuse(place, f"records of {len(set(blocks))} of {trace.blocks} blocks", "record each block once")
    for number, page in enumerate(recording.pages):
        check_page(trace, recording, page, f"{place}, page {number}")


def largest(values: NDArray[Any]) -> int:
    """The greatest magnitude, as an integer that cannot overflow."""
    return max(abs(int(values.min(initial=0))), abs(int(values.max(initial=0))))


def inside(place: str, what: str, values: NDArray[Any], count: int) -> None:
    """Refuse an index that is not below `count`."""
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
        refuse(place, f"a {what} is not one of the {count}", "the file is damaged: write it again")


def check_page(trace: KernelTrace, recording: Recording, page: RecordingPage, place: str) -> None:
    """One page: shape first, then what each warp does."""
    if largest(page.bases) > BASE_LIMIT:
        refuse(place, "an address base is beyond 60 bits", "the file is damaged: write it again")
    rows = len(page.blocks) * trace.warps_per_block
    for name, starts, total in (
        ("instruction", page.instruction_starts, len(page.variants)),
        ("access", page.access_starts, len(page.bases)),
    ):
        falls = (
            len(starts) != rows + 1 or starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 0).any()
        )
        if falls:
            refuse(place, f"the {name} starts do not cover the page", "the file is damaged: write it again")
    if len(page.bases) != len(page.pattern_ids):
        refuse(place, "bases and patterns differ in number", "the file is damaged: write it again")
    patterns = len(recording.strides) + len(recording.deltas) + len(recording.lists)
    inside(place, "variant", page.variants, len(recording.variant_statics))
    inside(place, "pattern", page.pattern_ids, patterns)
    statics = recording.variant_statics[page.variants]
    consumed = np.concatenate(([0], np.cumsum(np.array(recording.accesses)[statics])))
    if (consumed[page.instruction_starts] != page.access_starts).any():
        refuse(
            place,
            "a warp's address records do not match its instructions",
            "the file is damaged: write it again",
        )
    check_warps(trace, recording, page, statics)
    check_addresses(trace, recording, page, statics)


def check_warps(trace: KernelTrace, recording: Recording, page: RecordingPage, statics: NDArray[Any]) -> None:
    """Masks within the launched lanes, EXIT for all of them, equal barriers within a block."""
    operations = np.array([instruction.operation for instruction in recording.instructions])
    ids = np.array([instruction.count for instruction in recording.instructions])
    masks = recording.variant_masks[page.variants]
    for position, block in enumerate(page.blocks.tolist()):
        barriers: dict[int, list[int]] = {}
        for warp in range(trace.warps_per_block):
            row = position * trace.warps_per_block + warp
            part = slice(int(page.instruction_starts[row]), int(page.instruction_starts[row + 1]))
            place = f"kernel {trace.name!r}, block {block}, warp {warp}"
            kinds, launched = operations[statics[part]], trace.launched_mask(warp)
            if int(np.bitwise_or.reduce(masks[part], initial=0)) & ~launched:
                refuse(place, "a lane that was not launched is active", "clear it in the mask")
            left = int(np.bitwise_or.reduce(masks[part][kinds == Operation.EXIT], initial=0))
            if left != launched:
                refuse(place, f"lanes {launched & ~left:#010x} end without EXIT", "end them with EXIT")
            passed = ids[statics[part]][kinds == Operation.BARRIER]
            for barrier in range(trace.barriers):
                barriers.setdefault(barrier, []).append(int((passed == barrier).sum()))
        for barrier, counts in barriers.items():
            # With one barrier no count can lock up, since a warp that has ended is not waited for.
            meeting = trace.warps_meeting(barrier)
            passing = [count for count in counts if count]
            if meeting and len(passing) in {0, meeting} and len(set(passing)) <= 1:
                continue
            if (trace.barriers > 1 or meeting) and len(set(counts)) > 1:
                warp = next(number for number, count in enumerate(counts) if count != counts[0])
                refuse(
                    f"kernel {trace.name!r}, block {block}",
                    f"warp 0 passes barrier {barrier} {counts[0]} times, warp {warp} {counts[warp]}",
                    "all warps of a block must agree",
                )


def offsets_of(recording: Recording, patterns: NDArray[Any]) -> NDArray[np.int64]:
    """The 32 offsets of each pattern id; only these are read, since the tables may be large and on disk."""
    ids = patterns.astype(np.int64)
    offsets = np.empty((len(ids), LANES), dtype=np.int64)
    first = 0
    for table in (recording.strides, recording.deltas, recording.lists):
        chosen = (first <= ids) & (ids < first + len(table))
        rows = table[ids[chosen] - first]
        offsets[chosen] = rows[:, None] * np.arange(LANES, dtype=np.int64) if rows.ndim == 1 else rows
        first += len(table)
    return offsets


def check_addresses(
    trace: KernelTrace, recording: Recording, page: RecordingPage, statics: NDArray[Any]
) -> None:
    """Every active lane of every record; the slow words of `check_lanes` are for the first that is wrong."""
    counts = np.array(recording.accesses)[statics]
    owner = np.repeat(np.arange(len(statics)), counts)
    second = np.concatenate(([False], owner[1:] == owner[:-1])) if len(owner) else np.zeros(0, dtype=bool)
    spaces = np.array([space_of(instruction.operation) for instruction in recording.instructions])[
        statics[owner]
    ]
    spaces[second] = Space.SHARED
    ends = np.array([space_limit(trace, space)[0] for space in Space], dtype=np.int64)[spaces]
    widths = np.array([max(1, one.bytes_per_lane) for one in recording.instructions])[statics[owner]]
    lanes = np.arange(LANES, dtype=np.int64)
    for start in range(0, len(owner), CHUNK):
        part = slice(start, start + CHUNK)
        addresses = page.bases[part, None] + offsets_of(recording, page.pattern_ids[part])
        active = (
            recording.variant_masks[page.variants[owner[part]]][:, None] >> lanes.astype(np.uint32) & 1
        ) != 0
        beyond = (
            (addresses < 0)
            | (addresses > (ends - widths)[part, None])
            | (addresses % widths[part, None] != 0)
        )
        wrong = np.nonzero((active & beyond).any(axis=1))[0]
        if len(wrong):
            record = start + int(wrong[0])
            row = int(np.searchsorted(page.instruction_starts, owner[record], side="right")) - 1
            block = int(page.blocks[row // trace.warps_per_block])
            check_lanes(
                trace,
                f"kernel {trace.name!r}, block {block}, warp {row % trace.warps_per_block}, record {record}",
                int(page.bases[record]),
                recording.patterns()[int(page.pattern_ids[record])],
                int(recording.variant_masks[page.variants[owner[record]]]),
                Space(int(spaces[record])),
                int(widths[record]),
            )
