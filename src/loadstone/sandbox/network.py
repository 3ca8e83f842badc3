"""A network namespace for one server, and the line that leads there. Root only.

The namespace (network_namespaces(7)) is connected to this machine's by a pair of interfaces
(veth(4)). Outgoing packets of either end wait in a kernel queue: tc-tbf(8) for a rate, tc-netem(8)
for delay. Sandboxes, experiments, benches and tests use this module.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from loadstone.model.experiment import NetworkLimit
from loadstone.model.frozen import Frozen
from loadstone.model.message import Joined, say
from loadstone.sandbox.errors import SandboxError

_NAMED = Path("/run/netns")
_PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}
_SUBNETS = 2**14
"""Number of subnets of four addresses each, in 10.255.0.0/16."""

_COMMAND_S = 20
_BURST_S = 0.004
"""Seconds of traffic that may leave at once: what the line carries in one tick of a 250 Hz
clock."""

_LEAST_BURST_BYTES = 64 * 1024
"""The largest packet that TCP hands to an interface: one that never fits would never leave."""

_QUEUE = "200ms"
"""The longest time that packets wait before they are dropped."""

_DELAYED_PACKETS = "100000"
"""Packets in flight at most: netem's own default, 1000, is 12 Gbit/s for a millisecond."""

_numbers = count()


class Namespace(Frozen):
    """A network namespace that was created, and its addresses."""

    name: str
    pair: str
    """The start of both interfaces' names."""
    here: str
    """This machine's address on the line."""
    there: str
    """The address in the namespace."""

    @property
    def outer(self) -> str:
        """This machine's end of the line."""
        return f"{self.pair}o"

    @property
    def inner(self) -> str:
        """The namespace's end of the line."""
        return f"{self.pair}i"

    @property
    def launcher(self) -> tuple[str, ...]:
        """The command prefix that runs a command in the namespace.

        `ip netns exec` would also mount another /sys, without the control groups.
        """
        return ("nsenter", f"--net={_NAMED / self.name}")

    @property
    def launcher_of_a_host(self) -> tuple[str, ...]:
        """The same prefix, for a command that must also find its interfaces in /sys."""
        return ("ip", "netns", "exec", self.name)

    @property
    def ends(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Both ends of the line: the command prefix for tc, and the interface."""
        return (("tc",), self.outer), (("tc", "-n", self.name), self.inner)


Addresses = tuple[str, str]
"""The addresses of this machine's end of a line and of the other end, within a /30."""


class Passed(Frozen):
    """Counters of the rate queue at the far end of a line, which the server's answers pass."""

    bytes_sent: int
    held_back: int
    """How often a packet had to wait."""


@contextlib.contextmanager
def namespace(addresses: Addresses | None = None) -> Iterator[Namespace]:
    """Create a namespace for the context, and remove it afterwards.

    Raises:
        SandboxError: this machine does not allow it.
    """
    made = make_namespace(addresses)
    try:
        yield made
    finally:
        remove_namespace(made)


def make_namespace(addresses: Addresses | None = None) -> Namespace:
    """Create a namespace of this process, joined to ours by a line without limits.

    `addresses`: the line's, if they must be known in advance; by default two free ones.

    Raises:
        SandboxError: this machine does not allow it.
    """
    clear_stale()
    number = next(_numbers)
    here, there = addresses or _free_addresses(4 * os.getpid() + number)
    made = Namespace(
        name=f"loadstone-{os.getpid()}-{number}",
        pair=f"ls{os.getpid()}-{number}",
        here=here,
        there=there,
    )
    _run("ip", "netns", "add", made.name)
    try:
        peer = ["type", "veth", "peer", "name", made.inner, "netns", made.name]
        _run("ip", "link", "add", made.outer, *peer)
        _run("ip", "address", "add", f"{here}/30", "dev", made.outer)
        _run("ip", "link", "set", made.outer, "up")
        _run("ip", "-n", made.name, "address", "add", f"{there}/30", "dev", made.inner)
        _run("ip", "-n", made.name, "link", "set", made.inner, "up")
        _run("ip", "-n", made.name, "link", "set", "lo", "up")
    except BaseException:
        remove_namespace(made)
        raise
    return made


def remove_namespace(made: Namespace) -> None:
    """Remove a namespace; processes that still run in it lose their network."""
    with contextlib.suppress(SandboxError):  # an interface is removed with its namespace
        _run("ip", "link", "delete", made.outer)
    _run("ip", "netns", "delete", made.name)


def limit_line(made: Namespace, limit: NetworkLimit | None) -> None:
    """Set the limits of both ends of the line; `None`: without limits.

    Raises:
        SandboxError: the kernel has no such queue.
    """
    for tc, interface in made.ends:
        with contextlib.suppress(SandboxError):  # there may be no queue yet
            _run(*tc, "qdisc", "delete", "dev", interface, "root")
        for words in queues(limit) if limit else ():
            _run(*tc, "qdisc", "add", "dev", interface, *words)


def passed(made: Namespace) -> Passed:
    """The counters of the line's rate so far; all zero if it has none.

    Raises:
        SandboxError: the namespace is gone.
    """
    said = _run("tc", "-n", made.name, "-s", "qdisc", "show", "dev", made.inner)
    found = re.search(r"^qdisc tbf .*\n\s*Sent (\d+) bytes.*overlimits (\d+)", said, re.MULTILINE)
    sent, held_back = found.groups() if found else (0, 0)
    return Passed(bytes_sent=int(sent), held_back=int(held_back))


def queues(limit: NetworkLimit) -> list[tuple[str, ...]]:
    """The queues of one end of the line, as arguments of tc(8)."""
    found: list[tuple[str, ...]] = []
    if limit.delay_s:
        delay = f"{limit.delay_s * 1e6:.0f}us"
        found.append(("root", "handle", "1:", "netem", "delay", delay, "limit", _DELAYED_PACKETS))
    if limit.bits_per_s:
        place = ("parent", "1:1", "handle", "10:") if found else ("root",)
        burst = max(_LEAST_BURST_BYTES, round(limit.bits_per_s / 8 * _BURST_S))
        rate = ("rate", f"{limit.bits_per_s}bit", "burst", f"{burst}b", "latency", _QUEUE)
        found.append((*place, "tbf", *rate))
    return found


def why_not(limit: NetworkLimit) -> tuple[str | None, str] | None:
    """The part of such a network that is impossible here, and why; `None`: none is.

    A namespace is created and removed for this, as only the kernel knows which queues it has.
    """
    missing = {package for name, package in _PROGRAMS.items() if shutil.which(name) is None}
    if missing:
        return None, say("not installed: {programs}", programs=Joined(sorted(missing)))
    try:
        with namespace() as made:
            for part in ("bits_per_s", "delay_s"):
                only = NetworkLimit.model_validate({part: getattr(limit, part)})
                try:
                    limit_line(made, only)
                except SandboxError as error:
                    return part, say(
                        "this kernel has no queue for it: {reason}", reason=error.message
                    )
    except SandboxError as error:
        return None, error.message
    return None


def clear_stale() -> list[str]:
    """Remove the namespaces of killed Loadstone processes: their servers died with them.

    Returns their names.
    """
    removed: list[str] = []
    for name in os.listdir(_NAMED) if _NAMED.is_dir() else ():
        maker = re.fullmatch(r"loadstone-(\d+)-\d+", name)
        if maker and not Path("/proc", maker[1]).exists():
            with contextlib.suppress(SandboxError):  # another process of ours was faster
                _run("ip", "netns", "delete", name)
                removed.append(name)
    return removed


def _free_addresses(begin: int) -> tuple[str, str]:
    """Two adjacent addresses that no interface of this machine has, searched from a number on."""
    taken = _run("ip", "-oneline", "-4", "address", "show")
    for offset in range(_SUBNETS):
        high, low = divmod(4 * ((begin + offset) % _SUBNETS), 256)
        here, there = f"10.255.{high}.{low + 1}", f"10.255.{high}.{low + 2}"
        if f" {here}/" not in taken and f" {there}/" not in taken:
            return here, there
    raise SandboxError(
        say("no address in 10.255.0.0/16 is free"), say("`ip address` shows who has them")
    )


def _run(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=_COMMAND_S)
    except subprocess.CalledProcessError as error:
        raise _failed(words, _said(error.stderr)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(words, str(error)) from error
    return done.stdout


def _failed(words: Sequence[str], why: str) -> SandboxError:
    return SandboxError(say("{command}: {reason}", command=" ".join(words), reason=why))


def _said(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[0] if lines else say("it failed without an error message")
