//! Whole tests, with figures that can be known in advance.

use loadstone_hosttests::{
    Broken, End, EndReason, HostPlan, HostTest, Next, Phase, Record, Sample,
};
use loadstone_measure::NumberedShare;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EVENTS_100: &str = r#"{"events": 100, "duration_s": 60, "warmup_s": 0}"#;

fn plan(command: &str, test: &str, threads: u32, stop: &str, rate: &str) -> String {
    format!(
        r#"{{"command": "{command}", "test": {test}, "threads": {threads}, "stop": {stop},
        "rate": {rate}, "interval_s": 0.1, "quantile": 0.9, "seed": 1, "tag": "t", "per_thread": true}}"#
    )
}

/// All samples and the end record.
fn follow(test: &HostTest) -> (Vec<Sample>, End) {
    let mut samples = Vec::new();
    loop {
        match test.next(Duration::from_secs(60)) {
            Next::Record(record) => match *record {
                Record::Begun(_) => {}
                Record::Sample(sample) => samples.push(*sample),
                Record::End(end) => return (samples, *end),
            },
            other => panic!("no end: {other:?}"),
        }
    }
}

fn run(plan: &str) -> (Vec<Sample>, End) {
    let plan = HostPlan::from_json(plan).expect("a plan");
    let (samples, end) = follow(&HostTest::start(plan).expect("threads"));
    for pair in samples.windows(2) {
        assert!(pair[0].to_s <= pair[1].from_s && pair[1].from_s < pair[1].to_s);
    }
    let counted = |phase| -> u64 {
        samples.iter().filter(|sample| sample.phase == phase).map(|s| s.done.events).sum()
    };
    if end.error.is_none() && !end.threads.is_empty() {
        assert_eq!(counted(Phase::Window), end.done.events);
        let events = |shares: &[NumberedShare]| shares.iter().map(|one| one.1.events).sum::<u64>();
        assert_eq!(events(&end.threads), end.done.events);
        for sample in &samples {
            assert_eq!(events(&sample.per_thread), sample.done.events);
        }
    }
    (samples, end)
}

fn finished(plan: &str) -> End {
    let (_, end) = run(plan);
    assert_eq!((end.reason, end.error.as_deref()), (EndReason::Finished, None));
    end
}

#[test]
fn no_more_events_are_done_than_were_asked_for() {
    let tests = [
        r#"{"kind": "cpu", "max_prime": 500}"#,
        r#"{"kind": "threads", "yields": 10, "locks": 2}"#,
        r#"{"kind": "memory", "block_size": 4096, "total_size": 1048576000, "scope": "local",
            "hugetlb": false, "operation": "read", "access": "rnd"}"#,
    ];
    for test in tests {
        for threads in [1, 3] {
            let end = finished(&plan("run", test, threads, EVENTS_100, "null"));
            assert_eq!((end.done.events, end.latency_ns.count), (100, 100));
            assert_eq!(end.threads.len(), threads as usize);
            assert!(end.quantile_ns >= end.latency_ns.p50);
        }
    }
}

#[test]
fn memory_moves_as_many_bytes_as_it_was_told() {
    for (operation, scope) in [("write", "global"), ("read", "local"), ("none", "global")] {
        let test = format!(
            r#"{{"kind": "memory", "block_size": 1024, "total_size": 10485760,
            "scope": "{scope}", "hugetlb": false, "operation": "{operation}", "access": "seq"}}"#
        );
        let stop = r#"{"events": null, "duration_s": 60, "warmup_s": 0}"#;
        let done = finished(&plan("run", &test, 2, stop, "null")).done;
        let bytes = |when| if operation == when { 10_485_760 } else { 0 };
        assert_eq!((done.bytes_read, done.bytes_written), (bytes("read"), bytes("write")));
        assert_eq!(done.events, 10_240);
    }
}

#[test]
fn each_thread_has_one_event_of_the_mutex_test() {
    let test = r#"{"kind": "mutex", "num": 16, "locks": 1000, "loops": 10}"#;
    let end = finished(&plan("run", test, 4, EVENTS_100, "null"));
    assert_eq!(end.done.events, 4);
    assert!(end.threads.iter().all(|thread| thread.1.events == 1));
}

#[test]
fn a_warm_up_counts_in_no_figure_and_time_ends_the_test() {
    let test = r#"{"kind": "cpu", "max_prime": 1000}"#;
    let stop = r#"{"events": null, "duration_s": 1.0, "warmup_s": 0.25}"#;
    let (samples, end) = run(&plan("run", test, 1, stop, "null"));
    let warmups = samples.iter().filter(|sample| sample.phase == Phase::Warmup).count();
    assert!((1..=3).contains(&warmups), "{warmups}");
    assert!(end.done.events > 0 && end.seconds >= 0.99, "{}", end.seconds);
    assert!(samples.iter().any(|sample| !sample.hlog.is_empty()));
}

#[test]
fn a_rate_is_kept_and_waiting_counts_as_latency() {
    let cheap = r#"{"kind": "cpu", "max_prime": 10}"#;
    let stop = r#"{"events": null, "duration_s": 1, "warmup_s": 0}"#;
    let end = finished(&plan("run", cheap, 2, stop, "500"));
    // Poisson: five standard deviations above; below, a busy machine may leave some unfinished.
    assert!((250..612).contains(&end.done.events), "{}", end.done.events);

    // Far more than one thread can do: the last event has waited for nearly the whole time.
    let dear = r#"{"kind": "cpu", "max_prime": 100000}"#;
    let (samples, end) = run(&plan("run", dear, 1, stop, "100000"));
    assert!(end.latency_ns.max.is_some_and(|max| max > 500_000_000));
    assert!(samples.iter().any(|sample| sample.waiting.is_some_and(|waiting| waiting > 1000)));
    // Its only thread is running one, unless a sample was taken just between two of them.
    let (last, others) = samples.split_last().expect("more than one");
    let at_work = others.iter().filter(|sample| sample.in_flight == Some(1)).count();
    assert!(2 * at_work > others.len(), "{at_work} of {}", others.len());
    assert!(others.iter().all(|sample| sample.in_flight <= Some(1)));
    assert_eq!(last.in_flight, Some(0));
}

#[test]
fn it_can_be_stopped() {
    let test = r#"{"kind": "cpu", "max_prime": 1000}"#;
    let stop = r#"{"events": null, "duration_s": null, "warmup_s": 0}"#;
    for rate in ["null", "0.001"] {
        let text = plan("run", test, 2, stop, rate);
        let test = HostTest::start(HostPlan::from_json(&text).expect("a plan")).expect("threads");
        test.stop();
        assert_eq!(follow(&test).1.reason, EndReason::Stopped);
    }
}

#[test]
fn what_cannot_be_is_named() {
    let cpu = r#"{"kind": "cpu", "max_prime": 10}"#;
    let cases = [
        (plan("run", cpu, 0, EVENTS_100, "null"), "threads"),
        (plan("run", cpu, 1, EVENTS_100, "0"), "rate"),
        (plan("run", cpu, 1, r#"{"events": 0, "duration_s": 1, "warmup_s": 0}"#, "null"), "events"),
        (plan("run", r#"{"kind": "cpu", "max_prim": 10}"#, 1, EVENTS_100, "null"), "max_prim"),
        (plan("run", r#"{"kind": "disk"}"#, 1, EVENTS_100, "null"), "disk"),
        (plan("run", &fileio(Path::new("/"), "null", ""), 1, EVENTS_100, "null"), "mode"),
    ];
    for (text, named) in cases {
        let error = HostPlan::from_json(&text).expect_err("not possible").to_string();
        assert!(error.contains(named) && !error.contains('\n'), "{error}");
    }
}

/// Four files of 256 KiB.
fn fileio(folder: &Path, mode: &str, changes: &str) -> String {
    let mut options = vec![
        ("folder", format!("{folder:?}")),
        ("num", "4".to_owned()),
        ("block_size", "4096".to_owned()),
        ("total_size", "1048576".to_owned()),
        ("mode", mode.to_owned()),
        ("io_mode", r#""sync""#.to_owned()),
        ("async_backlog", "8".to_owned()),
        ("extra_flags", "[]".to_owned()),
        ("fsync_freq", "0".to_owned()),
        ("fsync_all", "false".to_owned()),
        ("fsync_end", "false".to_owned()),
        ("fsync_mode", r#""fsync""#.to_owned()),
        ("merged_requests", "0".to_owned()),
        ("rw_ratio", "1.5".to_owned()),
        ("checksums", "false".to_owned()),
        ("distribution", r#"{"kind": "uniform"}"#.to_owned()),
    ];
    for change in changes.split_terminator(", ") {
        let (key, value) = change.split_once('=').expect("key=value");
        let option = options.iter_mut().find(|option| option.0 == key).expect("an option");
        option.1 = value.to_owned();
    }
    let options: Vec<String> =
        options.iter().map(|(key, value)| format!(r#""{key}": {value}"#)).collect();
    format!(r#"{{"kind": "fileio", {}}}"#, options.join(", "))
}

/// A folder of the test's own on a real disk, with its files.
struct Prepared(PathBuf);

impl Prepared {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let prepared = Self(folder);
        prepared.command("cleanup");
        assert_eq!(prepared.command("prepare").done.bytes_written, 1 << 20);
        prepared
    }

    fn command(&self, command: &str) -> End {
        finished(&plan(command, &fileio(&self.0, "null", ""), 1, EVENTS_100, "null"))
    }

    fn run(&self, mode: &str, changes: &str) -> (Vec<Sample>, End) {
        let test = fileio(&self.0, &format!("{mode:?}"), changes);
        run(&plan("run", &test, 2, EVENTS_100, "null"))
    }

    fn finished(&self, mode: &str, changes: &str) -> End {
        let (_, end) = self.run(mode, changes);
        assert_eq!((end.reason, end.error.as_deref()), (EndReason::Finished, None));
        end
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn files_are_made_once_and_removed_and_nothing_else_is() {
    let files = Prepared::new("made");
    std::fs::write(files.0.join("test_file.9"), "mine").expect("a file");
    assert_eq!(files.command("prepare").done.events, 0);
    assert_eq!(files.command("cleanup").done.events, 4);
    assert_eq!(files.command("cleanup").done.events, 0);
    assert!(files.0.join("test_file.9").exists());
    let (_, end) = files.run("rndrd", "");
    assert_eq!(end.reason, EndReason::Failed);
    let error = end.error.expect("an error");
    assert!(error.starts_with("cannot open ") && error.contains("test_file.0"), "{error}");
}

#[test]
fn every_mode_does_what_it_says_in_every_way() {
    let files = Prepared::new("modes");
    for io_mode in ["sync", "async", "mmap"] {
        for (mode, reads, writes) in [
            ("seqrd", 100, 0),
            ("rndrd", 100, 0),
            ("seqrewr", 0, 100),
            ("rndwr", 0, 100),
            ("rndrw", 60, 40),
            ("seqwr", 0, 100),
        ] {
            let done = files.finished(mode, &format!("io_mode={io_mode:?}")).done;
            let of_bytes = (done.bytes_read / 4096, done.bytes_written / 4096);
            assert_eq!((done.reads, done.writes), of_bytes, "{mode}, {io_mode}");
            assert!(done.reads.abs_diff(reads) <= 1 && done.writes.abs_diff(writes) <= 1);
            assert_eq!((done.events, done.syncs), (100, 0));
            // seqwr leaves its new files incomplete.
            if mode == "seqwr" {
                files.command("prepare");
            }
        }
    }
}

#[test]
fn files_are_synchronised_as_often_as_asked() {
    let files = Prepared::new("synchronised");
    let syncs = |mode, changes: &str| files.finished(mode, changes).done.syncs;
    for io_mode in ["sync", "async", "mmap"] {
        let with = |changes: &str| format!("io_mode={io_mode:?}, {changes}");
        // 100 events: 16 requests and a round of 4 syncs, five times.
        assert_eq!(syncs("rndwr", &with("fsync_freq=16")), 20);
        // At the end each of the two threads synchronises all files.
        assert_eq!(syncs("rndwr", &with("fsync_freq=0, fsync_end=true")), 8);
        assert_eq!(syncs("rndwr", &with("fsync_all=true, fsync_end=true")), 100);
        assert_eq!(syncs("rndrd", &with("fsync_freq=16, fsync_end=true")), 0);
        assert_eq!(syncs("rndwr", &with("fsync_freq=16, fsync_mode=\"fdatasync\"")), 20);
    }
}

#[test]
fn what_is_written_with_checksums_is_checked_when_it_is_read() {
    let files = Prepared::new("checksums");
    for io_mode in ["sync", "async", "mmap"] {
        let with = |more: &str| format!("io_mode={io_mode:?}, checksums=true{more}");
        files.finished("seqrewr", &with(", fsync_end=false"));
        // The first 100 of the 256 blocks of four files.
        files.finished("seqrd", &with(""));
        let path = files.0.join("test_file.0");
        let mut bytes = std::fs::read(&path).expect("the file");
        bytes[2 * 4096 + 17] ^= 1;
        std::fs::write(&path, bytes).expect("written");
        let (_, end) = files.run("seqrd", &with(""));
        let damage = end.damage.expect("noticed");
        assert_eq!((end.reason, damage.file, damage.offset), (EndReason::Failed, 0, 2 * 4096));
        assert!(matches!(damage.what, Broken::Sum { calculated, stored } if calculated != stored));
        assert!(end.error.expect("words").contains("test_file.0 is damaged: the block at 8192"));
    }
}

#[test]
fn requests_that_follow_each_other_are_merged() {
    let files = Prepared::new("merged");
    let done = files.finished("seqrd", "merged_requests=8").done;
    assert_eq!((done.reads, done.bytes_read), (100, 100 * 8 * 4096));
}

#[test]
fn files_may_be_opened_in_every_way() {
    let files = Prepared::new("flags");
    for flags in ["sync", "dsync", "direct"] {
        for io_mode in ["sync", "async"] {
            let changes = format!("io_mode={io_mode:?}, extra_flags=[{flags:?}]");
            assert_eq!(files.finished("rndrw", &changes).done.events, 100, "{changes}");
        }
    }
}

#[test]
fn a_file_that_is_too_short_is_named() {
    let files = Prepared::new("short");
    let (_, end) = files.run("rndrd", "total_size=2097152");
    let error = end.error.expect("an error");
    assert!(error.contains("test_file.0 has 262144 bytes and 524288 are needed"), "{error}");
}
