"""Faults injected into real servers, and what the diagnosis then names first."""
