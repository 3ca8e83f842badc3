//! The users of a shard take turns: an answer that takes long to read holds up nobody, and the end
//! of its connection is seen, however long it takes to get there.

use crate::script::Script;
use crate::server::{Reply, compressed_rows, serve};
use loadstone_drive::{Drive, Plan};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Rows of the long answer, of 64 KiB each: 96 turns of 256 KiB.
const ROWS: usize = 384;
/// Nothing here takes longer, even in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const WORKLOAD: &str = r#""workload": {"name": "oltp_point_select"}"#;
const SCRIPT: &str = "function thread_init() con = sysbench.sql.driver():connect() end
                      function event() con:query('SELECT 1') end";

fn start(port: u16, driver: &str, compression: &str) -> Drive {
    let text = format!(
        r#"{{"targets": [{{"host": "127.0.0.1", "port": {port}, "user": "u", "password": "p",
            "database": null, "tls": {{"mode": "disabled"}}, "compression": {compression}}}],
        {driver},
        "protocol": "text", "users": 2, "arrival": {{"kind": "closed"}},
        "stop": {{"kind": "time", "duration_s": 300}}, "drain_s": 0,
        "connect": {{"at_once": 2, "timeout_s": 60, "retries": 0, "backoff_s": 0}},
        "session": {{"init_sql": [], "isolation": null, "charset": null}},
        "on_error": "restart", "shards": 1, "seed": 3, "tag": "t"}}"#
    );
    Drive::start(Plan::from_json(&text).expect("a plan")).expect("threads")
}

/// The first connection gets a long answer. How many answers has the other one got when the first
/// one asks again?
fn others_turns(driver: &str) -> usize {
    let (tell, told) = channel();
    let seen = Arc::new(Mutex::new((0, None, tell)));
    // Made beforehand: that takes longer than to read it.
    let long = Arc::new(compressed_rows(ROWS));
    let port = serve(move |connection| {
        let mut seen = seen.lock().expect("no panic");
        let (others, before, tell) = &mut *seen;
        if connection > 0 {
            *others += 1;
            return Reply::Ok;
        }
        match before.replace(*others) {
            None => Reply::Ready(long.clone()),
            Some(before) => {
                // Nobody listens to what comes after the first one.
                tell.send(*others - before).ok();
                Reply::Ok
            }
        }
    });
    let drive = start(port, driver, r#"["zlib"]"#);
    let turns = told.recv_timeout(PATIENCE).expect("the long answer was read");
    drive.stop();
    turns
}

#[test]
fn a_long_answer_is_read_in_turns_of_256_kilobytes() {
    let turns = others_turns(WORKLOAD);
    assert!(turns >= ROWS / 16, "{turns} turns of the other user");
}

#[test]
fn a_long_answer_to_a_script_is_read_in_turns_too() {
    let script = Script::new("turns", SCRIPT);
    let turns = others_turns(&script.driver());
    assert!(turns >= ROWS / 16, "{turns} turns of the other user");
}

/// The first connection is closed within a long answer: the end arrives while most of that is still
/// unread, as the kernel has learnt from earlier ones to give the socket room. Returns once the
/// connection's user has connected again.
fn lost_within_an_answer(driver: &str) {
    let (tell, told) = channel();
    let seen = Arc::new(Mutex::new((0, tell)));
    let port = serve(move |connection| {
        let mut seen = seen.lock().expect("no panic");
        let (answers, tell) = &mut *seen;
        match connection {
            0 if *answers == 10 => Reply::Torn(64),
            0 => {
                *answers += 1;
                Reply::Rows(64)
            }
            1 => Reply::Ok,
            _ => {
                // Nobody listens to what comes after the first one.
                tell.send(connection).ok();
                Reply::Ok
            }
        }
    });
    let drive = start(port, driver, r#"["off"]"#);
    assert_eq!(told.recv_timeout(PATIENCE), Ok(2), "the end of the connection was not seen");
    drive.stop();
}

#[test]
fn a_connection_that_ends_within_a_long_answer_is_lost_and_opened_again() {
    lost_within_an_answer(WORKLOAD);
}

#[test]
fn a_script_s_connection_that_ends_within_a_long_answer_is_lost_and_opened_again() {
    let script = Script::new("torn", SCRIPT);
    lost_within_an_answer(&script.driver());
}
