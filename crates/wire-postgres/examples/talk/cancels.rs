//! A statement that is canceled, and a connection that is terminated.

use crate::Found;
use crate::line::{Line, connect};
use crate::target::Target;
use loadstone_wire_postgres::write_cancel;
use std::io::{Read, Write};

pub(crate) fn run(target: &Target) -> Result<Found, String> {
    let mut line = Line::open(target)?;
    line.begin_query("SELECT pg_sleep(300)")?;
    let mut watcher = Line::open(target)?;
    let process = line.session.process_id();
    // A request that arrives before the statement does cancels nothing.
    let is_asleep =
        format!("SELECT 1 FROM pg_stat_activity WHERE pid = {process} AND wait_event = 'PgSleep'");
    while watcher.query(&is_asleep)?.rows == 0 {}
    let key = line.session.cancel_key.as_ref().ok_or("no key")?;
    let mut out = Vec::new();
    write_cancel(&mut out, key);
    let mut socket = connect(target)?;
    socket.write_all(&out).map_err(|error| error.to_string())?;
    let answer = socket.read(&mut [0; 16]).map_err(|error| error.to_string())?;
    let canceled = line.refused()?;
    line.query("SELECT 1")?;
    watcher.query(&format!("SELECT pg_terminate_backend({process})"))?;
    let terminated = match line.query("SELECT 1") {
        Ok(_) => return Err("a terminated connection goes on".to_owned()),
        Err(text) => text,
    };
    watcher.close()?;
    Ok(vec![("answer", answer.to_string()), ("canceled", canceled), ("terminated", terminated)])
}
