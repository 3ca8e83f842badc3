"""Samplers: a server's counters, and those of its host and of the generator's."""
