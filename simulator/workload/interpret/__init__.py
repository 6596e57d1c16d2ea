"""Runs allocated kernel programs on real values in NumPy: the proof that addresses, loops, spills, barriers
and matrix fragments compute the operator.
"""

from simulator.workload.interpret.memory import GlobalMemory
from simulator.workload.interpret.run import interpret

__all__ = ["GlobalMemory", "interpret"]
