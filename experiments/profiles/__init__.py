"""Profiles of real runs: PyTorch profiler traces and Nsight Compute tables, read and set beside ours."""
