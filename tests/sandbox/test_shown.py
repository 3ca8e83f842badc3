"""How a sandbox is shown to a person."""

from __future__ import annotations

from types import SimpleNamespace

from rich.cells import cell_len

from loadstone.cli.commands.sandbox import _as_text
from loadstone.cli.language import spoken_for


def test_a_sandbox_is_shown_in_chinese_with_its_labels_in_one_column() -> None:
    target = SimpleNamespace(target=SimpleNamespace(url="mysql://u@h/s"))
    made = SimpleNamespace(
        name="a", flavour="mariadb", version="10.11", pid=7, tcp=target, local=target, port=3306,
        login_words="--defaults-file=my.cnf", disk=SimpleNamespace(description="here"),
        settings={"x": 1}, accounts=[None], state=SimpleNamespace(role="primary"),
        is_running=lambda: False, pooled=target,
    )  # fmt: skip
    with spoken_for(["--lang", "zh"]):
        lines = _as_text(made).splitlines()[1:]  # type: ignore[arg-type]
    labels = ["TCP", "socket", "登录", "磁盘", "设置", "连接池"]
    assert [line.split()[0] for line in lines] == labels
    heads = [line[: line.index(line.split()[1])] for line in lines]
    assert [cell_len(head) for head in heads] == [11] * len(labels)
