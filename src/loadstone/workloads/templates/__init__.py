"""SQL templates: parses files, sizes their tables, and checks them against a server."""
