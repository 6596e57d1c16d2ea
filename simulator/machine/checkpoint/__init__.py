"""Checkpoints: a replay in the middle, written down so that it can go on later to exactly the same result."""
