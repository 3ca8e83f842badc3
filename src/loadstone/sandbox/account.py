"""A user of a throwaway server."""

from __future__ import annotations

from pydantic import SecretStr, field_serializer

from loadstone.model.frozen import Frozen

MAIN_USER = "loadstone"
"""The one that may do everything."""


class Account(Frozen):
    """A user of the server, its password and how it logs in."""

    user: str
    password: SecretStr
    method: str

    @field_serializer("password", when_used="json")
    def _reveal_to_the_record(self, password: SecretStr) -> str:
        # The record is mode 0600 and the account lives as long as the sandbox does.
        return password.get_secret_value()
