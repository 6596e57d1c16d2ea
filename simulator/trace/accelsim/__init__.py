"""Traces of NVBit-based tracers in the text format of Accel-Sim, read into the recorded form.

The format is documented by its users only; what is read, what is refused and what is left out stands in the
modules. Nothing of that project's code is here.
"""

from simulator.trace.accelsim.architecture import architecture_warning, remarks
from simulator.trace.accelsim.copies import copies_of, resident
from simulator.trace.accelsim.run import AccelSimRun, is_accelsim, load, load_list

__all__ = [
    "AccelSimRun",
    "architecture_warning",
    "copies_of",
    "is_accelsim",
    "load",
    "load_list",
    "remarks",
    "resident",
]
