"""Writes kernel programs: each method appends one operation, or the few that a compiler would need, and
returns the register, with its closed form where it is an index.
"""

from simulator.workload.emit.index import INDEX_LIMIT
from simulator.workload.emit.memory import Emitter
from simulator.workload.emit.operands import Flag, Pointer, Scalar

__all__ = ["INDEX_LIMIT", "Emitter", "Flag", "Pointer", "Scalar"]
