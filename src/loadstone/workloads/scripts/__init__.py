"""Scripts in Lua written for sysbench: what they are, and what they find in `sysbench.opt`."""
