"""Ready-made experiments, one TOML file each: the question, the parameters, and the experiment."""
