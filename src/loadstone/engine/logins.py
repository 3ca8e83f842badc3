"""Answers to login methods that Python's standard library has no arithmetic for."""

from __future__ import annotations

from loadstone.engine.native import native


def ed25519_answer(password: bytes, nonce: bytes) -> bytes:
    """MariaDB's `client_ed25519`: the server's nonce (32 bytes), signed (64 bytes).

    https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection

    Raises:
        ValueError: the nonce has another length.
        EngineError: the engine is missing.
    """
    return native().ed25519_answer(password, nonce)


def parsec_answer(password: bytes, nonce: bytes, salt: bytes) -> bytes:
    """MariaDB's `parsec`: a nonce of our own (32 bytes), and a signature (64 bytes) of both.

    `nonce`: the server's; `salt`: as the server sends it, with its kind and iterations.
    https://mariadb.com/docs/server/reference/plugins/authentication-plugins/authentication-plugin-parsec

    Raises:
        ValueError: the nonce has another length, or the salt is unusable.
        EngineError: the engine is missing.
    """
    return native().parsec_answer(password, nonce, salt)
