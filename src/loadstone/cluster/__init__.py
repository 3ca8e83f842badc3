"""One load from many machines: generators drive parts of a step, merged exactly."""
