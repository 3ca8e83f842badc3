"""What Loadstone asks of a database server, whatever family it is of, in words of its own.

A family answers in files of its own (`mysql`); `families` knows which there are.
"""
