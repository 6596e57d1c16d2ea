"""What a trace may be at most. Larger ones are refused with the limit and the remedy, before anything is
allocated.

Launch limits are CUDA's for compute capability 7.0 and later; the others keep a hostile or mistaken file
from costing a machine's memory or a day.
"""

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS_PER_BLOCK = 1024
MAX_REGISTERS_PER_THREAD = 255
MAX_SHARED_BYTES_PER_BLOCK = 1 << 20  # above any card; the card's own limit is the engine's to check
MAX_LOCAL_BYTES_PER_THREAD = 512 << 10
MAX_BARRIERS = 16
MAX_STREAM = 1023
MAX_STATIC_INSTRUCTIONS = 1 << 20
MAX_WARP_INSTRUCTIONS = 1 << 40
MAX_NAME = 4096
MAX_NAMES = 65536
MAX_OPERANDS = 64
MAX_GUARDS = 16
MAX_TERMS = 64
MAX_LATENCY_CYCLES = 1 << 20
MAX_CONSTANT = 1 << 60  # of any number in an expression; products of two are still exact in Python
BYTES_PER_LANE = (1, 2, 4, 8, 16)
WALKED_INSTRUCTIONS = 200_000
