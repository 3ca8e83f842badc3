"""The order of findings: causes before their symptoms."""

from __future__ import annotations

from dataclasses import replace

from diagnose.examples import FULL, FULL_OF_SERVER, IDLE, SHARED
from diagnose.healthy import Made, a_case, above_notes, causes, per_second
from loadstone.diagnosis.claims import Held
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.holds import CORES, Slot, rest_of
from loadstone.diagnosis.order import in_order, noted
from loadstone.model.account import Place
from loadstone.model.finding import Finding, Group
from loadstone.model.message import plain
from loadstone.model.predicted import Foretold


def test_what_fills_the_cores_stands_before_them() -> None:
    rates: dict[str, float | None] = {"handler_read_rnd_next": 9e6}
    assert causes(a_case(Made(tps=50.0, host=FULL_OF_SERVER, rates=rates)))[:2] == [
        "missing-index",
        "cpu-bound",
    ]


def test_where_the_users_queue_is_named_before_full_cores() -> None:
    locked = Made(host=FULL_OF_SERVER, rates={"row_lock_time_s": 14.0})
    assert causes(a_case(locked))[:2] == ["row-locks", "cpu-bound"]


def test_doubtful_figures_come_before_all() -> None:
    made = Made(
        host=FULL | {"process_cpu_user": 1.0, "process_cpu_sys": 0.5},
        rates={"row_lock_time_s": 5.5},
    )
    assert causes(a_case(made))[0] == "noisy-neighbour"
    # A pooler that the load goes through is none.
    assert "noisy-neighbour" not in causes(a_case(made.but(host_rates={"between.cpu_s": 2.0})))


def test_neighbours_stand_behind_what_holds_the_users_without_a_core() -> None:
    hogged = FULL | {"process_cpu_user": 1.0, "process_cpu_sys": 0.5}
    locked = Made(host=hogged, rates={"row_lock_time_s": 14.0})
    assert causes(a_case(locked))[:2] == ["row-locks", "noisy-neighbour"]


def test_other_guests_stand_behind_what_explains_more_than_they_took() -> None:
    robbed = FULL_OF_SERVER | {"cpu_steal": 0.06}
    locked = Made(host=robbed, rates={"row_lock_time_s": 14.0})
    assert causes(a_case(locked))[:3] == ["row-locks", "cpu-bound", "steal"]
    much = Made(host=robbed | {"cpu_steal": 0.6}, rates={"row_lock_time_s": 5.5})
    assert causes(a_case(much))[:2] == ["steal", "row-locks"]


def test_neighbours_stand_before_what_explains_less_and_behind_what_explains_more() -> None:
    hogged = FULL | {"process_cpu_user": 1.4, "process_cpu_sys": 0.5}
    scanning = Made(tps=50.0, host=hogged, rates={"handler_read_rnd_next": 12e6})
    assert causes(a_case(scanning))[:3] == ["missing-index", "noisy-neighbour", "cpu-bound"]
    opening: dict[str, float | None] = {
        "opened_tables": 4000.0,
        "table_open_cache_overflows": 4000.0,
    }
    some = a_case(Made(host=hogged, rates=opening), variables={"table_open_cache": "10"})
    assert causes(some)[:2] == ["noisy-neighbour", "table-cache-small"]


def test_rotation_is_named_before_the_commits_that_wait_for_it() -> None:
    waiting = Made(means={"state.commit": 12.0}, rates={"log_syncs": 100.0})
    assert causes(a_case(waiting, variables={"max_binlog_size": "4096"}))[:2] == [
        "binlog-rotation",
        "commit-flush",
    ]


def test_who_copies_a_table_is_named_before_the_log_that_it_fills() -> None:
    """The figures of a real ALTER TABLE, ALGORITHM=COPY, again and again."""
    ages: dict[tuple[Source, str], Series] = {
        ("server", "checkpoint_age_bytes.now"): per_second(*[76e6] * 10)
    }
    state = "state.waiting for table metadata lock"
    most = Made(users=13, means={"checkpoint_age_bytes": 76e6, state: 12.2, "state.commit": 0.0})
    assert causes(a_case(most, seconds=ages))[:2] == ["table-locks", "redo-log-small"]
    few = most.but(means={state: 2.0})
    assert causes(a_case(few, seconds=ages))[0] == "redo-log-small"


def test_a_door_with_one_place_is_named_before_the_threads_that_wait_at_it() -> None:
    """The figures of innodb_thread_concurrency=1 on MySQL 9.7: threads spin at the entrance."""
    resting = {"cpu_idle": 0.2, "cpu_user": 0.6, "cpu_sys": 0.2}
    used = {"process_cpu_user": 2.0, "process_cpu_sys": 0.8}
    alone = Made(users=4, tps=1019.0, host=resting | used)
    more = {"process_cpu_user": 2.0, "process_cpu_sys": 0.85}
    crowd = Made(
        users=19, tps=855.0, host=resting | more, means={"threads_running": 17.0, "state.commit": 0}
    )
    one: dict[str, str | None] = {"innodb_thread_concurrency": "1"}
    assert causes(a_case(alone, crowd, variables=one))[0] == "thread-concurrency-low"


def test_a_scan_is_named_before_the_locks_that_it_takes() -> None:
    scanning = Made(
        tps=50.0,
        rates={"handler_read_rnd_next": 5e6, "rows_sent": 100.0, "row_lock_time_s": 14.0},
    )
    assert causes(a_case(scanning))[:2] == ["missing-index", "row-locks"]


def test_a_log_that_nobody_flushes_for_is_the_capacity_s_fault() -> None:
    full_log = Made(
        means={"checkpoint_age_bytes": 78e6},
        rates={"pages_flushed": 190.0, "flush_sync_waits": 2.0},
    )
    ages: dict[tuple[Source, str], Series] = {
        ("server", "checkpoint_age_bytes.now"): per_second(*[78e6] * 10)
    }
    held: dict[str, str | None] = {"innodb_io_capacity": "100", "innodb_io_capacity_max": "200"}
    free: dict[str, str | None] = {"innodb_io_capacity": "100", "innodb_io_capacity_max": "2000"}
    assert causes(a_case(full_log, variables=held, seconds=ages))[:2] == [
        "io-capacity-low",
        "redo-log-small",
    ]
    assert causes(a_case(full_log, variables=free, seconds=ages))[0] == "redo-log-small"


def test_neighbours_take_the_blame_for_a_ladder_that_falls() -> None:
    crowd = Made(
        users=64,
        tps=800.0,
        means={"threads_running": 60.0},
        host=FULL | {"process_cpu_user": 1.5, "process_cpu_sys": 0.5},
    )
    assert "no-thread-pool" not in causes(a_case(Made(host=FULL_OF_SERVER), crowd))


def test_what_a_person_limits_is_named_before_the_cores_that_it_fills() -> None:
    pinned = Made(
        host=FULL | {"process_cpu_user": 0.7, "process_cpu_sys": 0.28, "cores": 2},
        host_means={"process.cpus_allowed": 1.0},
        facts=SHARED,
        generator={"cpu_share": 0.9, "shards": 1},
        means={"threads_running": 14.0},
    )
    assert causes(a_case(pinned))[:2] == ["cpu-pinned", "cpu-bound"]


def test_users_in_their_commit_are_told_of_before_it_is_said_that_they_are_few() -> None:
    waiting = Made(
        users=2,
        means={"state.commit": 1.6, "row_lock_current_waits": 0.0},
        rates={"row_lock_time_s": 0.0},
        host=IDLE,
    )
    found = diagnosis_of(a_case(waiting))
    assert [one.cause for one in found.findings][:2] == ["commit-flush", "few-users"]
    assert above_notes(found) == []


def test_others_on_the_disk_stand_before_its_syncs_and_behind_a_delay_that_was_set() -> None:
    """The figures of a run with a commit delay of 10 ms while other processes wrote to the disk."""
    waiting = Made(
        users=4,
        tps=184.0,
        means={"state.commit": 3.7},
        rates={"log_syncs": 100.0},
        host={"disk_busy": 0.5, "disk_write_bytes_per_s": 180e6, "disk_read_bytes_per_s": 0.0},
        host_rates={"process.read_bytes": 0.0, "process.written_bytes": 2e6},
    )
    on: dict[str, str | None] = {
        "binlog_commit_wait_count": "1000",
        "binlog_commit_wait_usec": "10000",
    }
    assert causes(a_case(waiting, variables=on))[0] == "commit-delay"
    assert causes(a_case(waiting))[:2] == ["disk-neighbour", "commit-flush"]


def test_rows_that_a_session_keeps_are_named_before_the_errors_of_those_that_wait() -> None:
    still = Made(
        tps=0.0,
        host=IDLE,
        rates={"questions": 20.0, "row_lock_time_s": 0.0},
        means={"row_lock_current_waits": 15.0},
        highest={"oldest_transaction_s": 40.0},
        step={"errors": {"1205": 30}, "events": 0},
    )
    first = diagnosis_of(a_case(still)).findings[0]
    assert first.cause == "row-locks"
    assert first.remedy.startswith("End the transaction that has been open for 40 s")


def test_the_peak_is_answered_for_by_its_own_step() -> None:
    """Full cores at the peak; beyond it, running threads that get in each other's way."""
    peak = Made(users=16, tps=1000.0, host=FULL_OF_SERVER, means={"threads_running": 12.0})
    crowd = Made(
        users=128, tps=700.0, means={"threads_running": 100.0, "state.commit": 0.0},
        host={"cpu_idle": 0.2, "cpu_user": 0.6, "cpu_sys": 0.2, "process_cpu_user": 3.0},
    )  # fmt: skip
    found = diagnosis_of(a_case(Made(users=4, tps=400.0), peak, crowd))
    assert found.at_peak is not None and found.beyond is not None
    assert (found.at_peak.cause, found.beyond.cause) == ("cpu-bound", "no-thread-pool")
    assert found.answer == found.at_peak.sentence
    assert [(one.users, one.cause) for one in found.levels] == [
        (16, "cpu-bound"),
        (128, "no-thread-pool"),
    ]
    assert diagnosis_of(a_case(peak)).beyond is None


def test_what_brings_much_stands_before_full_cores_however_long_users_wait_for_them() -> None:
    """The figures of FLUSH TABLES WITH READ LOCK for a fifth of the time, on full cores."""
    locked, cores = held("table-locks", "wait", 0.2), held("cpu-bound", "ceiling", 0.65)
    assert named_in_order(locked, cores) == ["cpu-bound"]
    much = Foretold(tps=23_640, low=21_767, high=25_514, now=20_500)
    assert named_in_order(replaced(locked, much), cores) == ["table-locks", "cpu-bound"]
    # A twentieth more is less than users notice, and a wide interval is no promise.
    for little in (
        Foretold(tps=21_500, low=20_900, high=22_000, now=20_500),
        Foretold(tps=26_000, low=19_000, high=33_000, now=20_500),
    ):
        assert named_in_order(replaced(locked, little), cores) == ["cpu-bound"]


def test_what_brings_much_at_other_levels_says_nothing_of_full_cores() -> None:
    much = Foretold(tps=300, low=200, high=400, now=100)
    locked = replace(replaced(held("table-locks", "wait", 0.2), much), level=1)
    cores = held("cpu-bound", "ceiling", 0.65)
    at_two = cores.of(cores.finding.model_copy(update={"steps": (2,)}))
    assert named_in_order(locked, at_two) == ["cpu-bound"]
    at_both = cores.of(cores.finding.model_copy(update={"steps": (1, 2)}))
    assert named_in_order(locked, at_both) == ["table-locks", "cpu-bound"]


def test_a_trace_is_a_note_whatever_it_is_predicted_to_bring() -> None:
    much = Foretold(tps=300, low=200, high=400, now=100)
    trace = replaced(held("table-locks", "wait", 0.02), much)
    assert named_in_order(trace, held("cpu-bound", "ceiling", 0.65)) == ["cpu-bound"]


def test_a_limit_that_holds_none_of_the_users_time_is_a_note_unless_it_is_full_cores() -> None:
    full = held("line-full", "ceiling", 0.01)
    assert named_in_order(full, held("table-locks", "wait", 0.5)) == ["table-locks"]
    cores = held("cpu-bound", "ceiling", 0.01)
    assert named_in_order(cores, held("table-locks", "wait", 0.5)) == ["table-locks", "cpu-bound"]


def held(cause: str, group: Group, share: float) -> Held:
    places: tuple[Place, ...] = CORES if cause == "cpu-bound" else ("table lock",)
    finding = Finding(
        cause=cause, group=group, sentence=plain(cause), evidence=(), share=share,
        confidence=0.95, remedy=plain("-"),
    )  # fmt: skip
    times: dict[Slot, float] = {places[-1]: share}
    return Held(finding, rest_of(*places), times, said=0.9)


def replaced(one: Held, foretold: Foretold) -> Held:
    return one.of(one.finding.model_copy(update={"foretold": foretold}))


def named_in_order(*found: Held) -> list[str]:
    """Those above notes."""
    return [one.cause for one in in_order(noted(found)) if one.group != "note"]
