"""This machine: calibration, disk probe, host tests, what surrounds a run."""
