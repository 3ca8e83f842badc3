"""The run folder: written during a run, readable at any moment afterwards.

`journal.jsonl` and `latency.hlog` are the source of truth and are only ever appended to.
`result.json` and `load.parquet` are pure functions of these two, whether the run ended normally or
was killed.
"""
