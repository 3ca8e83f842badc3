"""TOML files that users write: values, line numbers, and every problem found in one pass."""
