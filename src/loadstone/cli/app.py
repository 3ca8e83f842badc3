"""The commands and what each is for; a command's own module is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from loadstone import __version__

COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "demo", "A throwaway server, a ladder of users, and where the peak is."),
    "prepare": ("prepare", "prepare", "Make and fill the tables of a workload."),
    "run": ("run", "run", "Drive a workload over a ladder of virtual users, and keep it all."),
    "experiment": ("experiment", "experiment", "Compare variants, and say what is certain of it."),
    "recipes": ("recipes", "recipes", "Ready experiments for the field's questions."),
    "resume": ("experiment", "resume", "Go on with an experiment that was stopped or killed."),
    "compare": ("compare", "compare", "Is B really faster than A: runs beside each other."),
    "cleanup": ("prepare", "cleanup", "Drop the tables that Loadstone made."),
    "runs": ("runs", "runs", "List, show and export what was run."),
    "serve": ("serve", "serve", "The live page: watch runs, stop and change them, compare them."),
    "watch": ("watch", "watch", "Read the counters of a server that somebody else drives."),
    "check": ("check", "check", "Review a server's settings for a benchmark."),
    "workload": ("workload", "workload", "Templates: check a file, show the bundled ones."),
    "tpcc": ("tpcc", "tpcc", "Whether TPC-C's tables are consistent."),
    "ledger": ("ledger", "ledger", "Whether acknowledged writes are there, after a failover."),
    "ceilings": ("ceilings", "ceilings", "What each resource would allow at a run's steps."),
    "diagnose": ("diagnose", "diagnose", "Why a run is not faster, with evidence and remedy."),
    "report": ("report", "report", "A run as a page to hand on, as Markdown, CSV or JSON."),
    "restore": ("restore", "restore", "Put back the settings that a killed run left."),
    "calibrate": ("calibrate", "calibrate", "What this machine's generator can do at most."),
    "probe": ("probe", "probe", "What a disk can do; ceilings reckon with it."),
    "cluster": ("cluster", "cluster", "The machines that drive one load together."),
    "host-test": ("host_test", "host_test", "What this host can do without a database."),
    "sandbox": ("sandbox", "sandbox", "Start and stop throwaway servers."),
    "sysbench": ("sysbench", "sysbench", "Be sysbench: its command lines, its output."),
    "null-server": ("null_server", "null_server", "A server without a database, to try load on."),
}
"""Name of the command, its module, its function, its line in the help."""


class LazyGroup(click.Group):
    """A group that knows its commands by name only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order that a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        command = getattr(import_module(f"loadstone.cli.commands.{module}"), function)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="loadstone %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """How fast is this MySQL server, why is it not faster, and is B really faster than A?

    Begin with `loadstone demo`. Then: `loadstone prepare --target mysql://user@host/schema`,
    `loadstone run oltp_read_write --target mysql://user@host/schema --concurrency 1,8,64`.
    """
    from loadstone.cli.leftovers import mention_leftovers

    if ctx.invoked_subcommand != "restore":
        known = mention_leftovers()
        # What this command leaves itself, since a server is gone, is told by its end.
        ctx.call_on_close(lambda: mention_leftovers(known))
