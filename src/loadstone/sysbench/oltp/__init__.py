"""The tests that come with sysbench."""
