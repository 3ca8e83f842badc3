"""The Parquet tables of a run."""
