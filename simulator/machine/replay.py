"""The one call that users make: kernel traces on a card, by either engine, to a Result.

Checks what can be checked before time starts (the engine's name, kernels that can't launch), chooses the
state of L2, and hands over.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hwmodels import Gpu
from hwmodels.errors import InputError, unknown
from simulator.machine.options import Options, Preload
from simulator.trace.schema import KernelTrace

if TYPE_CHECKING:
    from simulator.machine.checkpoint.keeper import Keeper
    from simulator.statistics.result import Result

ENGINES = {
    "reference": "simulator.machine.reference.engine",
    "compiled": "simulator.machine.compiled.engine",
}
"""Engines by name. Each module has `simulate(traces, gpu, options) -> RunRecord`."""
L2_STATES = ("cold", "warm")
LAUNCHES = ("stream", "graph")


def replay(
    traces: Iterable[KernelTrace],
    gpu: Gpu,
    engine: str = "compiled",
    *,
    launch: str = "stream",
    interval_cycles: int = 10_000,
    l2_state: str = "cold",
    preload: Sequence[Preload] = (),
    max_cycles: int | None = None,
    max_seconds: float | None = None,
    threads: int = 1,
    keep_requests: bool = False,
    keep_blocks: int = 0,
    progress: Callable[[float, int], None] | None = None,
    variant: str = "replay",
    sample: float | None = None,
    checkpoint: Keeper | str | Path | None = None,
    resume: str | Path | None = None,
) -> Result:
    """Replay kernels in order on a card.

    `launch` is "stream" or "graph"; `l2_state` "cold", or "warm": inputs and weights are in L2 before the
    first kernel as far as they fit, in the order in which kernels name them. `progress` gets (share done, SM
    cycle). `sample` replays of each long kernel of equal blocks only the first, until the stated bound of its
    cycles' error is within this share of them, and carries the rest on. `checkpoint` names a file to which a
    replay that a limit cuts short writes its state (or a Keeper, which may wish for more); `resume` one to go
    on from, to exactly the result of an undisturbed replay. `threads` share the work of the compiled engine
    and change no number. Raises InputError for a kernel that can't launch or an unknown name, ResultError for
    a deadlock or an identity that does not hold.
    """
    kernels = list(traces)
    if not kernels:
        raise InputError("replay", "there is no kernel", "at least one trace")
    for what, name, known in (
        ("engine", engine, list(ENGINES)),
        ("launch", launch, LAUNCHES),
        ("l2_state", l2_state, L2_STATES),
    ):
        if name not in known:
            raise unknown("replay", what, name, known)
    resident = tuple(preload) + (warm_inputs(kernels, gpu) if l2_state == "warm" else ())
    options = Options(
        launch=launch,
        interval_cycles=interval_cycles,
        preload=resident,
        max_cycles=max_cycles,
        max_seconds=max_seconds,
        threads=threads,
        keep_requests=keep_requests,
        keep_blocks=keep_blocks,
        progress=progress,
    )
    if checkpoint is not None or resume is not None:
        if sample is not None:
            raise InputError(
                "replay", "a sampled replay keeps no checkpoint", "leave out sample, or checkpoint"
            )
        options = _kept(options, kernels, gpu, engine, checkpoint, resume)
    from simulator.statistics.result import Result

    simulate = importlib.import_module(ENGINES[engine]).simulate
    if sample is None:
        return Result(simulate(kernels, gpu, options), kernels, gpu, variant)
    from simulator.machine.sampled import sampled_replay

    record, sampling = sampled_replay(kernels, gpu, options, simulate, sample)
    return Result(record, kernels, gpu, variant, sampling=sampling)


def _kept(
    options: Options,
    kernels: list[KernelTrace],
    gpu: Gpu,
    engine: str,
    checkpoint: Keeper | str | Path | None,
    resume: str | Path | None,
) -> Options:
    """The options with where to write checkpoints and where to go on from."""
    from simulator.machine.checkpoint import file, keeper

    start = None
    if resume is not None:
        start = file.read(Path(resume))
        file.check_fit(start, keeper.header_of(engine, kernels, gpu, options), str(resume))
    writer = keeper.Keeper(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint
    return replace(options, keeper=writer, resume=start)


def warm_inputs(traces: Sequence[KernelTrace], gpu: Gpu) -> tuple[Preload, ...]:
    """What a warm L2 holds: the tensors that come from outside, until L2 is full."""
    room = gpu.l2.size_kib * 1024
    produced: set[int] = set()
    chosen: dict[int, Preload] = {}
    for trace in traces:
        for tensor in trace.tensors:
            outside = tensor.kind in ("input", "weight") and tensor.base_address not in produced
            if outside and tensor.base_address not in chosen and tensor.bytes and room > 0:
                size = min(tensor.bytes, room)
                room -= size
                chosen[tensor.base_address] = Preload(tensor.base_address, size)
        produced.update(t.base_address for t in trace.tensors if t.kind in ("intermediate", "output"))
    return tuple(chosen.values())
