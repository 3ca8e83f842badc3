//! What a statement costs the client: processor time in this program, for each way to send it.

use crate::Found;
use crate::line::Line;
use crate::target::Target;
use loadstone_wire_postgres::{Conversation, Expect, Format, Param, Reply, Session, oid};
use std::time::Instant;

const ROUNDS: u32 = 200_000;
/// A row of sysbench's table is about this long.
const ROW: &str = "SELECT n AS id, repeat('x', 119) AS c FROM generate_series(1, 1) n WHERE n = $1";

/// Real replies are recorded once, then written and read again without a socket.
pub(crate) fn run(target: &Target) -> Result<Found, String> {
    let mut line = Line::open(target)?;
    let mut found = Vec::new();
    for (name, format) in [("text_ns", Format::Text), ("binary_ns", Format::Binary)] {
        line.conversation.set_formats(format, format);
        let mut out = Vec::new();
        line.conversation.write_prepare_typed(&mut out, ROW.as_bytes(), &[oid::INT8]);
        line.conversation.expect(Expect::Prepare);
        line.send(&out)?;
        let Reply::Prepared(prepared) = line.reply()? else {
            return Err("no statement".to_owned());
        };
        let reply = line.recorded(prepared.statement_id, Param::Int(1))?;
        found.push((name, in_memory(format, &reply)?.to_string()));
    }
    line.close()?;
    Ok(found)
}

/// Nanoseconds for writing an execution and reading its reply.
fn in_memory(format: Format, reply: &[u8]) -> Result<u128, String> {
    let mut conversation = Conversation::new(&Session::default());
    conversation.set_formats(format, format);
    let mut out = Vec::new();
    let began = Instant::now();
    for round in 0..ROUNDS {
        out.clear();
        let params = [Param::Int(i64::from(round))];
        conversation.write_execute(&mut out, 1, params.iter().copied());
        conversation.expect(Expect::Execute);
        match conversation.feed(reply) {
            Ok((used, Some(Reply::Done(done)))) if used == reply.len() && done.rows == 1 => {}
            other => return Err(format!("another reply: {other:?}")),
        }
    }
    Ok(began.elapsed().as_nanos() / u128::from(ROUNDS))
}
