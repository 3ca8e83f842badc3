"""SQL templates: parse a file, size its tables, check it against a server."""
