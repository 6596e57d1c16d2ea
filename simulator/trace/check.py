"""The validator: refuses a trace that no machine could run, with the place, what is wrong, and what would
be right.

`check(trace)` is what loading a file does: all static rules, bounds by interval arithmetic, and a bounded
walk only where those leave a suspicion. `check(trace, full=True)` walks as well. Whether a kernel fits a
given card is the engine's question.
"""

from simulator.trace import limits
from simulator.trace.check_instruction import check_instruction, place_of, refuse
from simulator.trace.check_program import (
    accesses,
    check_barriers,
    check_exits,
    check_shape,
    exact_values,
    sites,
    suspicious,
)
from simulator.trace.check_recording import check_recording
from simulator.trace.check_walk import Walked, check_walk
from simulator.trace.schema import ADDRESS_LIMIT, TENSOR_KINDS, KernelTrace

FULL_WALK = 10 * limits.WALKED_INSTRUCTIONS


def check(trace: KernelTrace, *, full: bool = False) -> Walked:
    """Raise an InputError at the first thing that is wrong; says how many warp instructions were walked."""
    check_header(trace)
    if trace.recording is not None:
        for index, instruction in enumerate(trace.recording.instructions):
            check_instruction(trace, index, instruction, 0)
        check_recording(trace)
        return check_walk(trace, FULL_WALK) if full else Walked(0, complete=True)
    check_shape(trace)
    flat = trace.flat()
    for index, instruction in enumerate(flat.instructions):
        check_instruction(trace, index, instruction, flat.depths[index])
    doubt = False
    for site in sites(trace):
        place = place_of(trace, site.index, site.instruction)
        for guard in site.instruction.guards:
            exact_values(place, "guard", guard.expression, site.box)
        for what, source, _ in accesses(site.instruction):
            exact_values(place, what, source, site.box)
        doubt = suspicious(trace, site) or doubt
    check_exits(trace)
    check_barriers(trace)
    if full or doubt:
        return check_walk(trace, FULL_WALK if full else limits.WALKED_INSTRUCTIONS)
    return Walked(0, complete=True)


def check_header(trace: KernelTrace) -> None:
    """Launch, resources and names."""
    place = f"kernel {trace.name!r}"
    if not trace.name or len(trace.name) > limits.MAX_NAME:
        refuse("kernel", f"a name of {len(trace.name)} characters", f"give 1 to {limits.MAX_NAME}")
    for what, sizes, most in (
        ("grid", trace.grid, limits.MAX_GRID),
        ("block", trace.block, limits.MAX_BLOCK),
    ):
        if not all(1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
            refuse(place, f"{what} {tuple(sizes)}", f"give three sizes from 1 to {most}")
    excess = trace.threads_per_block - limits.MAX_THREADS_PER_BLOCK
    if excess > 0:
        refuse(
            place,
            f"{trace.threads_per_block} threads a block",
            f"{excess} fewer: {limits.MAX_THREADS_PER_BLOCK} at most",
        )
    for what, value, low, high in (
        ("registers_per_thread", trace.registers_per_thread, 1, limits.MAX_REGISTERS_PER_THREAD),
        ("shared_bytes_per_block", trace.shared_bytes_per_block, 0, limits.MAX_SHARED_BYTES_PER_BLOCK),
        ("local_bytes_per_thread", trace.local_bytes_per_thread, 0, limits.MAX_LOCAL_BYTES_PER_THREAD),
        ("barriers", trace.barriers, 0, limits.MAX_BARRIERS),
        ("stream", trace.stream, 0, limits.MAX_STREAM),
        ("operators", len(trace.operators), 0, limits.MAX_NAMES),
        ("tensors", len(trace.tensors), 0, limits.MAX_NAMES),
    ):
        if not low <= value <= high:
            refuse(place, f"{what} is {value}", f"give {low} to {high}")
    if len(trace.barrier_warps) > trace.barriers:
        named = len(trace.barrier_warps)
        refuse(place, f"warps of {named} barriers are given, of {trace.barriers}", f"say barriers={named}")
    for barrier, warps in enumerate(trace.barrier_warps):
        if not 0 <= warps <= trace.warps_per_block:
            refuse(
                place, f"{warps} warps meet at barrier {barrier}", f"give 0 (all) to {trace.warps_per_block}"
            )
    for tensor in trace.tensors:
        where = f"{place}, tensor {tensor.name!r}"
        if tensor.kind not in TENSOR_KINDS:
            refuse(where, f"kind {tensor.kind!r}", f"one of {', '.join(TENSOR_KINDS)}")
        if tensor.bytes < 0 or not 0 <= tensor.base_address <= ADDRESS_LIMIT - tensor.bytes:
            refuse(
                where, f"{tensor.bytes} bytes at {tensor.base_address}", "keep it within 48 bits of address"
            )
    has = {"generated": trace.program is not None, "recorded": trace.recording is not None}
    if not has.get(trace.form) or has["generated"] == has["recorded"]:
        refuse(
            place,
            f"form {trace.form!r} without its content",
            "a generated trace has a program, a recorded one a recording",
        )
