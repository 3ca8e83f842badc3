//! The round trips of an event, as statements and as packets that only need ids.

use crate::options::Mode;
use crate::postgres;
use loadstone_wire::{Param, write_execute, write_query};

const POINT: &str = "SELECT c FROM sbtestN WHERE id=?";
const RANGE: &str = "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ?";
const SUM: &str = "SELECT SUM(k) FROM sbtestN WHERE id BETWEEN ? AND ?";
const ORDER: &str = "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c";
const DISTINCT: &str = "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c";
const UPDATE_INDEX: &str = "UPDATE sbtestN SET k=k+1 WHERE id=?";
const UPDATE: &str = "UPDATE sbtestN SET c=? WHERE id=?";
const DELETE: &str = "DELETE FROM sbtestN WHERE id=?";
const INSERT: &str = "INSERT INTO sbtestN (id, k, c, pad) VALUES (?, ?, ?, ?)";
const RANGE_SIZE: i64 = 100;
const C: &[u8] = b"08566691963-88624912351-16662227201-46648573979-64646226163-\
    77505759394-75470094713-41097360717-15161106334-50535565977";
const PAD: &[u8] = b"63188288836-92351140030-06390587585-66802097351-49282961843";

/// Where the header ends and a packet's own bytes start.
const STATEMENT_ID: usize = 5;
/// Digits of a key in text: one length, so that the packet needs no new header.
const DIGITS: usize = 10;
const ZEROS: &[u8] = b"0000000000";
const TEXT_POINT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=0000000000";

/// Which keys of a packet change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    /// A key at this place.
    One(usize),
    /// The first and last key of a range, at these places.
    Range(usize, usize),
    /// The last drawn key, at this place.
    Again(usize),
}

/// One round trip.
#[derive(Debug)]
pub(crate) struct Round {
    /// The index of the statement.
    pub(crate) statement: usize,
    /// The packet without its ids; for the first table if it is text.
    pub(crate) packet: Vec<u8>,
    pub(crate) keys: Keys,
    pub(crate) text: bool,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// To be prepared; `N` stands for the table.
    pub(crate) statements: Vec<&'static str>,
    pub(crate) rounds: Vec<Round>,
}

impl Rounds {
    pub(crate) fn of(mode: Mode) -> Self {
        let mut rounds = Self { statements: Vec::new(), rounds: Vec::new() };
        match mode {
            Mode::Text => {
                let mut packet = Vec::new();
                write_query(&mut packet, TEXT_POINT);
                rounds.text_point(packet);
            }
            Mode::PostgresText => rounds.text_point(postgres::query(TEXT_POINT)),
            Mode::Postgres => rounds.text_point(postgres::execution(ZEROS)),
            Mode::Prepared => rounds.add(POINT, 1),
            Mode::ReadWrite => {
                rounds.add("BEGIN", 1);
                rounds.add(POINT, 10);
                for statement in [RANGE, SUM, ORDER, DISTINCT] {
                    rounds.add(statement, 1);
                }
                for statement in [UPDATE_INDEX, UPDATE, DELETE, INSERT, "COMMIT"] {
                    rounds.add(statement, 1);
                }
            }
        }
        rounds
    }

    /// The statement for a table.
    pub(crate) fn sql(&self, statement: usize, table: u32) -> String {
        self.statements[statement].replace("sbtestN", &format!("sbtest{table}"))
    }

    fn add(&mut self, sql: &'static str, repeat: usize) {
        let statement = self.statements.len();
        self.statements.push(sql);
        for _ in 0..repeat {
            let mut packet = Vec::new();
            write_execute(&mut packet, 0, params(sql).iter().copied(), false);
            let keys = keys(sql, packet.len());
            self.rounds.push(Round { statement, packet, keys, text: false });
        }
    }

    /// A packet with the key in digits.
    fn text_point(&mut self, packet: Vec<u8>) {
        self.statements.push(POINT);
        let place = packet.windows(DIGITS).rposition(|part| part == ZEROS);
        let keys = place.map_or(Keys::None, Keys::One);
        self.rounds.push(Round { statement: 0, packet, keys, text: true });
    }
}

impl Round {
    /// Writes the packet to `out`, with a statement's id and drawn keys.
    #[inline]
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        id: u32,
        key: &mut i64,
        draw: impl FnOnce() -> i64,
    ) {
        out.clear();
        out.extend_from_slice(&self.packet);
        if !self.text {
            out[STATEMENT_ID..STATEMENT_ID + 4].copy_from_slice(&id.to_le_bytes());
        }
        match self.keys {
            Keys::None => {}
            Keys::One(at) => {
                *key = draw();
                if self.text { put_digits(out, at, *key) } else { put(out, at, *key) }
            }
            Keys::Range(first, last) => {
                *key = draw();
                put(out, first, *key);
                put(out, last, *key + RANGE_SIZE - 1);
            }
            Keys::Again(at) => put(out, at, *key),
        }
    }
}

/// Parameters for binding; keys are replaced later.
pub(crate) fn params(sql: &str) -> Vec<Param<'static>> {
    match sql {
        INSERT => vec![Param::Int(1), Param::Int(1), Param::Text(C), Param::Text(PAD)],
        UPDATE => vec![Param::Text(C), Param::Int(1)],
        _ => vec![Param::Int(1); sql.matches('?').count()],
    }
}

fn keys(sql: &str, length: usize) -> Keys {
    // The last value is at the end of the packet.
    match sql {
        INSERT => Keys::Again(length - 1 - PAD.len() - 1 - C.len() - 16),
        _ => match sql.matches('?').count() {
            0 => Keys::None,
            2 if sql != UPDATE => Keys::Range(length - 16, length - 8),
            _ => Keys::One(length - 8),
        },
    }
}

fn put(out: &mut [u8], at: usize, key: i64) {
    out[at..at + 8].copy_from_slice(&key.to_le_bytes());
}

fn put_digits(out: &mut [u8], at: usize, key: i64) {
    let mut rest = key;
    for place in out[at..at + DIGITS].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_twenty_round_trips() {
        let rounds = Rounds::of(Mode::ReadWrite);
        assert_eq!((rounds.rounds.len(), rounds.statements.len()), (20, 11));
        assert_eq!(rounds.sql(1, 7), "SELECT c FROM sbtest7 WHERE id=?");
    }

    #[test]
    fn patched_packets_are_those_that_the_wire_crate_writes() {
        let rounds = Rounds::of(Mode::ReadWrite);
        let mut key = 0;
        for round in &rounds.rounds {
            let sql = rounds.statements[round.statement];
            let mut out = Vec::new();
            round.write(&mut out, 9, &mut key, || 77);
            let values = match params(sql).as_slice() {
                [Param::Int(_), Param::Int(_)] => vec![Param::Int(77), Param::Int(176)],
                [Param::Int(_)] => vec![Param::Int(77)],
                [Param::Text(_), _] => vec![Param::Text(C), Param::Int(77)],
                [_, _, _, _] => {
                    vec![Param::Int(77), Param::Int(1), Param::Text(C), Param::Text(PAD)]
                }
                _ => vec![],
            };
            let mut expected = Vec::new();
            write_execute(&mut expected, 9, values.into_iter(), false);
            assert_eq!(out, expected, "{sql}");
        }
    }

    #[test]
    fn text_has_its_key_in_ten_digits() {
        let rounds = Rounds::of(Mode::Text);
        let mut out = Vec::new();
        rounds.rounds[0].write(&mut out, 0, &mut 0, || 4711);
        assert!(out.ends_with(b" WHERE id=0000004711"));
    }
}
