"""The probes and fused chains on a real GPU of the user: sources in CUDA C++, built and run here."""
