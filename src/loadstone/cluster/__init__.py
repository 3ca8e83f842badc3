"""One load from many machines: parts of a step, driven by generators and merged exactly."""
