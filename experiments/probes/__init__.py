"""Measurements of the model itself, one question a file, each beside what silicon or a peer shows."""
