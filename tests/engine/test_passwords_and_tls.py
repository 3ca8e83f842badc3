"""The TLS that a server must have before it gets the password itself, with both of our clients."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.conftest import on_mariadb, on_mysql
from engine.driving import a_plan, described, drive, once
from engine.servers import execute, methods_of
from loadstone.families import connect
from loadstone.model.target import Endpoint, Target, Tls, TlsMode
from loadstone.sandbox import Sandbox
from loadstone.sandbox.certificates import fingerprint_of
from loadstone.servers.errors import TargetError
from loadstone.servers.tls import tls_context

pytestmark = pytest.mark.server

# A tunnel may listen there: nobody has checked.
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Way:
    """How an account reaches a server; nothing shows that it is on this host."""

    sandbox: Sandbox
    account: str
    is_known: bool = False
    """Whether it was checked who listens there."""

    def with_tls(self, tls: Tls, *, clear: bool = False) -> Endpoint:
        endpoint = self.sandbox.endpoint(self.account, tls=tls)
        target = endpoint.target.model_copy(update={"host": LOOPBACK})
        credentials = endpoint.credentials.model_copy(update={"may_go_in_clear": clear})
        is_here = self.is_known
        return Endpoint(target=target, credentials=credentials, server_is_here=is_here)

    def driven(self, endpoint: Endpoint) -> str:
        """How the engine's login ends, if the server has not cached the account yet."""
        execute(self.sandbox, "FLUSH PRIVILEGES")
        end = drive(a_plan(described(endpoint), connect=once())).last
        return "logged in" if end.error is None else end.error.kind

    def administered(self, endpoint: Endpoint) -> str:
        """How the login of the connection for administration ends."""
        execute(self.sandbox, "FLUSH PRIVILEGES")
        try:
            connect(endpoint).close()
        except TargetError as error:
            return error.kind
        return "logged in"

    def both(self, tls: Tls, *, clear: bool = False) -> tuple[str, str]:
        endpoint = self.with_tls(tls, clear=clear)
        return self.driven(endpoint), self.administered(endpoint)


def proofs(sandbox: Sandbox) -> list[Tls]:
    ca, own = sandbox.certificates.ca, fingerprint_of(sandbox.certificates.cert("server"))
    return [
        Tls(mode="verify-ca", ca=ca),
        Tls(mode="required", fingerprint=own),
        Tls(mode="preferred", fingerprint=own),
        Tls(mode="verify-ca", ca=ca, fingerprint=own),
    ]


@on_mysql
@pytest.mark.mysql
@pytest.mark.parametrize("method", ["caching_sha2_password", "sha256_password"])
def test_a_full_login_wants_a_proof_or_a_word(shared: Sandbox, method: str) -> None:
    if method not in methods_of("mysql"):
        pytest.skip("this server has no such method any more")
    way = Way(shared, method)
    for mode in ("preferred", "required"):
        tls = Tls.model_validate({"mode": mode})
        assert way.both(tls) == ("password_withheld", "password_withheld")
        assert way.both(tls, clear=True) == ("logged in", "logged in")
    for tls in proofs(shared):
        assert way.both(tls) == ("logged in", "logged in"), tls
    known = Way(shared, method, is_known=True)
    assert known.both(Tls(mode="preferred")) == ("logged in", "logged in")
    assert way.both(Tls(mode="disabled")) == ("logged in", "logged in")


def test_what_proves_another_server_ends_it(shared: Sandbox) -> None:
    way = Way(shared, "caching_sha2_password" if _is_mysql(shared) else "mysql_native_password")
    other = fingerprint_of(shared.certificates.cert("client"))
    for mode in ("preferred", "required", "verify-ca"):
        tls = Tls.model_validate({"mode": mode, "ca": shared.certificates.ca, "fingerprint": other})
        assert way.both(tls, clear=True) == ("tls_failed", "tls_failed")


@on_mariadb  # MySQL 9 has no method that always wants the password itself
def test_a_login_that_sends_no_password_works_in_every_mode(shared: Sandbox) -> None:
    way = Way(shared, "mysql_native_password")
    for tls in (Tls(mode="disabled"), Tls(), Tls(mode="required"), *proofs(shared)):
        assert way.both(tls) == ("logged in", "logged in"), tls


def test_a_throwaway_server_elsewhere_is_known_by_its_certificate(shared: Sandbox) -> None:
    own = fingerprint_of(shared.certificates.cert("server"))
    there = Target(host="10.255.0.2", port=3306)
    assert shared.pinned(there).fingerprint == own
    assert shared.tcp.target.tls.fingerprint is None  # loopback: allowed as it is


def _is_mysql(sandbox: Sandbox) -> bool:
    return sandbox.flavour != "mariadb"


@pytest.mark.parametrize("mode", ["verify-ca", "verify-identity"])
@pytest.mark.parametrize("fingerprint", [None, "0" * 64])
def test_no_authority_proves_nothing(mode: TlsMode, fingerprint: str | None) -> None:
    """The system's authorities would accept any server that has one of their certificates."""
    with pytest.raises(TargetError, match=f"--tls {mode} needs the authority") as refused:
        tls_context(Tls(mode=mode, fingerprint=fingerprint))
    assert "--tls-ca" in str(refused.value.hint)
