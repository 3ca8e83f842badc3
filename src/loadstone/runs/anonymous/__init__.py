"""A run without names and addresses, to pass on."""
