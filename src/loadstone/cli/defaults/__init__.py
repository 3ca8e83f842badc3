"""Defaults of options that a user keeps in a file: `~/.config/loadstone/config.toml`.

The file is read once per command (`reading`), its values become click's `default_map`
(`Context.default_map`), and those that do not fit the command line give way (`giving_way`).
"""
