"""Which interface carries the traffic, and who listens, from the kernel's tables as texts."""

import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.observe.listeners import listening_inodes
from loadstone.observe.routes import FILES, gateway_towards, interface_towards
from observe.other_tools import program

ROUTE = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
eth2\t0005000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth3\t0006000A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
FIB_TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 192.168.0.7
        /32 host LOCAL
     |-- 192.168.0.255
        /32 link BROADCAST
"""
IPV6_ROUTE = """\
20010db8000000000000000000000000 20 00000000000000000000000000000000 00 \
00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth5
00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
"""
IF_INET6 = "20010db8000000000000000000000007 02 40 00 80     eth0\n"
TABLES = {
    "net/route": ROUTE,
    "net/fib_trie": FIB_TRIE,
    "net/ipv6_route": IPV6_ROUTE,
    "net/if_inet6": IF_INET6,
}


@pytest.mark.parametrize(
    ("peer", "gateway"),
    [
        ("8.8.8.8", "192.168.0.1"),
        ("10.1.2.3", None),  # on the same network
        ("192.168.0.7", None),  # this host itself
        ("2001:db8::9", None),
        ("2a00::1", "fe80::1"),
        ("db1", None),
    ],
)
def test_the_next_host_is_that_of_the_route_that_is_taken(peer: str, gateway: str | None) -> None:
    assert gateway_towards(peer, TABLES) == gateway


@pytest.mark.parametrize(
    ("peer", "nic"),
    [
        ("8.8.8.8", "eth0"),
        ("10.1.2.3", "eth1"),
        ("10.0.5.9", "eth2"),
        ("::ffff:10.0.5.9", "eth2"),
        ("10.0.6.9", "eth1"),  # the closer one is a refusal
        ("127.0.0.5", "lo"),
        ("192.168.0.7", "lo"),
        ("192.168.0.255", "eth0"),
        ("2001:db8::9", "eth5"),
        ("2001:db8::7", "lo"),
        ("2a00::1", "eth0"),
        ("::1", "lo"),
        ("db1", None),
    ],
)
def test_the_longest_prefix_then_the_least_metric(peer: str, nic: str | None) -> None:
    assert interface_towards(peer, TABLES) == nic


@pytest.mark.parametrize(
    ("peer", "nic"), [("192.168.0.7", "eth0"), ("2001:db8::7", "eth5"), ("127.0.0.1", "lo")]
)
def test_what_comes_from_outside_to_an_own_address_comes_by_that_network(
    peer: str, nic: str
) -> None:
    assert interface_towards(peer, TABLES, from_outside=True) == nic


def test_no_table_is_no_answer() -> None:
    assert interface_towards("10.1.2.3", {}) is None


@pytest.mark.parametrize("peer", ["127.0.0.1", "192.0.2.1", "10.77.0.1", "::1"])
def test_the_kernel_agrees(peer: str) -> None:
    tables = {name: Path(f"/proc/{name}").read_text() for name in FILES}
    said = subprocess.run(
        [program("ip"), "-o", "route", "get", peer], capture_output=True, text=True, check=False
    )
    words = said.stdout.split()
    theirs = words[words.index("dev") + 1] if "dev" in words else None
    assert interface_towards(peer, tables) == theirs


@given(st.dictionaries(st.sampled_from(FILES), st.text()), st.sampled_from(["10.0.0.1", "2a00::1"]))
def test_hostile_tables_give_no_traceback(tables: dict[str, str], peer: str) -> None:
    interface_towards(peer, tables)


TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   100        0 111 1
   1: 0100007F:0CEA 0100007F:8000 01 00000000:00000000 00:00000000 00000000   100        0 222 1
   2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000   100        0 333 1
"""
TCP6 = """\
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:0CEA 00000000000000000000000000000000:0000 0A \
00000000:00000000 00:00000000 00000000 0 0 444 1
   1: B80D0120000000000000000007000000:1F91 00000000000000000000000000000000:0000 0A \
00000000:00000000 00:00000000 00000000 0 0 555 1
"""


@pytest.mark.parametrize(
    ("port", "address", "inodes"),
    [
        (3306, "127.0.0.1", {"111", "444"}),
        (3306, "10.0.0.1", {"444"}),
        (3306, "::1", {"444"}),
        (8080, "10.0.0.1", {"333"}),
        (8080, "::1", set()),
        (8081, "2001:db8::7", {"555"}),
        (8081, "2001:db8::8", set()),
        (3306, None, {"111", "444"}),
    ],
)
def test_who_takes_connections_to_an_address(
    port: int, address: str | None, inodes: set[str]
) -> None:
    to = None if address is None else ip_address(address)
    assert listening_inodes([TCP, TCP6], port, to) == inodes


@given(st.text())
def test_hostile_socket_tables_give_no_traceback(text: str) -> None:
    listening_inodes([text, TCP + text], 3306, ip_address("::1"))
