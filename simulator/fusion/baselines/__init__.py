"""Strategies in the manner of published fusers, replayed on the same simulator as our own: what their rules
choose, with our kernels. They are compared with, never a start for the search.
"""

from simulator.fusion.baselines.inductor import inductor_style
from simulator.fusion.baselines.tvm import tvm_style
from simulator.fusion.baselines.xla import xla_style

__all__ = ["BASELINES", "inductor_style", "tvm_style", "xla_style"]

BASELINES = {"tvm-style": tvm_style, "xla-style": xla_style, "inductor-style": inductor_style}
