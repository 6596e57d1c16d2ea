"""Tells a PyTorch profiler trace from an Nsight Compute table by its first character that is not blank, and
reads it.
"""

from pathlib import Path

from experiments.profiles.kineto import read_kineto
from experiments.profiles.limits import DEFAULT_LIMITS, ProfileLimits
from experiments.profiles.nsight import NsightKernel, read_nsight
from experiments.profiles.profile import Profile
from experiments.profiles.text_stream import TextStream
from hwmodels.errors import InputError


def read_profile(path: Path, limits: ProfileLimits = DEFAULT_LIMITS) -> Profile | list[NsightKernel]:
    """A trace as a Profile, a table as its kernels."""
    with TextStream(path, limits) as stream:
        first = stream.read()
        while first and not first.strip():
            first = stream.read()
    if not first:
        raise InputError(str(path), "is empty", "give a profile")
    start = first.lstrip()[:1]
    # Lines of a program may stand before a table, and begin with anything; a trace begins at once.
    looks_like_table = '"ID","' in first or "ID,Process ID" in first
    if start in "{[" and not looks_like_table:
        return read_kineto(path, limits)
    return read_nsight(path, limits)
