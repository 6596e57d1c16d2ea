"""Kernel traces, what makes them, the machine that replays them in time, and the statistics of a replay.

The middle floor: it may use `hwmodels`, and never `experiments`.
"""
