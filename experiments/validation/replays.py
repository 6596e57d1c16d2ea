"""The table of replays by the name that a request has: each takes a card and the request's parameters, and
answers with a number of the request's kind.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.validation import bandwidth_replays as bandwidth
from experiments.validation import hfuse_kernels, sgemm_kernels
from experiments.validation import kernel_replays as kernels
from experiments.validation import latency_replays as latency
from experiments.validation.request import Request
from hwmodels import Gpu

REPLAYS: dict[str, Callable[..., float]] = {
    "chase": latency.chase_cycles,
    "shared chase": latency.shared_chase_cycles,
    "cluster": latency.cluster_cycles,
    "one location": latency.one_location_cycles,
    "probe": latency.probe_value,
    "operation": latency.operation_cycles,
    "global atomics": latency.global_atomics_cycles,
    "stream": bandwidth.stream_bytes_per_second,
    "turnaround": bandwidth.turnaround_seconds,
    "l1 read": bandwidth.l1_bytes_per_second,
    "shared read": bandwidth.shared_bytes_per_second,
    "l2 read": bandwidth.l2_read_bytes_per_second,
    "l2 shared read": bandwidth.l2_shared_read_bytes_per_second,
    "l2 sliding read": bandwidth.l2_sliding_read_bytes_per_second,
    "l2 write": bandwidth.l2_write_bytes_per_second,
    "shared buffer": bandwidth.shared_buffer_bytes_per_second,
    "repeated copy": bandwidth.repeated_copy_bytes_per_second,
    "strided copy share": bandwidth.strided_copy_share,
    "throughput": bandwidth.throughput_operations_per_second,
    "launch": bandwidth.launch_seconds,
    "graph": kernels.graph_seconds,
    "graph rate": kernels.graph_bytes_per_second,
    "fusion speedup": kernels.fusion_speedup,
    "relu rate": kernels.relu_bytes_per_second,
    "hfuse": hfuse_kernels.hfuse_seconds,
    "sgemm": sgemm_kernels.sgemm_operations_per_second,
}


def answer(wanted: Request, gpu: Gpu) -> float:
    """The replay of a request on a card."""
    return float(REPLAYS[wanted.replay](gpu, **dict(wanted.parameters)))
