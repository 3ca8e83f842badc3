"""Experiments: their files, their order, the servers they run on, and the loop over their steps."""
