"""Finds out who else uses a server, and when a load must be held back or ended."""
