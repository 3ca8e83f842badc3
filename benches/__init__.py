"""Benchmarks of Loadstone's own cost, compared with sysbench and with the least that a client can
cost.
"""
