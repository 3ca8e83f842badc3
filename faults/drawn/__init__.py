"""Faults drawn by a generator, of families that no rule was made for, and how they are judged."""
