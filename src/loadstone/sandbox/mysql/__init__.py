"""Throwaway servers of MySQL's family, which implement `sandbox.programs.ServerPrograms`."""
