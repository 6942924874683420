"""The command `gpucalc`."""
