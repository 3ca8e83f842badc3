"""What is said of others on a server has its words in Chinese, whoever is there."""

from __future__ import annotations

import pytest
from loadstone.report.words import CHINESE
from loadstone.report.words.translation import localize

from loadstone.observe.clients import Account, Clients

APP = Account("app", "10.0.0.5", 9, 2)


@pytest.mark.parametrize(
    ("clients", "said"),
    [
        (Clients((APP,)), "db1:3306 有其他客户端的连接：app from 10.0.0.5 (9, 2 at work)"),
        (Clients((APP,), replicas=1), "带有 1 个从库"),
        (Clients(replicas=3), "db1:3306 带有 3 个从库"),
        (Clients(hidden=1), "有当前用户无权查看的 1 个连接"),
        (
            Clients(hidden=14, replicas=2),
            "无权查看的 14 个连接（需要 PROCESS 权限），并带有 2 个从库",
        ),
        (Clients(members=2), "db1:3306 是由 3 台服务器组成的集群的成员"),
    ],
)
def test_who_uses_a_server(clients: Clients, said: str) -> None:
    assert said in localize(f"db1:3306 {clients}", CHINESE)
