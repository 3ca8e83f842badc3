"""The drop-in for sysbench: the command lines of versions 1.0 and 0.5, and their text output.

The rules here were found by running Debian's sysbench 1.0.20 and looking at what it prints.
"""
