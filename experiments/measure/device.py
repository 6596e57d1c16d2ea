"""Looks for a GPU and a compiler, and changes neither.

The driver's library is asked, not a tool: it is there wherever a kernel can run. Only the first device that
the process may see is used.
"""

import ctypes
import shutil
from dataclasses import dataclass

from hwmodels.errors import InputError

LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
MAJOR, MINOR = 75, 76
"""Attribute numbers of the driver's interface: compute capability."""


@dataclass(frozen=True, slots=True)
class RealGpu:
    """The GPU that will be measured."""

    name: str
    capability: tuple[int, int]


def find_gpu() -> RealGpu:
    """The first GPU; an InputError where there is none."""
    driver = _driver()
    if driver is None:
        raise InputError("measure", "no NVIDIA driver on this machine", "run it where a GPU is")
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise InputError("measure", "no GPU that this process may use", "run it where a GPU is")
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    numbers = [ctypes.c_int(0), ctypes.c_int(0)]
    failed = driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 256, device)
    for number, attribute in zip(numbers, (MAJOR, MINOR), strict=True):
        failed = failed or driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
    if failed:
        raise InputError("measure", f"the GPU does not answer (driver error {failed})", "look at its driver")
    return RealGpu(name.value.decode(errors="replace"), (numbers[0].value, numbers[1].value))


def _driver() -> ctypes.CDLL | None:
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def find_compiler() -> str:
    """The path of nvcc; an InputError where it is not on the search path."""
    found = shutil.which("nvcc")
    if found is None:
        raise InputError(
            "measure", "no nvcc on the search path", "install the CUDA toolkit, or add it to PATH"
        )
    return found
