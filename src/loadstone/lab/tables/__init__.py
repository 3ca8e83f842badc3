"""Finds, loads, inspects and checks the tables of a target."""
