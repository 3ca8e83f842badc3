"""Scripts written for sysbench."""
