"""The PostgreSQL family: logins, facts of a server, its locks, tables and settings, its SQL."""
