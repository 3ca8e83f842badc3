"""The text of the report and of the lines of progress, from the figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.pgbench.figures import Figures, OfCommand, Sums, Times
from loadstone.pgbench.settings import Benchmark


@dataclass(frozen=True)
class Tables:
    """What was found of pgbench's tables before the run."""

    scale: int
    method: str = ""
    """How the accounts are partitioned; empty: they are not, or no built-in script uses them."""
    partitions: int = 0


@dataclass(frozen=True)
class Results:
    """What a report is about."""

    asked: Benchmark
    tables: Tables
    figures: Figures
    scripts: Sequence[Sums]
    """The figures of each script; of a single one they are all."""
    commands: Sequence[Sequence[str]]
    """The texts of each script's commands."""
    of_commands: Mapping[tuple[int, int], OfCommand]
    """By the numbers of script and command."""
    seconds: float
    """From when all clients were connected to the end."""
    connecting_s: float
    """How long it took to connect all clients."""

    @property
    def tps(self) -> float:
        """Successful transactions a second."""
        return self.rate(self.figures.all)

    def rate(self, sums: Sums) -> float:
        """Those of a script."""
        return sums.succeeded / self.seconds if self.seconds > 0 else 0.0


def report(results: Results) -> str:
    """The whole report."""
    parts = [*_settings(results), *_counts(results)]
    if results.figures.all.total:
        parts += [*_times(results), *_scripts(results)]
    return "".join(f"{line}\n" for line in parts)


def _settings(results: Results) -> Iterator[str]:
    asked, tables = results.asked, results.tables
    several = len(asked.scripts) > 1
    yield f"transaction type: {'multiple scripts' if several else asked.scripts[0].called}"
    yield f"scaling factor: {tables.scale}"
    if tables.partitions:
        yield f"partition method: {tables.method}"
        yield f"partitions: {tables.partitions}"
    yield f"query mode: {asked.protocol}"
    yield f"number of clients: {asked.clients}"
    yield f"number of threads: {asked.threads}"
    if asked.tries.most:
        yield f"maximum number of tries: {asked.tries.most}"


def _counts(results: Results) -> Iterator[str]:
    asked, sums = results.asked, results.figures.all
    if asked.transactions is None:
        yield f"duration: {asked.duration_s} s"
        yield f"number of transactions actually processed: {sums.succeeded}"
    else:
        wanted = asked.transactions * asked.clients
        yield f"number of transactions per client: {asked.transactions}"
        yield f"number of transactions actually processed: {sums.succeeded}/{wanted}"
    yield from _outcomes(sums, asked)
    if not sums.total:
        return
    if asked.limits_lateness:
        yield f"number of transactions skipped: {_of(sums.skipped, sums.total)}"
    if asked.limit_ms is not None:
        late, done = sums.latency.above_limit, sums.succeeded
        share = _percent(late, done) if done else "0.000%"
        yield (
            f"number of transactions above the {asked.limit_ms:.1f} ms latency limit:"
            f" {late}/{done} ({share})"
        )


def _outcomes(sums: Sums, asked: Benchmark) -> Iterator[str]:
    """The lines about failures and retries, of the whole run or of a script."""
    yield f"number of failed transactions: {_of(sums.failed, sums.total)}"
    if asked.tries.detailed:
        yield f"number of serialization failures: {_of(sums.serialization, sums.total)}"
        yield f"number of deadlock failures: {_of(sums.deadlock, sums.total)}"
    if asked.tries.is_retrying:
        yield f"number of transactions retried: {_of(sums.retried, sums.total)}"
        yield f"total number of retries: {sums.retries}"


def _times(results: Results) -> Iterator[str]:
    asked, figures, sums = results.asked, results.figures, results.figures.all
    if asked.measures_each:
        yield from _latency(sums.latency)
    else:
        each_ms = 1e3 * results.seconds * asked.clients / sums.total
        more = " (including failures)" if sums.failed else ""
        yield f"latency average = {each_ms:.3f} ms{more}"
    if asked.rate is not None:
        lag = figures.lag
        yield f"rate limit schedule lag: avg {lag.mean_ms:.3f} (max {lag.most_ns / 1e6:.3f}) ms"
    if asked.reconnects:
        yield f"average connection time = {figures.connect.mean_ms:.3f} ms"
        yield f"tps = {results.tps:f} (including reconnection times)"
    else:
        yield f"initial connection time = {results.connecting_s * 1e3:.3f} ms"
        yield f"tps = {results.tps:f} (without initial connection time)"


def _latency(times: Times) -> Iterator[str]:
    if times.count:
        yield f"latency average = {times.mean_ms:.3f} ms"
        yield f"latency stddev = {times.deviation_ms:.3f} ms"


def _scripts(results: Results) -> Iterator[str]:
    asked = results.asked
    several = len(asked.scripts) > 1
    weights = sum(script.weight for script in asked.scripts)
    for number, (script, sums) in enumerate(zip(asked.scripts, results.scripts, strict=True)):
        if several:
            yield f"SQL script {number + 1}: {script.called}"
            share = 100 * script.weight / weights
            yield f" - weight: {script.weight} (targets {share:.1f}% of total)"
            yield from (f" - {line}" for line in _of_script(results, sums))
        if asked.by_command:
            yield from _commands(results, number, " - " if several else "")


def _of_script(results: Results, sums: Sums) -> Iterator[str]:
    asked, whole = results.asked, results.figures.all.succeeded
    share = 100 * sums.succeeded / whole if whole else math.nan
    rate = results.rate(sums)
    yield f"{sums.succeeded} transactions ({_plain(share, 1)}% of total, tps = {rate:f})"
    yield from _outcomes(sums, asked)
    if asked.limits_lateness and sums.total:
        yield f"number of transactions skipped: {_of(sums.skipped, sums.total)}"
    yield from _latency(sums.latency)


def _commands(results: Results, number: int, indent: str) -> Iterator[str]:
    retrying = results.asked.tries.is_retrying
    what = ", failures and retries" if retrying else " and failures"
    yield f"{indent}statement latencies in milliseconds{what}:"
    for place, text in enumerate(results.commands[number]):
        of = results.of_commands.get((number, place), OfCommand())
        retries = f"  {of.restarted:10d}" if retrying else ""
        yield f"   {of.mean_ms:11.3f}  {of.failed:10d}{retries}  {text}"


def progress(figures: Figures, asked: Benchmark, at_s: float, seconds: float) -> str:
    """A line about a stretch of so many seconds; `at_s`: its end, as the line has it."""
    sums, latency = figures.all, figures.all.latency
    time = f"{at_s:.3f} s" if asked.progress and asked.progress.unix_times else f"{at_s:.1f} s"
    line = (
        f"progress: {time}, {sums.succeeded / seconds:.1f} tps,"
        f" lat {latency.mean_ms:.3f} ms stddev {latency.deviation_ms:.3f}, {sums.failed} failed"
    )
    if asked.rate is not None:
        line += f", lag {figures.lag.mean_ms:.3f} ms"
        if asked.limit_ms is not None:
            line += f", {sums.skipped} skipped"
    if asked.tries.is_retrying:
        line += f", {sums.retried} retried, {sums.retries} retries"
    return line


def _of(count: int, total: int) -> str:
    return f"{count} ({_percent(count, total)})"


def _percent(count: int, total: int) -> str:
    return f"{_plain(100 * count / total if total else math.nan, 3)}%"


def _plain(value: float, digits: int) -> str:
    """A number as C prints it."""
    return "NaN" if math.isnan(value) else f"{value:.{digits}f}"
