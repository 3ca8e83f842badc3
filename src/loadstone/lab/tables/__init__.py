"""Tables of a target: found, loaded, inspected and checked."""
