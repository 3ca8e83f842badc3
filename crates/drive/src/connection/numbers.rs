//! The servers' own numbers of this process's connections: they tell ours in a server's list of sessions, whatever other
//! clients log in with the same account.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A server lists a session for a moment after its client has left.
const LISTED_STILL: Duration = Duration::from_secs(1);

/// The place of a server as in the plan: the path of a unix socket, or `HOST:PORT`.
pub(crate) type Place = Arc<str>;

static NUMBERS: Mutex<Option<Numbers>> = Mutex::new(None);

#[derive(Default)]
struct Numbers {
    /// How many open connections have a place and a number: two servers in turn may give the same one.
    open: HashMap<(Place, u32), usize>,
    /// The latest to be closed, oldest first.
    closed: VecDeque<(Instant, (Place, u32))>,
}

impl Numbers {
    fn open(&mut self, key: &(Place, u32)) {
        *self.open.entry(key.clone()).or_default() += 1;
    }

    fn close(&mut self, key: &(Place, u32), now: Instant) {
        if let Some(count) = self.open.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(key);
            }
        }
        self.forget(now);
        self.closed.push_back((now, key.clone()));
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |at: &Instant| now.duration_since(*at) > LISTED_STILL;
        while self.closed.front().is_some_and(|(at, _)| is_old(at)) {
            self.closed.pop_front();
        }
    }

    fn of(&mut self, place: &str, now: Instant) -> Vec<u32> {
        self.forget(now);
        let closed = self.closed.iter().map(|(_, key)| key);
        let known = self.open.keys().chain(closed);
        known.filter(|(there, _)| &**there == place).map(|(_, number)| *number).collect()
    }
}

/// The number of one connection, known for as long as this lives and a moment longer.
pub(crate) struct Numbered((Place, u32));

impl Numbered {
    pub(crate) fn new(place: Place, number: u32) -> Self {
        let key = (place, number);
        numbers().get_or_insert_default().open(&key);
        Self(key)
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        numbers().get_or_insert_default().close(&self.0, Instant::now());
    }
}

/// The numbers that the server at this place gave to this process's connections: the path of its unix socket, or
/// `HOST:PORT` as the plan says it. Those closed within the last second are among them. A proxy's numbers are its own.
#[must_use]
pub fn connections_to(place: &str) -> Vec<u32> {
    numbers().get_or_insert_default().of(place, Instant::now())
}

/// Nothing is half done in there when a thread panics.
fn numbers() -> MutexGuard<'static, Option<Numbers>> {
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_known_by_its_number_until_a_moment_after_its_end() {
        let (mut numbers, now) = (Numbers::default(), Instant::now());
        let [one, other]: [(Place, u32); 2] = [("db1:3306".into(), 7), ("db2:3306".into(), 8)];
        numbers.open(&one);
        numbers.open(&one);
        numbers.open(&other);
        assert_eq!(numbers.of("db1:3306", now), [7]);
        numbers.close(&one, now);
        numbers.close(&one, now);
        assert_eq!(numbers.of("db1:3306", now), [7, 7], "the server may list it still");
        assert_eq!(numbers.of("db1:3306", now + 2 * LISTED_STILL), [0_u32; 0]);
        assert_eq!(numbers.of("db2:3306", now + 2 * LISTED_STILL), [8]);
    }

    #[test]
    fn a_number_lives_as_long_as_its_connection() {
        let place = "numbers-test:1";
        let number = Numbered::new(place.into(), 5);
        assert_eq!(connections_to(place), [5]);
        drop(number);
        assert_eq!(connections_to(place), [5], "for a moment");
        assert_eq!(connections_to("numbers-test:2"), [0_u32; 0]);
    }
}
