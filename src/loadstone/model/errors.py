"""The base of errors that are shown to a person: what, where, and what to do."""

from __future__ import annotations


class LoadstoneError(Exception):
    """An error with a line for a person, a hint what to do, and the program's exit code.

    Both are messages (`loadstone.model.message`), so that they can be shown in any language.
    """

    exit_code: int = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def lines(self) -> tuple[str, ...]:
        """Where there are several problems: a line for each, and a last one that counts them.

        A terminal shows them in place of the message and the hint.
        """
        return ()
