"""This machine: calibration, disk probe, host tests, and the environment of a run."""
