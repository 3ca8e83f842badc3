"""The traffic of PostgreSQL's servers: their logs, and how the SQL in them is read and judged."""
