"""The traffic of PostgreSQL's servers: their logs, and which of the statements are sent again."""
