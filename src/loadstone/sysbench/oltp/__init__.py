"""The tests that sysbench ships."""
