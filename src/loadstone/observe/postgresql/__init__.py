"""What is seen of PostgreSQL's servers; their counters are not read."""
