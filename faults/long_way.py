"""A long way: a relay on this machine that hands on what comes some milliseconds later.

`python -m faults.long_way PORT MILLISECONDS` listens on a free port of 127.0.0.1, says which, and
relays to PORT. The kernel's own means (tc netem) is not in every kernel.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benches.place import ROOT

_CHUNK = 65_536
_END_S = 5.0


@contextmanager
def long_way(port: int, each_way_ms: float) -> Iterator[int]:
    """The port of a relay to that one; ends with the block, and with us."""
    command = [sys.executable, "-m", "faults.long_way", str(port), str(each_way_ms)]
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as relay:
        try:
            assert relay.stdout is not None, "it was asked for"
            yield int(relay.stdout.readline())
        finally:
            relay.kill()
            relay.wait(_END_S)


async def _relay(port: int, delay_s: float) -> None:
    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, question = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_hand_on(client, question, delay_s), _hand_on(server, answer, delay_s))

    relay = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(relay.sockets[0].getsockname()[1], flush=True)
    await relay.serve_forever()


async def _hand_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    """All that comes, in its order: what is due later is never handed on earlier."""
    loop = asyncio.get_running_loop()
    try:
        while some := await reader.read(_CHUNK):
            loop.call_later(delay_s, writer.write, some)
    except ConnectionError:
        pass  # the other end reports who broke it
    loop.call_later(delay_s, writer.close)


if __name__ == "__main__":
    asyncio.run(_relay(int(sys.argv[1]), float(sys.argv[2]) / 1000))
