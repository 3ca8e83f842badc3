"""A user of a throwaway server."""

from __future__ import annotations

from pydantic import SecretStr, field_serializer

from loadstone.model.frozen import Frozen

MAIN_USER = "loadstone"
"""The user with all privileges."""


class Account(Frozen):
    """A user of the server, with its password and login method."""

    user: str
    password: SecretStr
    method: str

    @field_serializer("password", when_used="json")
    def _reveal_to_the_record(self, password: SecretStr) -> str:
        # The file is mode 0600, and the account lives as long as the sandbox does.
        return password.get_secret_value()
