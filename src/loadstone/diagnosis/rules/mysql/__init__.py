"""What holds back MySQL and MariaDB, by their own counters and variables; a file each."""
