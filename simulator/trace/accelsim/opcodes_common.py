"""Mnemonics that mean the same from Kepler to Hopper.

Texture and surface accesses come without addresses in a trace: they cost their latency, and a warning says
that their traffic is missing. Their latency is a round number for a hit.
"""

from hwmodels.operations import Operation
from simulator.trace.accelsim.opcode import ALWAYS, MAYBE, NEVER, Opcode, row, table

TEXTURE_CYCLES = 400
TEXTURE_NOTE = "the trace has no addresses of texture and surface accesses, so their traffic is missing"
_O = Operation

COMMON: dict[str, Opcode] = table(
    row(_O.FADD, ALWAYS, (1, 2), "FADD FADD32I FSWZADD"),
    row(_O.FMUL, ALWAYS, (1, 2), "FMUL FMUL32I"),
    row(_O.FFMA, ALWAYS, (1, 3), "FFMA FFMA32I"),
    row(_O.DADD, ALWAYS, (1, 2), "DADD"),
    row(_O.DMUL, ALWAYS, (1, 2), "DMUL"),
    row(_O.DFMA, ALWAYS, (1, 3), "DFMA"),
    row(_O.IMAD, ALWAYS, (1, 3), "IMAD IMUL IMUL32I"),
    row(_O.ALU, ALWAYS, (0, 2), "FMNMX FSEL FSET IADD IADD32I IMNMX ISCADD ISCADD32I SHL SHR LOP LOP32I SEL"),
    row(_O.ALU, ALWAYS, (0, 3), "SHF PRMT"),
    row(_O.PREDICATE, NEVER, (0, 2), "FSETP ISETP DSETP FCHK PSETP R2P"),
    row(_O.POPC, ALWAYS, (0, 2), "POPC FLO"),
    row(_O.MUFU, ALWAYS, (0, 1), "MUFU"),
    row(_O.CONVERT, ALWAYS, (0, 2), "F2F F2I I2F I2I"),
    row(_O.MOVE, ALWAYS, (0, 1), "MOV MOV32I P2R"),
    row(_O.S2R, ALWAYS, (0, 0), "S2R"),
    row(_O.S2R, ALWAYS, (0, 1), "B2R"),
    row(_O.SHUFFLE, MAYBE, (1, 4), "SHFL"),
    row(_O.VOTE, MAYBE, (0, 1), "VOTE"),
    row(_O.LDC, ALWAYS, (0, 2), "LDC", ignores_addresses=True),
    row(_O.LDG, ALWAYS, (0, 2), "LDG"),
    row(_O.LDL, ALWAYS, (0, 1), "LDL"),
    row(_O.LDS, ALWAYS, (0, 1), "LDS"),
    row(_O.LD, ALWAYS, (0, 2), "LD"),
    row(_O.ST, NEVER, (1, 3), "ST"),
    row(_O.STL, NEVER, (1, 2), "STL"),
    row(_O.STS, NEVER, (1, 2), "STS"),
    row(_O.ATOM, MAYBE, (0, 5), "ATOM"),
    row(_O.REDG, NEVER, (0, 3), "RED"),
    row(_O.NOP, NEVER, (0, 2), "CCTL CCTLL", ignores_addresses=True),
    row(_O.MEMBAR, NEVER, (0, 1), "MEMBAR", ignores_addresses=True),
    row(_O.BRANCH, NEVER, (0, 2), "BRA BRX JMP JMX RET BPT"),
    row(_O.BARRIER, MAYBE, (0, 3), "BAR"),
    row(_O.EXIT, NEVER, (0, 0), "EXIT"),
    row(_O.NOP, NEVER, (0, 0), "NOP DEPBAR"),
    row(_O.OPAQUE, MAYBE, (0, 5), "TEX TLD TLD4 TXQ", latency_cycles=TEXTURE_CYCLES, note=TEXTURE_NOTE),
)
