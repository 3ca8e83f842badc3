"""What a person reads of a run: pure functions from the result to text."""
