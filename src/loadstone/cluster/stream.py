"""Passes records from the thread that merges them to the program that reads them."""

from __future__ import annotations

from queue import Empty, Queue
from typing import Generic, TypeVar

Record = TypeVar("Record")


class Stream(Generic[Record]):
    """Records in order, possibly followed by the error that ended them."""

    def __init__(self) -> None:
        self._records: Queue[Record | BaseException] = Queue()

    def put(self, record: Record | BaseException) -> None:
        """Add the next record; an error is raised where the records are read."""
        self._records.put(record)

    def next(self, timeout_s: float) -> Record | None:
        """The next record, or `None` when the time is up; raises an error that was added."""
        try:
            record = self._records.get(timeout=timeout_s)
        except Empty:
            return None
        if isinstance(record, BaseException):
            raise record
        return record
