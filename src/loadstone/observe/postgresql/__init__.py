"""Observes servers of PostgreSQL's family over connections of its own."""
