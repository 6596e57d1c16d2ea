"""Where local memory lies: above all tensors, a window for each warp slot of each SM.

The numbers are the model's own; no program sees them.
"""

LOCAL_BASE = 1 << 46
LOCAL_WINDOW = 1 << 24
"""Bytes of a window."""
