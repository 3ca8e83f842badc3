"""The reports of a run: pure functions from the result to text."""
