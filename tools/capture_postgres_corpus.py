"""Writes the corpora of PostgreSQL's fuzz targets again, from conversations with a real server.

`PYTHONPATH=.:src:tests python -m tools.capture_postgres_corpus` starts a PostgreSQL, lets the
example `talk` of crates/wire-postgres speak to it through a forwarder that writes along what both
say, and cuts that into inputs of crates/wire-postgres/tests/fuzzed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from postgres.server import PASSWORD, find_programs, started
from tools.capture_corpus import LONGEST, MOST_OF_A_KIND, RAW, Heard, Recorder, an_input

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "crates" / "wire-postgres" / "fuzz" / "corpus"
HEADER = 5
READY, ERROR, AUTHENTICATION = b"Z", b"E", b"R"
SASL = b"\0\0\0\x0a"

# The bits of the first byte: see tests/fuzzed/replies.rs and logins.rs.
COPIES_IN, KEEPS_ROWS, KEEPS_RESULTS = 4, 8, 16
WANTS_TLS, MUST_HAVE_TLS = 1, 2
LOGINS: tuple[tuple[str, dict[str, str]], ...] = (
    ("by_trust", {}),
    ("by_scram", {}),
    ("by_scram", {"password": "wrong"}),
    ("by_md5", {}),
    ("by_password", {}),
    ("only_tls", {}),
    ("by_trust", {"database": "missing"}),
)


def messages(data: bytes) -> Iterator[bytes]:
    """Whole messages with their headers."""
    while len(data) >= HEADER:
        length = 1 + int.from_bytes(data[1:HEADER], "big")
        yield data[:length]
        data = data[length:]


def replies(said: bytes) -> Iterator[list[bytes]]:
    """The messages up to each end of a reply; the first is the login."""
    reply: list[bytes] = []
    for message in messages(said):
        reply.append(message)
        if message[:1] in (READY, ERROR) and (message[:1] == READY or b"\0VFATAL" in message):
            yield reply
            reply = []


def target_of(reply: list[bytes]) -> str:
    """Which target reads this reply, by its first messages."""
    kinds = bytes(message[0] for message in reply)
    if kinds.count(b"1") + kinds.count(b"2") > 2:
        return "postgres_pipelines"
    if kinds.startswith(b"1t"):
        return "postgres_prepared"
    return "postgres_executions" if kinds.startswith(b"2") else "postgres_queries"


def inputs_of(heard: Heard) -> Iterator[tuple[str, bytes]]:
    """The inputs that a conversation gives, by target."""
    said = b"".join(data for is_server, data in heard.parts if is_server)
    login, *others = list(replies(said)) or [[]]
    if not login:
        return  # a request to cancel has no answer
    yield "postgres_login", an_input((0, 0), RAW, b"".join(login))
    for flags, answer in ((WANTS_TLS, b"N"), (WANTS_TLS | MUST_HAVE_TLS, b"S")):
        yield "postgres_login", an_input((flags, 0), RAW, answer + b"".join(login))
    if login[0][:1] == AUTHENTICATION and login[0][HEADER:].startswith(SASL):
        yield "postgres_authentication", an_input((0, 0), RAW, b"".join(login[1:]))
        yield "postgres_authentication", an_input((WANTS_TLS, 0), RAW, b"".join(login[1:]))
    for reply in others:
        flags = COPIES_IN | KEEPS_ROWS | KEEPS_RESULTS
        yield target_of(reply), an_input((flags, 0), RAW, b"".join(reply))
        yield "postgres_pipelines", an_input((flags, 0), RAW, b"".join(reply))
        for message in reply:
            if message[:1] == ERROR:
                yield "postgres_errors", an_input((0, 0), RAW, message[HEADER:])


def capture() -> Iterator[tuple[str, bytes]]:
    """All inputs that a server gives."""
    programs = find_programs()
    assert programs is not None, "no PostgreSQL: tools/get-postgres fetches one"
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    talk = target / "debug/examples/talk"
    build = ["cargo", "build", "--quiet", "-p", "loadstone-wire-postgres", "--example", "talk"]
    subprocess.run(build, cwd=ROOT, check=True)
    with started(programs) as server, Recorder(server.port) as recorder:
        talks = [("login", user, more) for user, more in LOGINS]
        talks += [(what, "by_scram", {}) for what in ("statements", "copies", "cancels")]
        for what, user, more in talks:
            options = {"port": str(recorder.port), "user": user, "password": PASSWORD}
            options |= {"database": "postgres"} | more
            words = [str(talk), what, *(f"{name}={value}" for name, value in options.items())]
            subprocess.run(words, check=False, stdout=subprocess.DEVNULL)
        for heard in recorder.connections:
            yield from inputs_of(heard)


def main() -> int:
    """The shortest inputs of each target."""
    found: dict[str, set[bytes]] = {}
    for target, data in capture():
        if len(data) <= LONGEST + 4:
            found.setdefault(target, set()).add(data)
    for target, inputs in sorted(found.items()):
        spread = sorted(inputs, key=lambda data: (len(data), data))
        step = max(1, len(spread) // MOST_OF_A_KIND)
        chosen = spread[::step][:MOST_OF_A_KIND]
        folder = CORPORA / target
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for data in chosen:
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        print(f"{target}: {len(chosen)} inputs, {sum(map(len, chosen))} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
