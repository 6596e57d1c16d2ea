"""The compiled engine: the machine of `reference/` as numba functions over record arrays, one file a hardware
unit.
"""
