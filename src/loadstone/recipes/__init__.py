"""Ready experiments, a TOML file each: the question, the parameters, and the experiment itself."""
