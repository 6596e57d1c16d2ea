"""Operand read of one instruction from the banked register file of a sub-core.

Register r stands in bank r modulo banks; a bank delivers as many different registers a cycle as it has ports.
Volta and later have two banks with two ports, so only three different sources in one bank cost an extra
cycle, as published microbenchmarks of V100 show. RZ and predicates are read elsewhere. Not modelled: the
operand reuse cache, since traces carry no reuse flags; capacity and allocation are in `occupancy.py`.
"""

from hwmodels.rule import rule

__all__ = ["operand_cycles"]

RZ = 255  # this number and those above (predicates) take no port


@rule
def operand_cycles(r0: int, r1: int, r2: int, r3: int, banks: int, bank_ports: int) -> int:
    """Cycles to read up to four source registers (-1 = absent); 1 without conflict or without operand."""
    registers = (r0, r1, r2, r3)
    cycles = 1
    for place in range(4):
        register = registers[place]
        if register < 0 or register >= RZ:
            continue
        # Counts the different registers of this one's bank; the largest count over all places is the largest
        # bank's.
        reads = 0
        for other in range(4):
            candidate = registers[other]
            if 0 <= candidate < RZ and candidate % banks == register % banks:
                reads += 1
                for earlier in range(other):
                    if registers[earlier] == candidate:
                        reads -= 1
                        break
        cycles = max(cycles, (reads + bank_ports - 1) // bank_ports)
    return cycles
