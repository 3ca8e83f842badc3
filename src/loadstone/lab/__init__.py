"""Carries a plan out: looks at the targets first, drives step after step, keeps what was seen."""
