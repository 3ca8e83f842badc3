"""Lua scripts written for sysbench: their files, and the contents of `sysbench.opt`."""
