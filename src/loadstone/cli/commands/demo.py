"""`loadstone demo`: the main job on a throwaway server, in under a minute."""

from __future__ import annotations

from pathlib import Path

from loadstone.cli.commands.sandbox import sandbox_options, settings_of
from loadstone.cli.help.command import command
from loadstone.cli.options.live import Beside, beside_options
from loadstone.cli.options.types import out_option, result_json_option
from loadstone.lab.step.shards import cores
from loadstone.model.message import Message, plain, say

LADDER = (1, 4, 16, 64, 256)
STEP_S = 5.0
WARMUP_S = 1.0


@command(
    help=say(
        "Start a throwaway server and increase the number of users until throughput peaks.\n\n"
        "Takes less than a minute, needs no setup, and leaves nothing behind but the run's folder."
    )
)
@sandbox_options
@beside_options
@out_option
@result_json_option
def demo(
    out: Path,
    as_json: bool,
    server: str | None,
    settings: tuple[str, ...],
    beside: Beside,
) -> int:
    """Find the peak of a throwaway server."""
    from loadstone.cli.ending import end
    from loadstone.cli.errors import announce
    from loadstone.cli.terminal import Terminal
    from loadstone.model.plan import Drive, Special, WarmupSeconds
    from loadstone.runner.request import Request, check_request
    from loadstone.runner.run import run, throwaway

    request = Request(
        name="demo",
        workload="oltp_read_write",
        layout="sbtest",
        writes=True,
        options={},
        distribution=Special(),
        tables=None,
        table_size=None,
        ladder=LADDER,
        duration_s=STEP_S,
        warmup=WarmupSeconds(warmup_s=WARMUP_S),
        repeats=1,
        drive=Drive(shards=cores(), users_a_shard=16),
        out=out,
        server=server,
        settings=settings_of(settings),
    )
    check_request(request)
    with beside(out) as audience:
        view = Terminal(quiet=as_json, audience=audience)
        with throwaway(request, view) as server_of_its_own:
            finished = run(request, [server_of_its_own.endpoint], view, server_of_its_own.notes)
        code = end(finished, as_json=as_json)
    if code == 0:
        for line in _next(server_of_its_own.endpoint.target.family):
            announce(line, quiet=as_json)
    return code


def _next(family: str) -> tuple[Message, ...]:
    """What to try next, on a server of this family."""
    url = f"{family}://user@host/schema"
    return (
        plain(""),
        say("next  loadstone runs show last                      show this run again"),
        say("      loadstone run oltp_point_select --concurrency 1,8,64 --duration 10s"),
        say("      loadstone prepare --target {url}    then, on your own server:", url=url),
        say(
            "      loadstone run oltp_read_write --target {url} --concurrency 1,8,64",
            url=url,
        ),
    )
