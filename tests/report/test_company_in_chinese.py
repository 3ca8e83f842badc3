"""Who else uses a server is said in Chinese as well, for every kind of client."""

from __future__ import annotations

import pytest

from loadstone.model.language import in_language
from loadstone.observe.clients import Account, Clients

APP = Account("app", "10.0.0.5", 9, 2)


@pytest.mark.parametrize(
    ("clients", "english", "chinese"),
    [
        (
            Clients((APP,)),
            "db1:3306 has connections of app@10.0.0.5 (9, 2 active)",
            "db1:3306 有其他客户端的连接：app@10.0.0.5（9，活跃 2）",
        ),
        (
            Clients((APP,), replicas=1),
            "has connections of app@10.0.0.5 (9, 2 active) and feeds 1 replica",
            "app@10.0.0.5（9，活跃 2），并带有 1 个从库",
        ),
        (Clients(replicas=3), "db1:3306 feeds 3 replicas", "db1:3306 带有 3 个从库"),
        (
            Clients(hidden=1, right="PROCESS"),
            "has a connection that this user may not see",
            "有当前用户无权查看的 1 个连接",
        ),
        (
            Clients(hidden=14, replicas=2, right="PROCESS"),
            "has 14 connections that this user may not see (PROCESS) and feeds 2 replicas",
            "无权查看的 14 个连接（需要 PROCESS 权限），并带有 2 个从库",
        ),
        (
            Clients(members=2),
            "db1:3306 is one of 3 servers of a cluster",
            "db1:3306 是由 3 台服务器组成的集群的成员",
        ),
    ],
)
def test_who_uses_a_server(clients: Clients, english: str, chinese: str) -> None:
    said = clients.at("db1:3306")
    assert english in said
    assert chinese in in_language("zh")(said)
