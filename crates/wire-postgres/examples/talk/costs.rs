//! What an execution costs the client beyond its socket, with parameters and results in each format.

use crate::Found;
use crate::line::Line;
use crate::target::Target;
use loadstone_wire_postgres::{Conversation, Expect, Format, Param, Reply, Session, oid};
use std::time::Instant;

const BATCHES: usize = 50;
const ROUNDS: u32 = 10_000;
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

/// Nanoseconds for writing an execution and reading its reply, in the quickest of many batches:
/// others may have had the processor in the rest.
fn in_memory(format: Format, reply: &[u8]) -> Result<u128, String> {
    let mut conversation = Conversation::new(&Session::default());
    conversation.set_formats(format, format);
    let mut quickest = u128::MAX;
    for _ in 0..BATCHES {
        quickest = quickest.min(batch(&mut conversation, reply)?);
    }
    Ok(quickest / u128::from(ROUNDS))
}

fn batch(conversation: &mut Conversation, reply: &[u8]) -> Result<u128, String> {
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
    Ok(began.elapsed().as_nanos())
}
