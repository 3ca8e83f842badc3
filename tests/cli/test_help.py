"""The help: short and complete, under headings, in the language of the person who reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from babel.messages.extract import extract_from_dir

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.cli.app import COMMANDS, TASKS, app
from loadstone.cli.errors import exit_code_of
from loadstone.cli.help.click_texts import TEXTS
from loadstone.cli.help.command import Explained, Option
from loadstone.cli.help.wrapping import lines_of, width_of
from loadstone.model.language import in_language
from loadstone.model.message import Message, plain

WIDTH = 80
CHINESE = {"LC_ALL": "zh_CN.UTF-8", "COLUMNS": str(WIDTH)}
ENGLISH = {"LC_ALL": "C.UTF-8", "COLUMNS": str(WIDTH)}

# Click's texts that none of our commands can show.
NOT_SHOWN = (
    "Aborted!",
    "Argument {name!r} takes",
    "Arguments take exactly",
    "Boolean option {decl!r}",
    "Choice(",
    "Commands",
    "Could not determine name",
    "Could not open",
    "(dynamic)",
    "DeprecationWarning",
    "Did you mean",
    "Error: {message}",
    "Invalid start character",
    "Missing {param_type}",
    "Missing parameter: ",
    "Name '{name}' defined",
    "Options",
    "Positional arguments",
    "Takes {nargs} values",
    "Try '{command}",
    "Value must be an iterable",
    "does not match the format",
    "env var",
    "{len_type} values are required",
    "is not a valid UUID",
    "is not executable",
    "unknown error",
    "deprecated",
    "file",
    "directory",
    "path",
)


def commands(
    group: click.Group = app, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


OURS = [(path, command) for path, command in commands() if isinstance(command, Explained)]
each_command = pytest.mark.parametrize(
    ("path", "command"), OURS, ids=[" ".join(path) for path, _ in OURS]
)


def help_of(*words: str, environment: dict[str, str], folder: Path) -> str:
    return called(*words, folder=folder, environment=environment).stdout


@each_command
def test_each_text_of_the_help_is_a_message_with_chinese(
    path: tuple[str, ...], command: Explained
) -> None:
    chinese = in_language("zh")
    params = [each for each in command.params if isinstance(each, click.Option)]
    options = [each for each in params if not each.hidden]
    texts: list[str | None] = [command.help, *(about for about, _ in command.examples)]
    texts += [plain(each.help) if each.help else None for each in options]
    assert None not in texts
    assert [text for text in texts if not chinese.knows(text or "")] == []
    assert all(isinstance(each, Option) for each in params)
    assert isinstance(command.help, Message)


@each_command
def test_no_line_is_wider_than_the_terminal(
    path: tuple[str, ...], command: Explained, tmp_path: Path
) -> None:
    for environment in (ENGLISH, CHINESE):
        said = help_of(*path, "--help-all", environment=environment, folder=tmp_path)
        examples = {line for _, example in command.examples for line in example.splitlines()}
        wide = [line for line in said.splitlines() if width_of(line) > WIDTH]
        assert [line for line in wide if line.strip() not in {x.strip() for x in examples}] == []


@each_command
def test_a_lone_h_is_help(path: tuple[str, ...], command: Explained, tmp_path: Path) -> None:
    short = help_of(*path, "-h", environment=ENGLISH, folder=tmp_path)
    assert short == help_of(*path, "--help", environment=ENGLISH, folder=tmp_path)
    assert short.startswith(f"Usage: loadstone {' '.join(path)}")


def test_h_with_a_value_is_still_the_host(tmp_path: Path) -> None:
    done = called("check", "-h", "127.0.0.1", "-P", "1", folder=tmp_path, code=3)
    assert "127.0.0.1:1" in done.stderr


def test_help_is_a_command_too(tmp_path: Path) -> None:
    for words in ((), ("report",), ("sandbox", "start")):
        asked = called("help", *words, folder=tmp_path, environment=ENGLISH).stdout
        assert asked == called(*words, "--help", folder=tmp_path, environment=ENGLISH).stdout


def test_the_commands_stand_under_tasks(tmp_path: Path) -> None:
    said = help_of("--help", environment=ENGLISH, folder=tmp_path).splitlines()
    headings = [line.removesuffix(":") for line in said if line and not line.startswith(" ")]
    assert headings[1:-1] == ["Examples", *TASKS]
    for name in COMMANDS:
        assert sum(line.startswith(f"  {name} ") for line in said) == 1


def test_the_short_help_of_run_has_the_common_options_and_names_where_the_others_are(
    tmp_path: Path,
) -> None:
    short = help_of("run", "--help", environment=ENGLISH, folder=tmp_path)
    complete = help_of("run", "--help-all", environment=ENGLISH, folder=tmp_path)
    for common in ("--concurrency", "--rate", "--duration", "--target", "--prove", "--json"):
        assert f"{common} " in short
    for rare in ("--tls-ca", "--connect-retries", "--host-ssh", "--abort-if", "--cluster"):
        assert f"  {rare} " in complete
        assert f"  {rare} " not in short
    assert "loadstone run --help-all shows more options: " in short
    assert "--help-all shows more options" not in complete
    assert short.index("Examples:") < short.index("Load:")


def test_chinese_help_has_no_english_heading(tmp_path: Path) -> None:
    said = help_of("run", "--help-all", environment=CHINESE, folder=tmp_path)
    headings = [line for line in said.splitlines() if line and not line.startswith(" ")]
    assert headings[0].startswith("用法: loadstone run [选项]")
    assert [line for line in headings[1:] if not line.endswith("：")] == []
    assert "[默认：10s]" in said


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("一二三四五六七", ["一二三四", "五六七"]),
        ("一二三四，五", ["一二三", "四，五"]),
        ("一二三（四五）六", ["一二三", "（四五）", "六"]),
        ("many [a b]", ["many", "[a b]"]),
        ("用 --lang 选", ["用", "--lang", "选"]),
        ("first\nline\n\nnext", ["first", "line", "", "next"]),
        ("averylongword x", ["averylongword", "x"]),
    ],
)
def test_lines_are_broken_by_their_width(text: str, lines: list[str]) -> None:
    assert list(lines_of(text, 8)) == lines


def test_each_text_of_click_that_a_person_can_see_is_known() -> None:
    """A new version of click brings new texts: they need a translation, or a place above."""
    folder = Path(click.__file__).parent
    modules = [("**.py", "python")]
    found = extract_from_dir(folder, modules, keywords={"_": None, "ngettext": (1, 2)})
    shown = ("core", "exceptions", "formatting", "parser", "types")
    texts = {
        text
        for name, _, message, _, _ in found
        if Path(name).stem in shown
        for text in ((message,) if isinstance(message, str) else message)
    }
    known = set(map(str, TEXTS))
    assert [
        text
        for text in sorted(texts - known)
        if not any(text == word or word in text for word in NOT_SHOWN)
    ] == []
    chinese = in_language("zh")
    assert [text for text in TEXTS if not chinese.knows(text)] == []


@pytest.mark.parametrize("words", [[], ["runs"], ["sandbox"]])
def test_a_command_without_its_command_shows_the_help_as_it_is(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("Usage: ")
    assert len(err.splitlines()) > 8
    assert max(map(len, err.splitlines())) <= 100


def test_the_list_of_workloads_has_built_in_ones_and_templates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of(["workload", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Built in, run with loadstone run NAME:"
    templates = lines.index(
        "Templates, to be copied with loadstone workload show NAME > NAME.toml:"
    )
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert named[:2] == ["oltp_read_write", "oltp_read_only"]
    assert {"tpcc", "hot_row"} <= set(named[: templates - 2])
    assert "shop" in named[templates - 2 :]


def test_help_says_where_several_targets_are_possible(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = {}
    for command in ("run", "watch", "prepare", "check", "restore"):
        exit_code_of([command, "--help", "--lang", "en"])
        said[command] = " ".join(capsys.readouterr().out.split())
    assert "Repeat it to spread the users over several servers." in said["run"]
    assert "Repeat it to watch several servers." in said["watch"]
    for command in ("prepare", "check", "restore"):
        assert "Repeat it" not in said[command]
    assert "[default: all existing ones; 10 on a throwaway server]" in said["run"]
    assert "N..M/TIME rises evenly from N to M within TIME" in said["run"]
