"""The language of what the program prints: --lang, LOADSTONE_LANG, the locale; JSON is English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.cli.language import current

ENGLISH = "error: no such option '--zzz'\nhint:  loadstone runs list --help shows all options\n"
CHINESE = "错误：没有选项 '--zzz'\n提示：loadstone runs list --help 显示全部选项\n"


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        ((), {}, ENGLISH),
        ((), {"LANG": "zh_CN.UTF-8"}, CHINESE),
        ((), {"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, ENGLISH),
        ((), {"LC_MESSAGES": "zh_TW"}, CHINESE),
        ((), {"LANG": "zh_CN.UTF-8", "LOADSTONE_LANG": "en"}, ENGLISH),
        ((), {"LOADSTONE_LANG": "zh"}, CHINESE),
        (("--lang", "zh"), {}, CHINESE),
        (("--lang=zh",), {}, CHINESE),
        (("--lang", "en"), {"LANG": "zh_CN.UTF-8"}, ENGLISH),
        ((), {"LANG": "de_DE.UTF-8"}, ENGLISH),
    ],
)
def test_the_option_comes_before_the_environment(
    words: tuple[str, ...], environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    for line in (("runs", "list", "--zzz", *words), (*words, "runs", "list", "--zzz")):
        done = called(*line, folder=tmp_path, environment=environment, code=2)
        assert done.stderr == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run", "错误：缺少参数 'WORKLOAD...'\n"),
        ("foo", "错误：没有命令 'foo'\n"),
        ("run oltp_read_write --port 99999", "错误：'--port' / '-P' 的值无效：99999 不在范围"),
        ("run oltp_read_write --duration 0", "错误：'--duration' 的值无效：时间必须大于 0\n"),
        ("run oltp_read_write --tls no", "错误：'--tls' 的值无效：'no' 不是 'disabled', "),
        ("runs export --format", "错误：选项 '--format' 需要一个值\n"),
        ("runs list a", "错误：多余的参数（a）\n"),
        ("check", "错误：用 --target 指定服务器\n"),
        ("probe nowhere", "错误：'[FOLDER]' 的值无效：'nowhere' 不存在（Directory）\n"),
    ],
)
def test_usage_errors_are_chinese(line: str, said: str, tmp_path: Path) -> None:
    done = called(*line.split(), folder=tmp_path, environment={"LANG": "zh_CN.UTF-8"}, code=2)
    assert done.stderr.startswith(said)
    assert "\n提示：" in done.stderr


def test_json_is_english_in_every_language(tmp_path: Path) -> None:
    documents = [
        called("runs", "list", "--json", "--lang", language, folder=tmp_path).stdout
        for language in ("en", "zh")
    ]
    assert documents[0] == documents[1]
    assert json.loads(documents[0]) == []


def test_one_call_leaves_no_language_to_the_next(tmp_path: Path) -> None:
    chinese = called("runs", "list", "--lang", "zh", folder=tmp_path, environment={})
    assert current().code == "en"
    english = called("runs", "list", folder=tmp_path, environment={})
    assert chinese.stderr == "runs 中没有运行\n"
    assert english.stderr == "no runs in runs\n"


@pytest.mark.parametrize("words", [("--lang", "zh"), ("oltp_read_only", "--threads=x", "run")])
def test_sysbench_prints_english_in_every_locale(words: tuple[str, ...], tmp_path: Path) -> None:
    """Scripts read the JSON."""
    chinese = {"LANG": "zh_CN.UTF-8"}
    done = called("sysbench", *words, folder=tmp_path, environment=chinese, code=None)
    assert done.stderr + done.stdout != ""
    assert (done.stderr + done.stdout).isascii()
