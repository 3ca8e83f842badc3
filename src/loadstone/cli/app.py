"""The commands and their purposes; a command's own module is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import click

from loadstone.cli.help.click_texts import translate_click
from loadstone.cli.help.command import Explained, Group, group
from loadstone.cli.language import in_words
from loadstone.model.message import Message, say


@dataclass(frozen=True)
class Listed:
    """A command in the list of commands."""

    about: Message
    module: str = ""
    """Its module; empty if that has the command's name."""
    function: str = ""
    """Its function; empty if that has the command's name."""


TASKS: Mapping[Message, Mapping[str, Listed]] = {
    say("Measure"): {
        "demo": Listed(say("Find the throughput peak of a throwaway server; needs no setup")),
        "prepare": Listed(say("Create and load the tables of a workload")),
        "run": Listed(say("Run a workload at several numbers of users and record everything")),
        "cleanup": Listed(say("Drop the tables that Loadstone created"), "prepare"),
        "watch": Listed(say("Record a server's counters without driving any load")),
    },
    say("Explain"): {
        "diagnose": Listed(say("Explain what limits a run, with evidence and remedies")),
        "ceilings": Listed(say("Show the throughput that each resource would allow")),
        "report": Listed(say("Write a run as an HTML page, PDF, Markdown, CSV or JSON")),
        "runs": Listed(say("List, show and export past runs, and follow their trend")),
        "serve": Listed(say("Watch and control runs live in a browser")),
    },
    say("Compare"): {
        "compare": Listed(say("Find out whether B is really faster than A")),
        "experiment": Listed(say("A/B-test the variants in a file, with confidence intervals")),
        "resume": Listed(say("Resume an experiment that was stopped or killed"), "experiment"),
        "recipes": Listed(say("Run ready-made experiments for common questions")),
    },
    say("Workloads"): {
        "workload": Listed(say("Check, list and record workload templates; replay logs")),
        "tpcc": Listed(say("Check the consistency of the TPC-C tables")),
        "ledger": Listed(say("Check after a failover that no acknowledged write is lost")),
        "sysbench": Listed(say("Run sysbench command lines and scripts unchanged")),
        "pgbench": Listed(say("Run pgbench command lines and scripts unchanged")),
    },
    say("Servers"): {
        "check": Listed(say("Review a server's settings before a benchmark")),
        "sandbox": Listed(say("Start and stop throwaway servers")),
        "restore": Listed(say("Restore server variables that a killed run left changed")),
    },
    say("Your defaults, shell and editor"): {
        "config": Listed(say("Show the file of your defaults and what it sets")),
        "completion": Listed(say("Make a shell complete commands and options")),
        "schema": Listed(say("Make an editor check and complete experiments and templates")),
    },
    say("Load generator and host"): {
        "calibrate": Listed(say("Measure the maximum throughput of this load generator")),
        "host-test": Listed(
            say("Benchmark this host without a database: CPU, memory, files"), "host_test"
        ),
        "probe": Listed(say("Measure what a disk can do, for the ceilings")),
        "cluster": Listed(say("Check the machines that drive one load together")),
        "null-server": Listed(
            say("Start a server without a database, to measure load generators"), "null_server"
        ),
    },
}
"""The commands by task; within each in the order in which a newcomer needs them."""

COMMANDS: Mapping[str, Listed] = {
    name: listed for commands in TASKS.values() for name, listed in commands.items()
}


class LazyGroup(Group):
    """A group that knows its commands by name only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        listed, name = COMMANDS[cmd_name], cmd_name.replace("-", "_")
        module = import_module(f"loadstone.cli.commands.{listed.module or name}")
        command = getattr(module, listed.function or name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and read the user's defaults unless it is another program's.

        `help COMMAND` is `COMMAND --help`, as in many programs.
        """
        if args[:1] == ["help"]:
            args = _asking_for_help(ctx, args[1:])
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, Explained):
            from loadstone.cli.defaults.in_effect import take_defaults

            take_defaults(ctx)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands of each task, without importing any."""
        widest = max(map(len, COMMANDS))
        for task, commands in TASKS.items():
            with formatter.section(in_words(task)):
                formatter.write_dl(
                    [(f"{name:<{widest}}", in_words(one.about)) for name, one in commands.items()]
                )


def _asking_for_help(ctx: click.Context, words: list[str]) -> list[str]:
    if words:
        return [*words, "--help"]
    click.echo(ctx.get_help())
    ctx.exit()


def _show_version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """The engine has the number: without one that is the error to show."""
    if wanted and not ctx.resilient_parsing:
        from loadstone.engine import build_info

        click.echo(f"loadstone {build_info()['version']}")
        ctx.exit()


translate_click()


@group(
    cls=LazyGroup,
    context_settings={"max_content_width": 100},
    help=say(
        "How fast is this MySQL or MariaDB server, why is it not faster, and is B really faster"
        " than A?"
    ),
    examples=(
        (say("on a throwaway server, in under a minute"), "loadstone demo"),
        (
            say("on your own server: load the tables, then measure at 1, 8 and 64 users"),
            "loadstone prepare --target mysql://user@host/schema\n"
            "  loadstone run oltp_read_write --target mysql://user@host/schema"
            " --concurrency 1,8,64",
        ),
        (say("why is it not faster?"), "loadstone diagnose"),
    ),
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help=say("Show the version and exit."),
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """All commands."""
    from loadstone.cli.leftovers import mention_leftovers

    if ctx.invoked_subcommand != "restore":
        known = mention_leftovers()
        # If this command itself leaves something because a server is gone, it reports that at its
        # end.
        ctx.call_on_close(lambda: mention_leftovers(known))
