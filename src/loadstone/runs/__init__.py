"""The run folder: written while a run goes on, readable at any moment after.

`journal.jsonl` and `latency.hlog` are the truth and are only ever appended to. `result.json` and
`load.parquet` are pure functions of these two, for a run that ended well and for one that was
killed alike.
"""
