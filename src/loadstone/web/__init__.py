"""The live page: a separate server that reads run folders and passes on what viewers ask for.

All it knows of a run is what is in the run's folder (`store`). It asks a run for something through
a file there (`store.wishes`), so a run does not know how many viewers there are, or if there are
any.
"""
