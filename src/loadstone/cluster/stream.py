"""Records on their way from the thread that merges them to the program that reads them."""

from __future__ import annotations

from queue import Empty, Queue
from typing import Generic, TypeVar

Record = TypeVar("Record")


class Stream(Generic[Record]):
    """Records in their order, at last perhaps what broke them off."""

    def __init__(self) -> None:
        self._records: Queue[Record | BaseException] = Queue()

    def put(self, record: Record | BaseException) -> None:
        """The next record; an error is raised where the records are read."""
        self._records.put(record)

    def next(self, timeout_s: float) -> Record | None:
        """The next record, or `None` when the time is up; raises what was put in its place."""
        try:
            record = self._records.get(timeout=timeout_s)
        except Empty:
            return None
        if isinstance(record, BaseException):
            raise record
        return record
