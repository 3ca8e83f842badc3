"""The words of DESIGN.md as frozen types; imports nothing of ours."""
