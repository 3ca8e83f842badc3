"""Samplers that read the counters of a server, of its host and of the load generator's host."""
