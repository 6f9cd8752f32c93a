"""The eyes: frame in, reading out. No GPIO, no Flask, no clock of its own, no rules."""
