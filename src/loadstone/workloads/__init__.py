"""Workloads that users write themselves."""
