"""The host's launches and the kernels on their streams, with the fields that PyTorch's profiler writes.

A launch stands where the model lets the host issue it: after the launch before it in its stream, for no
longer than the gap before its kernel. The operator around it carries the operators that the kernel
computes. Only the total number of blocks of a grid is known here, so a grid is shown in one dimension,
and so is a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from experiments.timeline.events import Event, flow, named, span
from simulator.statistics.result import Result
from simulator.statistics.source import Source

LAUNCH_KERNEL = 211
"""The number that CUPTI gives to cudaLaunchKernel (`cbid`)."""
FIRST_STREAM = 7
"""Where PyTorch's traces begin to count; stream 0 of a trace is this one."""


@dataclass(frozen=True, slots=True)
class Tracks:
    """Process and thread numbers of one result; `device` also tells its streams apart from other results'."""

    device: int

    @property
    def host(self) -> int:
        """The process that launches: far above the devices, as a process number is."""
        return 1_000 + self.device

    @property
    def blocks(self) -> int:
        """The process whose threads are places on SMs."""
        return 500 + self.device

    def stream(self, number: int) -> int:
        """A stream's number, which no other result has."""
        return 100 * self.device + FIRST_STREAM + number


def launch_events(result: Result, device: int, first_correlation: int) -> Iterator[Event]:
    """Launches, operators, kernels and the arrows between them, numbered from `first_correlation` on."""
    source, tracks = result.source, Tracks(device)
    yield from _names(result, tracks)
    issued: dict[int, int] = {}
    rows = iter(result.kernels.to_dict("records"))
    for place, kernel in enumerate(source.record.kernels):
        if not source.begun(place):
            continue
        number = first_correlation + place
        stream = tracks.stream(kernel.stream)
        begin = max(issued.get(kernel.stream, 0), kernel.start_fs - kernel.launch_fs)
        end = kernel.start_fs
        issued[kernel.stream] = end
        host, on_card = (tracks.host, stream), (device, stream)
        row = {str(name): value for name, value in next(rows).items()}
        linked = {"External id": number, "correlation": number}
        operator = row["operators"].replace(";", " + ") or row["kernel"]
        yield span("cpu_op", operator, host, begin, end, {"External id": number})
        yield span("cuda_runtime", "cudaLaunchKernel", host, begin, end, {**linked, "cbid": LAUNCH_KERNEL})
        yield flow(number, host, begin, start=True)
        args = {**linked, **_profiler_fields(source, place, device, stream), **_ours(row)}
        yield span("kernel", row["kernel"], on_card, kernel.start_fs, kernel.end_fs, args)
        yield flow(number, on_card, kernel.start_fs, start=False)


def _names(result: Result, tracks: Tracks) -> Iterator[Event]:
    device = tracks.device
    title = f"{result.card.name}, {result.variant}"
    yield from named("process", f"host: {title}", (tracks.host, 0), 10 * device)
    yield from named("process", f"GPU {device}: {title}", (device, 0), 10 * device + 1)
    for number in dict.fromkeys(header.stream for header in result.source.headers):
        stream = tracks.stream(number)
        yield from named("thread", f"launches of stream {stream}", (tracks.host, stream), stream)
        yield from named("thread", f"stream {stream}", (device, stream), stream)


def _profiler_fields(source: Source, place: int, device: int, stream: int) -> dict[str, Any]:
    header, kernel = source.headers[place], source.record.kernels[place]
    share = header.grid_blocks / source.record.sm_count
    lanes = 32 * source.card.warp_slots
    resident = min(share, kernel.blocks_per_sm) * header.threads_per_block
    return {
        "queued": 0,
        "device": device,
        "context": 1,
        "stream": stream,
        "registers per thread": header.registers_per_thread,
        "shared memory": header.shared_bytes_per_block,
        "blocks per SM": share,
        "warps per SM": share * -(-header.threads_per_block // 32),
        "grid": [header.grid_blocks, 1, 1],
        "block": [header.threads_per_block, 1, 1],
        "est. achieved occupancy %": round(100 * resident / lanes),
    }


def _ours(row: dict[str, Any]) -> dict[str, Any]:
    """What a profiler of real hardware does not know."""
    names = (
        "variant",
        "cycles",
        "bound",
        "limiters",
        "dram_read_bytes",
        "dram_write_bytes",
        "spill_bytes_per_thread",
    )
    return {
        **{name: row[name] for name in names},
        "achieved_occupancy_pct": round(row["achieved_occupancy_pct"], 2),
    }
