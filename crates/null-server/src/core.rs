//! What all connections of a null server share.

use crate::administration::{Administration, Now};
use crate::clock;
use crate::library::Library;
use crate::log::{Log, Record};
use crate::poller::Poller;
use crate::random::Random;
use crate::rows::Rows;
use crate::script::Script;
use crate::scripted_faults::ScriptedFaults;
use crate::settings::Settings;
use crate::stats::Stats;
use crate::timers::{Alarm, Timers};
use crate::tls::{Names, TlsMaker};
use std::io;

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) settings: Settings,
    /// Present if TLS is offered.
    pub(crate) tls: Option<TlsMaker>,
    /// The plaintext of received records; all connections share the buffer.
    pub(crate) clear: Vec<u8>,
    pub(crate) poller: Poller,
    pub(crate) timers: Timers,
    pub(crate) library: Library,
    pub(crate) faults: ScriptedFaults,
    /// The number of scripts and flushes so far: alarms of an older one are stale.
    pub(crate) script_number: u64,
    pub(crate) log: Log,
    pub(crate) stats: Stats,
    nonces: Random,
    administration: Administration,
    /// Timestamps are needed, for the log or for the script.
    stamping: bool,
    since: u64,
    cpu_since: u64,
}

impl Core {
    pub(crate) fn new(settings: Settings, tls: Option<TlsMaker>) -> io::Result<Self> {
        let now = clock::now();
        let mut core = Self {
            tls,
            clear: Vec::new(),
            poller: Poller::new()?,
            timers: Timers::default(),
            library: Library::new(settings.range_rows),
            faults: ScriptedFaults::new(settings.script.clone(), now),
            script_number: 0,
            log: Log::new(settings.log_records()),
            stats: Stats::default(),
            nonces: Random::new(settings.script.seed, 4),
            administration: Administration::new(&settings),
            stamping: false,
            since: now,
            cpu_since: 0,
            settings,
        };
        core.set_script(core.settings.script.clone());
        Ok(core)
    }

    /// The time, if anything needs it.
    #[inline]
    pub(crate) fn stamp(&self) -> u64 {
        if self.stamping { clock::now() } else { 0 }
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.log.push(record);
    }

    /// Takes another script; its time starts again.
    pub(crate) fn set_script(&mut self, script: Script) {
        self.script_number += 1;
        self.faults = ScriptedFaults::new(script, clock::now());
        self.stamping = self.log.is_on() || !self.faults.is_plain();
        self.set_timed_drops();
    }

    /// Resets counters and log; the script's time starts again.
    pub(crate) fn flush(&mut self) {
        let Stats { open, owed, .. } = self.stats;
        // What is being answered counts as received now.
        self.stats = Stats { open, open_max: open, owed, executes: owed, ..Stats::default() };
        self.log = Log::new(self.settings.log_records());
        self.since = clock::now();
        self.cpu_since = clock::thread_cpu();
        self.set_script(self.faults.script.clone());
    }

    /// A load statement arrived.
    pub(crate) fn load_came(&mut self, now: u64) {
        if self.faults.begins_with(now) {
            self.set_timed_drops();
        }
    }

    fn set_timed_drops(&mut self) {
        for (at, rule) in self.faults.timed_drops() {
            self.timers.set(at, Alarm::Drop { rule, script: self.script_number });
        }
    }

    /// The counters as they are.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            log_records: self.log.len() as u64,
            log_lost: self.log.lost(),
            cpu_us: clock::thread_cpu().saturating_sub(self.cpu_since) / 1000,
            wall_us: (clock::now() - self.since) / 1000,
            ..self.stats
        }
    }

    /// The rows of SHOW NULL STATUS.
    pub(crate) fn status_rows(&self) -> Rows {
        let pairs = self.stats().pairs();
        let pairs = pairs.into_iter().map(|(name, value)| (name, value.to_string()));
        crate::administration::pairs(pairs, "")
    }

    /// The answer to a question; `tls` is what the asking connection uses.
    pub(crate) fn question(&self, question: &[u8], connection: u32, tls: Option<Names>) -> Rows {
        self.administration.answer(question, self.now(connection, tls))
    }

    /// What answers may depend on; `tls` is what the asking connection uses.
    pub(crate) fn now(&self, connection: u32, tls: Option<Names>) -> Now {
        Now {
            connection,
            tls,
            connected: self.stats.open,
            questions: self.stats.executes + self.stats.queries + self.stats.others,
            uptime_s: (clock::now() - self.since) / 1_000_000_000,
        }
    }

    pub(crate) fn nonce(&mut self) -> [u8; 20] {
        std::array::from_fn(|_| self.nonces.nonce_byte())
    }
}
