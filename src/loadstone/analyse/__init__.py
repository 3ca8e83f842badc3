"""Pure functions over the figures of a run: values in, values out, no server and no file."""
