"""Observes servers of MySQL's family over connections of its own."""
