//! A server that no longer knows the statements which it prepared, as a session that a proxy has moved to
//! another server, or a new session after a lost one.

use crate::script::Script;
use crate::server::{EXECUTE, PREPARE, Reply, serve_commands};
use loadstone_drive::{Drive, Next, Plan, Record};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Nothing here takes longer, even in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const UNKNOWN: u16 = 1243;

/// The numbers of the executed statements, and what was prepared, in order.
#[derive(Default)]
struct Seen {
    prepared: u32,
    executed: Vec<u32>,
}

/// What a step with one user and so many events has counted.
#[derive(Debug, Default, PartialEq)]
struct Told {
    events: u64,
    failed: u64,
    restarts: u64,
    errors: u64,
    failure: Option<String>,
}

/// Drives point selects against a server that refuses the executions which `refuses` says, by their number and
/// the statement's.
fn drive(
    on_error: &str,
    events: u64,
    refuses: impl Fn(usize, u32) -> Option<u16> + Clone + Send + 'static,
) -> (Told, Arc<Mutex<Seen>>) {
    let seen = Arc::<Mutex<Seen>>::default();
    let of_server = seen.clone();
    let port = serve_commands(move |_, command| {
        let mut seen = of_server.lock().expect("no panic");
        match command.first() {
            Some(&PREPARE) => {
                seen.prepared += 1;
                Reply::Prepared(seen.prepared)
            }
            Some(&EXECUTE) => {
                let id = u32::from_le_bytes(command[1..5].try_into().expect("four bytes"));
                seen.executed.push(id);
                refuses(seen.executed.len(), id).map_or(Reply::Ok, Reply::Error)
            }
            _ => Reply::Ok,
        }
    });
    let workload = r#""workload": {"name": "oltp_point_select"}, "restart_on": ["1213"]"#;
    (told(&start(port, workload, on_error, events)), seen)
}

/// Starts a step of one user.
fn start(port: u16, driver: &str, on_error: &str, events: u64) -> Drive {
    let text = format!(
        r#"{{"targets": [{{"host": "127.0.0.1", "port": {port}, "user": "u", "password": "p",
            "database": null, "tls": {{"mode": "disabled"}}}}],
        {driver}, "protocol": "prepared", "users": 1,
        "arrival": {{"kind": "closed"}}, "stop": {{"kind": "events", "events": {events}, "duration_s": 60}}, "drain_s": 1,
        "connect": {{"at_once": 1, "timeout_s": 60, "retries": 0, "backoff_s": 0}},
        "session": {{"init_sql": [], "isolation": null, "charset": null}},
        "on_error": "{on_error}", "shards": 1, "seed": 3, "tag": "t"}}"#
    );
    Drive::start(Plan::from_json(&text).expect("a plan")).expect("threads")
}

fn told(drive: &Drive) -> Told {
    let mut told = Told::default();
    loop {
        let Next::Record(record) = drive.next(PATIENCE) else { panic!("it did not end") };
        match *record {
            Record::Sample(sample) => {
                told.events += sample.counts.work.events;
                told.failed += sample.counts.work.failed;
                told.restarts += sample.counts.work.restarts;
                told.errors += sample.errors.values().sum::<u64>();
            }
            Record::End(end) => {
                told.failure = end.error.map(|failure| failure.message);
                return told;
            }
            _ => {}
        }
    }
}

#[test]
fn a_statement_that_the_server_no_longer_knows_is_prepared_again_and_the_event_goes_on() {
    // From the third execution on it knows nothing that was prepared before.
    let (told, seen) = drive("restart", 5, |number, id| (number > 2 && id == 1).then_some(UNKNOWN));
    assert_eq!(told, Told { events: 5, restarts: 1, errors: 1, ..Told::default() });
    let seen = seen.lock().expect("no panic");
    assert_eq!((seen.prepared, seen.executed.as_slice()), (2, &[1, 1, 1, 2, 2, 2][..]));
}

#[test]
fn each_loss_is_made_good_once() {
    // It forgets everything before each third execution.
    let (told, _) = drive("restart", 9, |number, _| (number % 3 == 0).then_some(UNKNOWN));
    assert_eq!(told, Told { events: 9, restarts: 4, errors: 4, ..Told::default() });
}

#[test]
fn a_server_that_never_knows_its_statements_ends_the_step() {
    let (told, seen) = drive("restart", 5, |_, _| Some(UNKNOWN));
    assert!(told.failure.expect("a reason").contains("as the test has it"));
    assert_eq!(told.events, 0);
    // Before the step has ended another event may begin, which is tried twice as well.
    assert!((1..told.errors).contains(&told.restarts), "{} of {}", told.restarts, told.errors);
    assert_eq!(seen.lock().expect("no panic").executed[..2], [1, 2]);
}

#[test]
fn where_errors_only_count_the_next_event_prepares_again() {
    let (told, _) = drive("continue", 5, |number, id| (number > 2 && id == 1).then_some(UNKNOWN));
    assert_eq!(told, Told { events: 4, failed: 1, errors: 1, ..Told::default() });
}

#[test]
fn where_every_error_ends_the_step_this_one_does_too() {
    let (told, _) = drive("stop", 5, |number, _| (number == 3).then_some(UNKNOWN));
    assert_eq!((told.failed, told.restarts, told.failure.is_some()), (1, 0, true));
}

/// Prepares a statement in a session which is lost then, and another one in the next, which gives it the same id.
const OF_TWO_SESSIONS: &str = "
    function thread_init()
      con = sysbench.sql.driver():connect()
      old = con:prepare('SELECT 1')
    end
    function event()
      if not is_lost then
        is_lost = true
        con:query('LOSE IT')
      end
      local other = con:prepare('SELECT 2')
      local is_executed = pcall(old.execute, old)
      old:close()
      assert(not is_executed)
      other:execute()
    end";

#[test]
fn a_script_s_statement_of_a_lost_session_is_not_taken_for_one_of_the_next() {
    const QUERY: u8 = 3;
    const CLOSE: u8 = 0x19;
    let seen = Arc::<Mutex<Vec<(u8, u32)>>>::default();
    let of_server = seen.clone();
    let port = serve_commands(move |_, command| match command[0] {
        QUERY if command.ends_with(b"LOSE IT") => Reply::Torn(0),
        PREPARE => Reply::Prepared(1),
        command_byte @ (EXECUTE | CLOSE) => {
            let id = u32::from_le_bytes(command[1..5].try_into().expect("four bytes"));
            of_server.lock().expect("no panic").push((command_byte, id));
            if id == 1 { Reply::Ok } else { Reply::Error(UNKNOWN) }
        }
        _ => Reply::Ok,
    });
    let script = Script::new("sessions", OF_TWO_SESSIONS);
    let told = told(&start(port, &script.driver(), "restart", 1));
    assert_eq!((told.events, told.failure), (1, None));
    assert_eq!(*seen.lock().expect("no panic"), [(EXECUTE, 0), (EXECUTE, 1)]);
}
