"""The layout of the help: its sections, its language, and its line breaks."""
