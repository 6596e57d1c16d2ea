"""Model against measured rows: reads tables of measurements, replays what they describe, and judges."""
