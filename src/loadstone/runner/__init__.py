"""From what is asked to a run that is over.

A run is assembled here and nowhere else: target, tables, recorder, samplers, steps. The command
line, the drop-ins, the live page and Python call it; it prints nothing, and tells a `View` how it
goes.
"""
