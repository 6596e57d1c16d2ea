"""When a replay writes its checkpoint, and what stands in its header.

An engine asks the keeper at every look-up (some thousand cycles) what is wished: to go on, to write, or to
write and stop. A replay that a limit cuts short writes one too.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hwmodels import Gpu
from simulator.machine.checkpoint.file import Checkpoint, write
from simulator.machine.checkpoint.version import model_digest
from simulator.machine.options import Options
from simulator.machine.wish import Wish
from simulator.trace.archive import write as write_traces
from simulator.trace.schema import KernelTrace

State = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


class Freezable(Protocol):
    """An engine's machine, as far as a checkpoint needs it."""

    traces: list[KernelTrace]
    gpu: Gpu
    options: Options

    @property
    def engine(self) -> str:
        """Name of the engine."""

    @property
    def cycle(self) -> int:
        """SM cycle of the last tick."""

    def freeze(self) -> State:
        """The state as JSON-like values and tables."""


def no_wish() -> Wish:
    """Nobody asks."""
    return Wish.GO_ON


@dataclass(slots=True)
class Keeper:
    """Writes the checkpoints of one replay."""

    path: Path
    wish: Callable[[], Wish] = no_wish
    """Asked at each look-up; a wish to write is asked once."""
    also_at_end: bool = False
    """Whether a replay that comes to its end writes one too, from which its result can be had again."""
    stopped: bool = False
    """Whether a wish has stopped the replay."""

    def look_up(self, machine: Freezable) -> bool:
        """Write if that is wished; whether to stop."""
        wish = self.wish()
        if wish is Wish.WRITE:
            self.keep(machine)
        self.stopped = wish is Wish.WRITE_AND_STOP
        return self.stopped

    def end(self, machine: Freezable, partial: bool) -> None:
        """The replay has ended; called before its books are closed."""
        if partial or self.also_at_end:
            self.keep(machine)

    def keep(self, machine: Freezable) -> None:
        """Write the machine's state now."""
        header = {
            **header_of(machine.engine, machine.traces, machine.gpu, machine.options),
            "cycle": machine.cycle,
        }
        write(self.path, Checkpoint(header, *machine.freeze()))


def header_of(engine: str, traces: Sequence[KernelTrace], gpu: Gpu, options: Options) -> dict[str, Any]:
    """Everything that decides how a replay goes on."""
    content = io.BytesIO()
    write_traces(list(traces), content)
    choices = {
        "launch": options.launch,
        "interval_cycles": options.interval_cycles,
        "preload": [(one.base_address, one.bytes) for one in options.preload],
        "keep_requests": options.keep_requests,
        "keep_blocks": options.keep_blocks,
    }
    return {
        "engine": engine,
        "model": model_digest(),
        "card": gpu.digest(),
        "traces": hashlib.sha256(content.getvalue()).hexdigest(),
        "options": json.dumps(choices, sort_keys=True),
    }
