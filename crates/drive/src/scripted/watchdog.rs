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

/// Finds the states of a script that do not return control.
#[derive(Debug)]
pub struct Turns {
    clock: Clock,
    /// By the address of the state's watch.
    open: HashMap<usize, Turn>,
}

/// Watches the states of a step's script until the last one is closed.
pub(crate) struct Watchdog {
    pub(crate) watches: Watches,
    pub(crate) control: Arc<Control>,
    pub(crate) clock: Clock,
    /// How long the load lasts at most, from its start.
    pub(crate) longest: Nanos,
}

/// A turn of a script that is not over.
#[derive(Debug)]
struct Turn {
    number: u64,
    since: Nanos,
    is_told: bool,
}

impl Watchdog {
    /// Runs until all states are closed; reports those that do not return control.
    pub(crate) fn run(self, tell: impl Fn(Stuck)) {
        let mut turns = Turns::new(self.clock);
        // The first state may not exist yet when this starts; wait for it while there are threads.
        while !self.control.is_over() {
            std::thread::sleep(PAUSE);
            turns.look_at(&self.watches, self.is_to_end()).into_iter().for_each(&tell);
        }
    }

    /// The step is to end, or its time has been over for a while.
    fn is_to_end(&self) -> bool {
        let over = |begin: Nanos| self.clock.now() > begin + self.longest + PATIENCE;
        self.control.stop_wanted() || self.control.begin_at().is_some_and(over)
    }
}

impl Turns {
    /// None yet, by this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, open: HashMap::new() }
    }

    /// Those that have not returned control for long, each once a turn. To be called a few times a
    /// second. If the script is to end, what does not return soon is interrupted.
    pub fn look_at(&mut self, watches: &Watches, is_to_end: bool) -> Vec<Stuck> {
        let living = watches.living();
        living.iter().filter_map(|watch| self.look_at_state(watch, is_to_end)).collect()
    }

    fn look_at_state(&mut self, watch: &Arc<Watch>, is_to_end: bool) -> Option<Stuck> {
        let (key, now) = (Arc::as_ptr(watch) as usize, self.clock.now());
        let Some(number) = watch.turn() else {
            self.open.remove(&key);
            return None;
        };
        let turn = self.open.entry(key).or_insert(Turn { number, since: now, is_told: false });
        if turn.number != number {
            *turn = Turn { number, since: now, is_told: false };
        }
        let lasts = now - turn.since;
        if is_to_end && lasts >= LAST_PATIENCE {
            watch.break_off();
            return None;
        }
        if let Some(place) = watch.place() {
            return Some(Stuck { seconds: lasts.seconds(), place });
        }
        if lasts >= PATIENCE && !std::mem::replace(&mut turn.is_told, true) {
            watch.ask_place();
        }
        None
    }
}
