"""Reads TOML files that users write: values, line numbers, and all problems in one pass."""
