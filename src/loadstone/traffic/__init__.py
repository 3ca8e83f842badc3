"""Recorded traffic: read from a server's logs and digests, made into templates, and replayed."""
