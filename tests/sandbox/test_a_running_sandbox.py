import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from loadstone.families import connect
from loadstone.model.target import Credentials, Endpoint, Tls
from loadstone.mysql.facts import describe_server
from loadstone.sandbox import Sandbox, sandbox_at
from loadstone.sandbox.certificates import make_certificates
from loadstone.servers.errors import TargetError

pytestmark = pytest.mark.server


def one(sandbox: Sandbox, statement: str) -> tuple[str, ...]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return tuple(str(value) for value in row or ())


def refused(endpoint: Endpoint) -> TargetError:
    with pytest.raises(TargetError) as caught:
        connect(endpoint).close()
    assert "\n" not in caught.value.message
    return caught.value


@contextmanager
def a_user(sandbox: Sandbox, definition: str) -> Iterator[None]:
    """An account that exists for the block."""
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {definition}")
    try:
        yield
    finally:
        with sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP USER {definition.split()[0]}")


def test_it_is_durable_and_says_so(shared: Sandbox) -> None:
    asked = "SELECT @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit"
    assert one(shared, asked) == ("1", "1", "1")
    assert shared.settings["log_bin"] == "ON"
    assert shared.settings["sync_binlog"] == "1"
    assert shared.settings["innodb_flush_log_at_trx_commit"] == "1"
    assert not shared.disk.in_memory


def test_it_takes_thousands_of_users_and_statements(shared: Sandbox) -> None:
    connections, statements = one(shared, "SELECT @@max_connections, @@max_prepared_stmt_count")
    assert int(connections) == int(shared.settings["max_connections"]) > 3000
    assert int(statements) == 1_048_576


def test_it_listens_on_loopback_alone_outside_the_ports_of_clients(shared: Sandbox) -> None:
    assert one(shared, "SELECT @@bind_address, @@port") == ("127.0.0.1", str(shared.port))
    low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    assert not int(low) <= shared.port <= int(high)


def test_ctrl_c_in_the_terminal_does_not_reach_it(shared: Sandbox) -> None:
    assert os.getpgid(shared.pid) == shared.pid != os.getpgid(0)


def test_only_its_owner_may_enter_its_folder(shared: Sandbox) -> None:
    assert shared.folder.stat().st_mode & 0o077 == 0
    assert (shared.folder / "state.json").stat().st_mode & 0o077 == 0
    assert shared.client_file.stat().st_mode & 0o077 == 0
    assert not (shared.folder / "init.sql").exists()


@pytest.mark.parametrize("over", ["tcp", "socket"])
def test_every_login_method_lets_its_user_in(shared: Sandbox, over: str) -> None:
    for account in shared.accounts:
        if account.method == "sha256_password" and over == "socket":
            continue  # the server needs TLS or its public key there; PyMySQL supports neither
        endpoint = shared.endpoint(over=over, tls=Tls()).model_copy(
            update={"credentials": Credentials(password=account.password)}
        )
        target = endpoint.target.model_copy(update={"user": account.user})
        with connect(endpoint.model_copy(update={"target": target})) as connection:
            facts = describe_server(connection, target)
        assert facts.flavour == shared.flavour
        assert facts.version.startswith(shared.version)
        assert facts.encrypted is (over == "tcp")


def test_on_loopback_it_is_reached_without_tls_as_sysbench_would(shared: Sandbox) -> None:
    with connect(shared.tcp) as connection:
        assert not describe_server(connection, shared.tcp.target).encrypted
    assert str(shared.tcp.target).endswith("?tls=disabled")
    assert "tls=" not in str(shared.local.target)


def test_without_tls_a_new_user_of_mysqls_own_method_is_let_in(schema: Sandbox) -> None:
    """The server has no hash of its password in memory yet: it goes encrypted by RSA."""
    if schema.flavour == "mariadb":
        pytest.skip("MariaDB has no caching_sha2_password")
    with schema.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER fresh IDENTIFIED WITH caching_sha2_password BY 'a pass'")
        cursor.execute(f"GRANT SELECT ON `{schema.state.database}`.* TO fresh")
    try:
        target = schema.tcp.target.model_copy(update={"user": "fresh"})
        credentials = Credentials(password=SecretStr("a pass"))
        fresh = schema.tcp.model_copy(update={"target": target, "credentials": credentials})
        with connect(fresh) as connection:
            assert not describe_server(connection, target).encrypted
    finally:
        with schema.connect() as connection, connection.cursor() as cursor:
            cursor.execute("DROP USER fresh")


def test_root_has_no_empty_password(shared: Sandbox) -> None:
    for way in (shared.tcp, shared.local):
        target = way.target.model_copy(update={"user": "root"})
        assert refused(Endpoint(target=target)).kind == "login_refused"


@pytest.mark.parametrize(
    "mode", ["disabled", "preferred", "required", "verify-ca", "verify-identity"]
)
def test_each_tls_mode_does_what_it_says(shared: Sandbox, mode: str) -> None:
    tls = Tls.model_validate({"mode": mode, "ca": shared.certificates.ca})
    endpoint = shared.endpoint(tls=tls)
    with connect(endpoint) as connection:
        facts = describe_server(connection, endpoint.target)
    assert facts.encrypted is (mode != "disabled")


def test_the_sandboxs_client_certificate_satisfies_a_user_that_must_show_one(
    shared: Sandbox,
) -> None:
    with a_user(shared, "certified@'%' IDENTIFIED BY 'pw-0' REQUIRE X509"):
        only_with_a_certificate(shared)


def only_with_a_certificate(shared: Sandbox) -> None:
    files = shared.certificates
    with_one = Tls(
        mode="verify-ca", ca=files.ca, cert=files.cert("client"), key=files.key("client")
    )
    for tls, enters in ((with_one, True), (Tls(mode="verify-ca", ca=files.ca), False)):
        target = shared.endpoint(tls=tls).target.model_copy(
            update={"user": "certified", "database": None}
        )
        credentials = Credentials.model_validate({"password": "pw-0"})
        endpoint = Endpoint(target=target, credentials=credentials, server_is_here=True)
        if enters:
            connect(endpoint).close()
        else:
            assert refused(endpoint).kind == "login_refused"


def test_anothers_authority_is_not_trusted(shared: Sandbox, tmp_path: Path) -> None:
    other = make_certificates(tmp_path / "other")
    error = refused(shared.endpoint(tls=Tls(mode="verify-ca", ca=other.ca)))
    assert error.kind == "tls_failed"
    assert "--tls-ca" in str(error.hint)


def test_a_missing_authority_file_is_named(shared: Sandbox) -> None:
    error = refused(shared.endpoint(tls=Tls(mode="verify-ca", ca=Path("/nowhere/ca.pem"))))
    assert error.kind == "tls_failed"
    assert "/nowhere/ca.pem" in error.message


def test_a_wrong_password_says_where_it_came_from(shared: Sandbox) -> None:
    credentials = Credentials.model_validate({"password": "wrong", "source": "~/.my.cnf"})
    error = refused(shared.tcp.model_copy(update={"credentials": credentials}))
    assert error.kind == "login_refused"
    assert "~/.my.cnf" in str(error.hint)
    assert "wrong" not in error.message


def test_a_full_server_is_told_apart(shared: Sandbox) -> None:
    target = shared.tcp.target.model_copy(update={"user": "plain", "database": None})
    with (
        a_user(shared, "plain@'%' IDENTIFIED BY ''"),
        few_connections(shared),
        ExitStack() as open_ones,
        pytest.raises(TargetError) as full,
    ):
        for _ in range(11):
            open_ones.enter_context(connect(Endpoint(target=target)))
    assert full.value.kind == "too_many_connections"


@contextmanager
def few_connections(sandbox: Sandbox) -> Iterator[None]:
    """A limit of ten connections, of which this is one."""
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL max_connections = 10")
        try:
            yield
        finally:
            cursor.execute(f"SET GLOBAL max_connections = {sandbox.settings['max_connections']}")


def test_a_missing_schema_is_named(shared: Sandbox) -> None:
    target = shared.tcp.target.model_copy(update={"database": "nowhere"})
    error = refused(shared.tcp.model_copy(update={"target": target}))
    assert error.kind == "unknown_database"
    assert "nowhere" in error.message


def test_it_is_known_by_its_address(shared: Sandbox) -> None:
    for way in (shared.tcp, shared.local):
        found = sandbox_at(way.target)
        assert found is not None
        assert found.name == shared.name
    assert sandbox_at(shared.tcp.target.model_copy(update={"host": "db1"})) is None
    assert sandbox_at(shared.tcp.target.model_copy(update={"port": 3306})) is None


def test_its_option_file_is_understood_by_ourselves(shared: Sandbox) -> None:
    from loadstone.mysql.credentials import resolve_endpoint
    from loadstone.servers.endpoint_request import EndpointRequest

    request = EndpointRequest(defaults_file=shared.client_file)
    endpoint = resolve_endpoint(request)
    assert endpoint.target.socket == shared.socket
    connect(endpoint).close()


def test_temporary_tables_are_in_a_folder_that_no_other_server_clears(shared: Sandbox) -> None:
    """MariaDB clears its folder of temporary tables at the start, also of other servers'."""
    with shared.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@tmpdir")
        ((folder,),) = cursor.fetchall()
    assert Path(str(folder)) == shared.folder / "tmp"
