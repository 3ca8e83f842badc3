"""The errors that a person is told: what, where, and what to do."""

from __future__ import annotations


class LoadstoneError(Exception):
    """One line for a person, a hint what to do, and the exit code that a program ends with.

    Both are messages (`loadstone.model.message`), so that they can be shown in any language.
    """

    exit_code: int = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
