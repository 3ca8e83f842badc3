"""One step of a run: drive, sample, control, end."""
