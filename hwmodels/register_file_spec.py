"""The register file of an SM: capacity, banks and the granule in which warps take registers.

The capacity is free between 16 and 2,048 KiB, a quarter for each of four sub-cores; the limit of 255
registers a thread belongs to the instruction encoding and stays. Operand-read conflicts are in
register_file.py. A register cache (the reuse flags of real code) is not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number

REGISTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class RegisterFileSpec:
    """Registers of 32 bits, one SM's worth."""

    size_kib: int = number(
        unit="KiB", low=16, high=2048, doc="Register file of an SM, all sub-cores together."
    )
    banks: int = number(unit="banks", low=1, high=16, doc="Banks of a sub-core's file, by register number.")
    bank_ports: int = number(
        unit="reads a cycle", low=1, high=8, doc="Operands that a bank reads in a cycle."
    )
    allocation_unit: int = number(
        unit="registers", low=32, high=4096, doc="A warp takes registers in multiples of this."
    )
    max_per_thread: int = number(unit="registers", low=16, high=255, doc="Most registers a thread may name.")

    @property
    def registers(self) -> int:
        """32-bit registers of the SM."""
        return self.size_kib * 1024 // REGISTER_BYTES
