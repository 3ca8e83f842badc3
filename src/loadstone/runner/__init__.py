"""Runs from request to result.

A run is assembled here and nowhere else: target, tables, recorder, samplers, steps. The command
line, the drop-ins, the live page and Python call it; it prints nothing, and reports its progress to
a `View`.
"""
