"""Database endpoints: credentials, connections, introspection and the guard against harm.

Importing this package costs nothing; its modules are imported where they are used.
"""
