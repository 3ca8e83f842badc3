"""The commands and what each is for; a command's own module is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from loadstone import __version__

COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "demo", "Find the peak of a throwaway server, with nothing to set up."),
    "prepare": ("prepare", "prepare", "Create and load the tables of a workload."),
    "run": ("run", "run", "Run a workload at increasing concurrency and record everything."),
    "experiment": ("experiment", "experiment", "Compare variants with statistical confidence."),
    "recipes": ("recipes", "recipes", "Ready-made experiments for common questions."),
    "resume": ("experiment", "resume", "Resume an experiment that was stopped or killed."),
    "compare": ("compare", "compare", "Tell whether B is really faster than A."),
    "cleanup": ("prepare", "cleanup", "Drop the tables that Loadstone made."),
    "runs": ("runs", "runs", "List, show and export past runs."),
    "serve": ("serve", "serve", "Serve the live page: watch, change, stop and compare runs."),
    "watch": ("watch", "watch", "Observe a server under somebody else's load."),
    "check": ("check", "check", "Review a server's settings for a benchmark."),
    "workload": ("workload", "workload", "Check workload templates, and show the bundled ones."),
    "tpcc": ("tpcc", "tpcc", "Check the consistency of TPC-C's tables."),
    "ledger": ("ledger", "ledger", "Check after a failover that no acknowledged write is lost."),
    "ceilings": ("ceilings", "ceilings", "Show how far each resource would have carried a run."),
    "diagnose": (
        "diagnose",
        "diagnose",
        "Explain why a run is not faster, with evidence and remedies.",
    ),
    "report": ("report", "report", "Write a run as an HTML page, Markdown, CSV or JSON."),
    "restore": ("restore", "restore", "Restore the settings that a killed run left changed."),
    "calibrate": (
        "calibrate",
        "calibrate",
        "Measure the most that this machine's load generator can do.",
    ),
    "probe": ("probe", "probe", "Measure a disk, for the ceilings."),
    "cluster": ("cluster", "cluster", "Check the machines that drive one load together."),
    "host-test": (
        "host_test",
        "host_test",
        "Benchmark this host without a database (CPU, memory, files).",
    ),
    "sandbox": ("sandbox", "sandbox", "Start and stop throwaway servers."),
    "sysbench": ("sysbench", "sysbench", "Run sysbench command lines and scripts unchanged."),
    "null-server": (
        "null_server",
        "null_server",
        "Start a server without a database, to measure the generator.",
    ),
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
