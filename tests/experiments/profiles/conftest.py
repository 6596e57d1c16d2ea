"""A small trace in the profiler's form, written by hand."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::relu_functor<float>, "
    "at::detail::Array<char*, 2> >(int, at::native::relu_functor<float>, at::detail::Array<char*, 2>)"
)
ADD = (
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add"
    "<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, "
    "at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, "
    "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})"
)


def kernel(name: str, start: int, duration: int, number: int, blocks: int, registers: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": start,
        "dur": duration,
        "args": {
            "External id": number,
            "device": 0,
            "context": 1,
            "stream": 7,
            "correlation": number,
            "registers per thread": registers,
            "shared memory": 0,
            "grid": [blocks, 1, 1],
            "block": [128, 1, 1],
            "est. achieved occupancy %": 59 if blocks == 1024 else 75,
        },
    }


def launch(start: int, number: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 1,
        "tid": 1,
        "ts": start,
        "dur": 5,
        "args": {"External id": number, "cbid": 211, "correlation": number},
    }


def operator(name: str, start: int, duration: int, number: int, shapes: list[Any]) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": number, "Ev Idx": number}
    if shapes:
        args |= {"Input Dims": shapes, "Input type": ["float" for _ in shapes]}
    place = {"pid": 1, "tid": 1, "ts": start, "dur": duration}
    return {"ph": "X", "cat": "cpu_op", "name": name, **place, "args": args}


DOCUMENT: dict[str, Any] = {
    "schemaVersion": 1,
    "deviceProperties": [
        {
            "id": 0,
            "name": "NVIDIA A100-SXM4-40GB",
            "totalGlobalMem": 42297524224,
            "computeMajor": 8,
            "computeMinor": 0,
            "numSms": 108,
        }
    ],
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
        operator("aten::add_", 100, 40, 1, [[4, 64, 32, 64], [1, 64, 1, 1]]),
        launch(110, 1),
        operator("aten::relu_", 150, 40, 2, []),
        operator("aten::clamp_min_", 155, 20, 3, [[4, 64, 32, 64]]),
        launch(160, 2),
        {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 110, "cat": "ac2g", "name": "ac2g"},
        kernel(ADD, 200, 20, 1, 2048, 40),
        kernel(RELU, 221, 10, 2, 1024, 18),
        {"ph": "X", "cat": "gpu_memset", "name": "Memset", "ts": 300, "dur": 1, "args": {}},
    ],
    "traceName": "hand.json",
}


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Writes a document or a text and gives its path."""

    def writer(content: Any) -> Path:
        path = tmp_path / "trace.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return writer
