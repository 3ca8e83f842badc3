"""A connection over which a server is observed: opened when needed, and again after a loss."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pg8000

from loadstone.model.message import plain, say
from loadstone.model.target import Endpoint
from loadstone.observe.postgresql.opened import ANSWERED_S, opened
from loadstone.observe.postgresql.questions import Questions
from loadstone.observe.source import SourceError
from loadstone.postgresql.errors import text_of
from loadstone.servers.errors import TargetError

_NOT_POSTGRESQL = say("its answer is not that of a PostgreSQL server")


@dataclass
class Asking:
    """Lends the connection's questions to those who read its server."""

    endpoint: Endpoint
    begin: Callable[[Questions], None]
    """Called with the questions of each new connection; raises as they do."""
    answered_s: float = ANSWERED_S
    """How long an answer may take."""
    _questions: Questions | None = None

    @contextlib.contextmanager
    def questions(self) -> Iterator[Questions]:
        """The questions; whatever goes wrong with an answer closes the connection.

        Raises:
            SourceError: the server cannot be reached, has closed the connection, or is none.
        """
        try:
            yield self._questions or self._connect()
        except (TargetError, pg8000.Error, OSError) as error:
            self.close()
            raise SourceError(plain(reason(error))) from error
        except (LookupError, TypeError, ValueError) as error:
            self.close()
            raise SourceError(_NOT_POSTGRESQL) from error

    def close(self) -> None:
        """Say goodbye."""
        questions, self._questions = self._questions, None
        if questions:
            with contextlib.suppress(pg8000.Error, OSError):
                questions.connection.close()

    def _connect(self) -> Questions:
        self._questions = questions = Questions(opened(self.endpoint, self.answered_s))
        self.begin(questions)
        return questions


def reason(error: Exception) -> str:
    """Why a server did not answer, for a person."""
    if isinstance(error, TargetError):
        return error.message
    return text_of(error)
