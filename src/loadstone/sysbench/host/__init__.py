"""sysbench's tests of a host: cpu, memory, threads, mutex, fileio."""
