"""Throwaway servers of PostgreSQL: its programs, options, users and messages."""
