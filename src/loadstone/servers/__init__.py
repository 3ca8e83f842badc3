"""The interface to database servers that all families share, in neutral terms.

A family implements it in its own package (`mysql`); `families` lists them.
"""
