"""What holds back PostgreSQL, by its own counters, wait events and settings; a file each."""
