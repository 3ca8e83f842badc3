"""Beginning work from the page: forms become command lines of `loadstone`, which are started.

The page can do nothing that the command line cannot: each act is a command line, shown before it is
started, in a process of its own that goes on without the page and survives its restart.
"""
