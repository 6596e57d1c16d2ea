"""Builds the measurements with the compiler that is there, into a folder that the caller gives."""

import subprocess
from pathlib import Path

from hwmodels.errors import InputError

SOURCES = Path(__file__).parent / "cuda"
GROUPS = (
    "chases",
    "shared",
    "strides",
    "bandwidth",
    "operations",
    "tensor",
    "barriers",
    "launches",
    "fusion",
)
"""Names of the groups of measurements, as `cuda/main.cu` knows them."""
BUILD_SECONDS = 900


def build(compiler: str, capability: tuple[int, int], folder: Path) -> Path:
    """The program for one compute capability; an InputError with the compiler's first complaint."""
    program = folder / "measure"
    sources = sorted(str(path) for path in SOURCES.glob("*.cu"))
    command = [compiler, "-O2", "-std=c++17", f"-arch=sm_{capability[0]}{capability[1]}"]
    try:
        done = subprocess.run(
            [*command, "-o", str(program), *sources],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            compiler, f"took more than {BUILD_SECONDS} s", "try again on a quieter machine"
        ) from None
    if done.returncode or not program.exists():
        lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
        complaint = (lines or done.stderr.splitlines() or [f"exit code {done.returncode}"])[0]
        raise InputError(compiler, f"did not build the measurements: {complaint}", "try another toolkit")
    return program
