"""Timelines in the trace-event format that Chrome, Perfetto and PyTorch's profiler share."""
