//! The watchdog of scripts: a script that runs on without a statement holds up all users of its
//! thread, which cannot notice that itself.

use crate::clock::Clock;
use crate::record::Stuck;
use crate::shard::Control;
use loadstone_measure::Nanos;
use loadstone_script::{Watch, Watches};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(250);
/// When a script that does not return control is reported.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// How long it may run on once the step is to end.
const LAST_PATIENCE: Nanos = Nanos::from_millis(1_000);

/// Watches the states of a step's script until the last one is closed.
pub(crate) struct Watchdog {
    pub(crate) watches: Watches,
    pub(crate) control: Arc<Control>,
    pub(crate) clock: Clock,
    /// How long the load lasts at most, from its start.
    pub(crate) longest: Nanos,
}

/// A turn of a script that is not over.
struct Turn {
    number: u64,
    since: Nanos,
    is_told: bool,
}

impl Watchdog {
    /// Runs until all states are closed; reports those that do not return control.
    pub(crate) fn run(self, tell: impl Fn(Stuck)) {
        let mut turns = HashMap::new();
        // The first state may not exist yet when this starts; wait for it while there are threads.
        while !self.control.is_over() {
            std::thread::sleep(PAUSE);
            for watch in self.watches.living() {
                self.look_at(&watch, &mut turns, &tell);
            }
        }
    }

    fn look_at(
        &self,
        watch: &Arc<Watch>,
        turns: &mut HashMap<*const Watch, Turn>,
        tell: &impl Fn(Stuck),
    ) {
        let (key, now) = (Arc::as_ptr(watch), self.clock.now());
        let Some(number) = watch.turn() else {
            turns.remove(&key);
            return;
        };
        let turn = turns.entry(key).or_insert(Turn { number, since: now, is_told: false });
        if turn.number != number {
            *turn = Turn { number, since: now, is_told: false };
        }
        let lasts = now - turn.since;
        if self.is_to_end(now) && lasts >= LAST_PATIENCE {
            watch.break_off();
        } else if let Some(place) = watch.place() {
            tell(Stuck { seconds: lasts.seconds(), place });
        } else if lasts >= PATIENCE && !std::mem::replace(&mut turn.is_told, true) {
            watch.ask_place();
        }
    }

    /// The step is to end, or its time has been over for a while.
    fn is_to_end(&self, now: Nanos) -> bool {
        let over = |begin: Nanos| now > begin + self.longest + PATIENCE;
        self.control.stop_wanted() || self.control.begin_at().is_some_and(over)
    }
}
