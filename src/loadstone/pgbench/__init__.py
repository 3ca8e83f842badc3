"""The drop-in for pgbench of PostgreSQL 15: its command lines, its output and its log files.

The rules here are those of its manual (https://www.postgresql.org/docs/15/pgbench.html), and what
was found by running Debian's pgbench 15 and looking at what it prints.
"""
