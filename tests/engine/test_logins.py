"""Answers to login methods, for connections of Python's own."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from loadstone.engine import ed25519_answer, parsec_answer

NONCE = bytes(range(32))
BY_PYNACL = (
    "546c3e9311d19ee389d1ae5d945821bfe459423910136f16b3bd2ae89fd7d63b"
    "449e689f4be812891a85b8f999076446d92adb83d0707215aaa60b5a23220907"
)
"""PyMySQL 1.2.4 with PyNaCl 1.6.2, for the password 'secret'."""


def test_the_signature_is_the_one_that_pymysql_makes_with_pynacl() -> None:
    assert ed25519_answer(b"secret", NONCE).hex() == BY_PYNACL


@pytest.mark.parametrize("nonce", [b"", NONCE[:-1], NONCE + b"\0"])
def test_a_nonce_of_another_length_is_refused(nonce: bytes) -> None:
    with pytest.raises(ValueError, match="32"):
        ed25519_answer(b"secret", nonce)


@pytest.mark.parametrize("doublings", [0, 3])
def test_parsec_is_signed_with_the_key_that_another_library_derives(doublings: int) -> None:
    salt = b"eighteen bytes here"
    answer = parsec_answer(b"secret", NONCE, b"P" + bytes([doublings]) + salt)
    own, signature = answer[:32], answer[32:]
    iterations = 1024 << doublings
    derived = PBKDF2HMAC(hashes.SHA512(), 32, salt, iterations).derive(b"secret")
    key = Ed25519PrivateKey.from_private_bytes(derived).public_key()
    key.verify(signature, NONCE + own)


@pytest.mark.parametrize("salt", [b"", b"P", b"Q\0salt", b"P\x09salt"])
def test_a_salt_that_is_none_or_takes_too_long_is_refused(salt: bytes) -> None:
    with pytest.raises(ValueError, match="salt for parsec"):
        parsec_answer(b"secret", NONCE, salt)
