//! The statements that the server has prepared on a connection.

use loadstone_workload::StatementRef;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How a statement is sent on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handle {
    /// Prepared under this id; `bound` once the parameters' types were sent, if they stay the same.
    Prepared { id: u32, bound: bool },
    /// The server cannot prepare it: it goes as text.
    AsText,
}

/// How the statements of one connection are sent.
#[derive(Default)]
pub(super) struct Handles {
    /// The one that was wanted last. Many workloads have no other, and it lies in the connection itself: the map's
    /// memory is elsewhere, and with many users no cache has it.
    last: Option<(u64, Handle)>,
    all: HashMap<u64, Handle, BuildHasherDefault<KeyHasher>>,
}

impl Handles {
    pub(super) fn of(&mut self, statement: StatementRef) -> Option<Handle> {
        let key = key(statement);
        if self.last.is_none_or(|(last, _)| last != key) {
            self.last = Some((key, *self.all.get(&key)?));
        }
        self.last.map(|(_, handle)| handle)
    }

    pub(super) fn remember(&mut self, statement: StatementRef, handle: Handle) {
        let key = key(statement);
        self.all.insert(key, handle);
        self.last = Some((key, handle));
    }

    pub(super) fn forget(&mut self) {
        self.all.clear();
        self.last = None;
    }
}

fn key(statement: StatementRef) -> u64 {
    u64::from(statement.table) << 16 | u64::from(statement.kind)
}

/// Keys are small numbers of our own: one multiplication spreads them over the upper bits.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        // The map takes its bucket from the low bits, which know nothing of the table yet, and a tag
        // from the top seven: this moves the best 26 bits down, and well mixed ones up.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // 2^64 divided by the golden ratio (Knuth, TAOCP 6.4).
        self.0 = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    const ONE: StatementRef = StatementRef { kind: 1, table: 2 };
    const OTHER: StatementRef = StatementRef { kind: 1, table: 3 };

    fn prepared(id: u32, bound: bool) -> Handle {
        Handle::Prepared { id, bound }
    }

    #[test]
    fn each_statement_has_what_was_remembered_of_it_last() {
        let mut handles = Handles::default();
        assert_eq!(handles.of(ONE), None);
        handles.remember(ONE, prepared(7, false));
        assert_eq!((handles.of(ONE), handles.of(OTHER)), (Some(prepared(7, false)), None));
        handles.remember(OTHER, Handle::AsText);
        handles.remember(ONE, prepared(7, true));
        for _ in 0..2 {
            assert_eq!(handles.of(ONE), Some(prepared(7, true)));
            assert_eq!(handles.of(OTHER), Some(Handle::AsText));
        }
    }

    #[test]
    fn what_is_forgotten_is_not_known_even_if_it_was_wanted_last() {
        let mut handles = Handles::default();
        handles.remember(OTHER, prepared(8, true));
        handles.remember(ONE, prepared(7, true));
        assert!(handles.of(ONE).is_some());
        handles.forget();
        assert_eq!((handles.of(ONE), handles.of(OTHER)), (None, None));
        handles.remember(ONE, prepared(9, false));
        assert_eq!(handles.of(ONE), Some(prepared(9, false)));
    }

    /// How many different values the hashes of the statements of 1,000 tables have in these bits.
    fn different(bits: impl Fn(u64) -> u64) -> usize {
        let hasher = BuildHasherDefault::<KeyHasher>::default();
        let statements = (0..1000).flat_map(|table| (0..9).map(move |kind| (table, kind)));
        let hash = |(table, kind)| hasher.hash_one(key(StatementRef { kind, table }));
        statements.map(hash).map(bits).collect::<HashSet<_>>().len()
    }

    #[test]
    fn statements_of_many_tables_are_spread_over_the_buckets_of_the_map() {
        // 9,000 keys, drawn at random into the 16,384 buckets of such a map, hit 6,925 of them.
        let buckets = different(|hash| hash & 0x3fff);
        assert!(buckets > 6_000, "{buckets}");
        assert_eq!(
            different(|hash| hash >> 57),
            128,
            "the tags that tell apart the keys of a bucket"
        );
    }
}
