"""Throwaway servers of MySQL's family, as `sandbox.programs.ServerPrograms` has them."""
