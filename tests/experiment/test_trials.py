"""Trials as experiments: where they may run, how long they take, and what they become."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from loadstone.engine import WorkloadInfo
from loadstone.experiments.schedule import plan_time, schedule
from loadstone.experiments.trials import (
    Deadline,
    Ground,
    Repeated,
    allotted,
    changed_since,
    client_options,
    experiment_of,
    least_seconds,
    throwaway_like,
    timing,
    why_not,
)
from loadstone.model.experiment import ClientOptions, SandboxChoice
from loadstone.model.finding import POOLER, Setting, Trial
from loadstone.model.message import plain
from loadstone.model.plan import Drive, Open
from loadstone.model.target import Target
from loadstone.model.target_url import parse_target_url
from recorded import a_plan

KNOWN = {
    "oltp_read_write": WorkloadInfo(
        name="oltp_read_write", summary="", options={}, writes=True, layout="sbtest"
    ),
    "bulk_insert": WorkloadInfo(
        name="bulk_insert", summary="", options={}, writes=True, layout="bulk"
    ),
}
SANDBOX = SandboxChoice(server="mariadb", settings={"sync_binlog": "1"})


def a_trial(kind: str, name: str, value: str, before: str | None = "old", **more: Any) -> Trial:
    setting = Setting(name=name, before=before, value=value)
    return Trial.model_validate(
        {"kind": kind, "settings": (setting,), "subject": "something", **more}
    )


TLS = a_trial("client", "tls", "disabled")
LOG = a_trial("dynamic", "general_log", "OFF", "ON")
SYNCS = a_trial("dynamic", "sync_binlog", "0", "1", risks_commits=True)
SORTS = a_trial("dynamic", "sort_buffer_size", "4194304", "32768")
ASYNC = a_trial("dynamic", "synchronous_commit", "local", "on", risks_commits=True)
WARM = a_trial("again", "buffer_pool", "warm", "cold", settles_s=5.0)
POOL = a_trial("start", "thread_handling", "pool-of-threads")
USERS = a_trial("users", "concurrency", "16", "4")


def ground(url: str | None = "mysql://bench@db1:3306/sbtest", **changes: Any) -> Ground:
    target = parse_target_url(url)[0] if url else None
    plan = a_plan(targets=(target or Target(host="127.0.0.1", port=3301),))
    fields: dict[str, Any] = {"plan": plan, "target": target, "sandbox": None, "may_change": False}
    return Ground(**(fields | changes))


@pytest.mark.parametrize(
    ("trial", "where", "said"),
    [
        (LOG, ground(), "it would set general_log for all on db1:3306, which is no sandbox: --yes"),
        (LOG, ground(may_change=True), None),
        (LOG, ground(None, sandbox=SANDBOX), None),
        (LOG, ground(None), "the run's server is gone"),
        (TLS, ground(), "it would speak to db1:3306 without encryption: --yes"),
        (TLS, ground("mysql://bench@127.0.0.1/sbtest"), None),
        (POOL, ground(may_change=True), "it takes a restart, and only throwaway servers"),
        (POOL, ground(sandbox=SANDBOX), None),
        (SORTS, ground(), None),
        (SORTS, ground("postgresql://bench@db1/sbtest"), "it would set sort_buffer_size for all"),
        (ASYNC, ground("postgresql://bench@db1/sbtest"), "might lose commits that the load makes"),
        (ASYNC, ground("postgresql://bench@db1/sbtest", may_change=True), None),
        (USERS, ground(), None),
        (SYNCS, ground(may_change=True), "commits made meanwhile might be lost: loadstone run"),
        (SYNCS, ground(may_change=True, is_ours=True), None),
        (SYNCS, ground(None, sandbox=SANDBOX), None),
        (WARM, ground(), None),
        (WARM, ground(None, sandbox=SANDBOX), "another one has another buffer pool"),
        (a_trial("client", "warmup", "auto"), ground(), "run again with --warmup"),
        (a_trial("client", "distribution", "uniform"), ground(), "run again with --distribution"),
    ],
)
def test_what_is_not_safe_here_is_not_tried(trial: Trial, where: Ground, said: str | None) -> None:
    refused = why_not(trial, where, KNOWN)
    assert (refused is None) == (said is None)
    assert refused is None or (said or "") in refused.why
    assert refused is None or refused.wants_yes == refused.why.endswith("--yes")


@pytest.mark.parametrize(
    ("where", "by_sessions"),
    [
        (ground(), True),
        (ground(is_ours=True, may_change=True), False),
        (ground(None, sandbox=SANDBOX), False),
    ],
)
def test_what_sessions_may_set_is_set_by_the_loads_own_on_a_server_of_others(
    where: Ground, *, by_sessions: bool
) -> None:
    spent = timing(SORTS, least_seconds(SORTS))
    before, changed = experiment_of("sort-spill", SORTS, 4, where, spent).factors[0].levels
    assert not before.dynamic
    assert not before.per_session
    values = {"sort_buffer_size": "4194304"}
    assert changed.per_session == (values if by_sessions else {})
    assert changed.dynamic == ({} if by_sessions else values)


def test_a_workload_that_fills_its_tables_anew_is_not_tried() -> None:
    where = ground(may_change=True)
    workload = where.plan.workload.model_copy(update={"name": "bulk_insert"})
    plan = where.plan.model_copy(update={"workload": workload})
    assert why_not(LOG, ground(plan=plan, may_change=True), KNOWN) is not None


def test_a_server_that_was_set_otherwise_since_the_run_is_told() -> None:
    assert changed_since(LOG, {"general_log": "ON"}) is None
    assert changed_since(LOG, {"general_log": "OFF"}) == (
        "general_log is OFF now, and was ON in the run"
    )
    assert changed_since(TLS, {"tls": "x"}) is None


def test_time_is_shared_by_those_that_come_first() -> None:
    least = least_seconds(TLS)
    assert allotted([TLS, LOG], 2 * least) == pytest.approx([least, least])
    assert allotted([TLS, LOG], 2 * least - 1) == [pytest.approx(2 * least - 1), None]
    assert allotted([POOL, TLS], least) == [None, pytest.approx(least)]
    assert allotted([TLS, LOG], 2 * least + 60) == pytest.approx([least + 30, least + 30])
    assert allotted([], 60) == []


@pytest.mark.parametrize(
    "trial", [TLS, POOL, USERS, WARM, LOG.model_copy(update={"settles_s": 4.0})]
)
@pytest.mark.parametrize("more_s", [0.0, 7.0, 90.0, 1000.0])
def test_a_trial_fits_into_its_time(trial: Trial, more_s: float) -> None:
    seconds = least_seconds(trial) + more_s
    spent = timing(trial, seconds)
    assert spent.planned_s <= seconds
    assert spent.window_s >= 2.0
    assert spent.units >= (4 if trial in (POOL, WARM) else 3)
    made = experiment_of("x", trial, 4, ground(sandbox=SANDBOX), spent)
    load_s = plan_time(made, schedule(made)).load_s
    assert load_s < spent.planned_s
    assert spent.planned_s > 0.9 * min(0.8 * seconds, 100)


def test_a_variable_is_set_on_the_run_s_own_server() -> None:
    made = experiment_of("general-log", LOG, 4, ground(), timing(LOG, 60))
    assert made.target == ground().target and made.sandbox is None
    assert [variant.dynamic for variant in made.variants] == [{}, {"general_log": "OFF"}]
    assert (made.restore, made.ladder, made.restarting) == ("none", (4,), frozenset())
    assert made.workloads == (ground().plan.workload,)
    order = [planned.step.variant for planned in schedule(made)[:4]]
    assert order == ["trial=before", "trial=changed", "trial=changed", "trial=before"]


POOLED = SANDBOX.model_copy(
    update={"pooler": "pgbouncer", "pooler_settings": {"default_pool_size": "1"}}
)
THROUGH = Trial(
    kind="pooler",
    settings=(
        Setting(name=POOLER, before=None, value="pgbouncer"),
        Setting(name="default_pool_size", before=None, value="8"),
    ),
    subject=plain("a session for each user"),
)
LARGER = THROUGH.model_copy(
    update={"settings": (Setting(name="default_pool_size", before="1", value="8"),)}
)


def test_a_pooler_is_set_up_before_one_server_and_one_side_goes_through_it() -> None:
    made = experiment_of("x", THROUGH, 64, ground(sandbox=SANDBOX), timing(THROUGH, 100))
    assert made.target is None and made.sandbox is not None
    assert made.sandbox.pooler == "pgbouncer"
    assert made.sandbox.pooler_settings == {
        "pool_mode": "transaction",
        "max_client_conn": "114",
        "default_pool_size": "8",
    }
    before, changed = (level.client for level in made.factors[0].levels)
    assert before is not None and changed is not None
    assert (before.connect, changed.connect) == ("tcp", "pooler")
    # What one session has prepared another does not know.
    assert before.protocol == changed.protocol == "extended"
    assert not made.restarting


def test_a_larger_pool_is_another_pooler_before_another_server() -> None:
    where = ground(sandbox=POOLED)
    spent = timing(LARGER, least_seconds(LARGER))
    made = experiment_of("x", LARGER, 16, where, spent)
    assert made.sandbox == POOLED
    before, changed = made.factors[0].levels
    assert before.sandbox is None and changed.sandbox is not None
    assert changed.sandbox.pooler_settings == {"default_pool_size": "8"}
    assert (
        before.client
        == changed.client
        == client_options(where.plan.targets[0]).model_copy(update={"connect": "pooler"})
    )
    assert made.restarting


def test_no_pooler_of_others_is_changed() -> None:
    refused = why_not(THROUGH, ground(), KNOWN)
    assert refused is not None and "only those of throwaway servers" in refused.why


def test_a_pooler_of_which_nothing_was_kept_is_not_set_otherwise() -> None:
    refused = why_not(LARGER, ground(sandbox=SANDBOX), KNOWN)
    assert refused is not None and "not known how the run's pooler was set" in refused.why
    assert why_not(LARGER, ground(sandbox=POOLED), KNOWN) is None


def test_sessions_with_settings_of_their_own_are_not_lent_others() -> None:
    where = ground(sandbox=SANDBOX)
    session = where.plan.drive.session.model_copy(update={"isolation": "SERIALIZABLE"})
    drive = where.plan.drive.model_copy(update={"session": session})
    plan = where.plan.model_copy(update={"drive": drive})
    assert why_not(THROUGH, where, KNOWN) is None
    assert why_not(THROUGH, ground(sandbox=SANDBOX, plan=plan), KNOWN) is not None


def test_a_server_behind_its_pooler_is_made_again_with_it() -> None:
    facts = {
        "settings": {},
        "pooler": {"name": "pgbouncer", "settings": {"default_pool_size": "1"}},
    }
    target = {"target": "postgresql://a@127.0.0.1:6432/x", "flavour": "postgresql"}
    made = throwaway_like({"sandbox": facts, "targets": [target]})
    assert made is not None
    assert (made.pooler, made.pooler_settings) == ("pgbouncer", {"default_pool_size": "1"})


def test_a_restart_is_a_throwaway_server_s() -> None:
    made = experiment_of("pool", POOL, 4, ground(sandbox=SANDBOX), timing(POOL, 100))
    assert (made.target, made.sandbox) == (None, SANDBOX)
    assert [variant.startup for variant in made.variants] == [
        {},
        {"thread_handling": "pool-of-threads"},
    ]
    assert made.repeats == timing(POOL, 100).units


def test_another_number_of_users_is_another_level() -> None:
    made = experiment_of("few-users", USERS, 4, ground(), timing(USERS, 60))
    assert (made.ladder, made.factors) == ((4, 16), ())


def test_a_load_that_is_driven_once_more_has_no_variants() -> None:
    spent = timing(WARM, least_seconds(WARM))
    made = experiment_of("cold-buffer-pool", WARM, 4, ground(), spent)
    assert (made.ladder, made.factors, made.repeats) == ((4,), (), 4)
    assert [planned.step.variant for planned in schedule(made)] == 4 * ["default"]
    drive = Drive(protocol="text", seed=7)
    assert Repeated(drive, WARM).drive(made, made.variants[0], beside=None) == drive


def test_a_server_of_its_own_is_spoken_to_as_the_run_s_was() -> None:
    plan = a_plan(targets=(parse_target_url("mysql://u@127.0.0.1:1/s?tls=required")[0],))
    gone = ground(None, plan=plan, sandbox=SANDBOX)
    compressed = a_trial("client", "compression", "zlib", "off")
    made = experiment_of("line", compressed, 4, gone, timing(compressed, 60))
    assert [variant.levels[0][1].client for variant in made.variants] == [
        ClientOptions(tls="required"),
        ClientOptions(tls="required", compression=("zlib",)),
    ]
    assert client_options(parse_target_url("mysql://u@h/s?tls=verify-ca&tls-ca=/x")[0]) == (
        ClientOptions(tls="required")
    )
    assert why_not(USERS, gone, KNOWN) is not None, "there is no level that could say so"


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("mysql://u@127.0.0.1:1/s?tls=disabled", ClientOptions()),
        ("mysql://u@127.0.0.1:1/s", ClientOptions(tls="preferred")),
        ("mysql://u@localhost/s?socket=/run/s.sock", ClientOptions(connect="socket")),
    ],
)
def test_what_a_throwaway_server_does_by_default_is_no_option(
    url: str, same: ClientOptions
) -> None:
    target = parse_target_url(url)[0]
    assert client_options(target) == same
    gone = ground(None, plan=a_plan(targets=(target,)), sandbox=SANDBOX)
    may_try = why_not(USERS, gone, KNOWN) is None
    assert may_try == (same == ClientOptions())


def test_the_load_is_the_run_s_but_for_the_change() -> None:
    before = Drive(protocol="text", arrival=Open(), seed=7, shards=1, shards_asked=True)
    prepared = a_trial("client", "prepared", "on", "off")
    made = experiment_of("text", prepared, 4, ground(), timing(prepared, 60))
    drives = [
        Repeated(before, prepared).drive(made, variant, beside=None) for variant in made.variants
    ]
    assert [drive.protocol for drive in drives] == ["text", "prepared"]
    assert {(drive.arrival.kind, drive.seed, drive.shards) for drive in drives} == {
        ("closed", 7, 1)
    }
    for name, value in (("shards", "2"), ("isolation", "read-committed")):
        trial = a_trial("client", name, value)
        made = experiment_of("x", trial, 4, ground(), timing(trial, 60))
        first, second = (
            Repeated(before, trial).drive(made, variant, beside=None) for variant in made.variants
        )
        assert first == before.model_copy(update={"arrival": first.arrival})
        assert (second.shards, second.session.isolation) == (
            (2, None) if name == "shards" else (1, "read-committed")
        )


def test_a_throwaway_server_is_made_as_the_run_s_was() -> None:
    facts = {
        "name": "mariadb-1",
        "settings": {"log_bin": "ON", "sync_binlog": "1", "loose_x": "unknown to this server"},
    }
    environment = {"sandbox": facts, "targets": [{"flavour": "mariadb"}]}
    assert throwaway_like(environment) == SandboxChoice(
        server="mariadb", settings={"sync_binlog": "1"}
    )
    assert throwaway_like({"sandbox": None, "targets": [{"flavour": "mysql"}]}) is None
    waiting = facts | {"settings": {"rpl_semi_sync_master_enabled": "ON"}}
    assert throwaway_like(environment | {"sandbox": waiting}) is None


def test_a_trial_ends_when_its_time_is_up_or_somebody_says_so() -> None:
    with Deadline(time.monotonic() + 60) as open_end:
        assert (open_end.asked, open_end.is_signalled) == (False, False)
        signal.raise_signal(signal.SIGINT)
        assert (open_end.asked, open_end.is_signalled) == (True, True)
    over = Deadline(time.monotonic())
    assert (over.asked, over.is_signalled) == (True, False)
