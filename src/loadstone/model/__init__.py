"""Frozen types of requests, records and results; imports no other package of Loadstone."""
