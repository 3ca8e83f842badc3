//! One interval of all shards together.

use crate::meter::{Connectivity, Interval, Latencies};
use crate::pauses::Pause;
use crate::plan::Part;
use crate::record::{
    Counts, EventLatency, FirstError, Generator, NumberedEntries, NumberedPause, PhaseName, Sample,
    Seconds, TargetCounts,
};
use loadstone_measure::{Latency, Nanos, NumberedShare, Share, Tally, hlog};
use loadstone_workload::Entries;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Merge {
    parts: Vec<(usize, Interval)>,
}

impl Merge {
    pub(crate) fn add(&mut self, shard: usize, interval: Interval) {
        self.parts.push((shard, interval));
    }

    pub(crate) fn has(&self, shard: usize) -> bool {
        self.parts.iter().any(|(part, _)| *part == shard)
    }

    /// Per shard: its tally, and its users by target.
    pub(crate) fn take_cumulative(&self) -> Vec<(usize, Tally, Vec<u64>)> {
        let users = |interval: &Interval| interval.targets.iter().map(|t| t.users).collect();
        self.parts.iter().map(|(shard, part)| (*shard, part.tally, users(part))).collect()
    }

    pub(crate) fn take_connectivity(&mut self) -> Vec<(usize, Connectivity)> {
        let of_part = |(shard, part): &mut (usize, Interval)| {
            let shard = *shard;
            std::mem::take(&mut part.connectivity).into_iter().map(move |event| (shard, event))
        };
        self.parts.iter_mut().flat_map(of_part).collect()
    }

    /// One for each number.
    pub(crate) fn take_first_errors(&mut self) -> Vec<FirstError> {
        let all =
            self.parts.iter_mut().flat_map(|(_, part)| std::mem::take(&mut part.first_errors));
        let by_errno: BTreeMap<u16, FirstError> = all.map(|error| (error.errno, error)).collect();
        by_errno.into_values().collect()
    }

    /// `engines_part`: what of the step all these shards together drive.
    pub(crate) fn into_sample(
        self,
        tag: &str,
        tally: Tally,
        shards: usize,
        engines_part: Part,
    ) -> Sample {
        let mut sum = Sum::default();
        for (shard, mut part) in self.parts {
            let number = |place: usize| engines_part.number_of(place * shards + shard);
            let users = std::mem::take(&mut part.users);
            sum.add_users(&users, number);
            sum.add_pauses(std::mem::take(&mut part.pauses), number);
            sum.add_entries(std::mem::take(&mut part.entries), number);
            sum.add(part);
        }
        sum.pauses.sort_unstable_by_key(|NumberedPause(number, Seconds(from), _)| (*from, *number));
        sum.ledger.sort_unstable_by_key(|NumberedEntries(number, ..)| *number);
        sum.per_user.sort_unstable_by_key(|NumberedShare(number, _)| *number);
        sum.into_sample(tag, tally, shards)
    }
}

#[derive(Default)]
struct Sum {
    phase: Option<PhaseName>,
    from: Option<Nanos>,
    to: Nanos,
    cpu: Nanos,
    run_delay: Option<Nanos>,
    counts: Counts,
    errors: BTreeMap<u16, u64>,
    connect_failures: BTreeMap<u16, u64>,
    targets: Vec<TargetCounts>,
    per_user: Vec<NumberedShare>,
    pauses: Vec<NumberedPause>,
    ledger: Vec<NumberedEntries>,
    latencies: Latencies<Latency>,
}

impl Sum {
    /// `number` of a place in the shard is that among all users.
    fn add_users(&mut self, users: &[Share], number: impl Fn(usize) -> u64) {
        let numbered = users
            .iter()
            .enumerate()
            .filter(|(_, user)| user.events > 0)
            .map(|(place, user)| NumberedShare(number(place), *user));
        self.per_user.extend(numbered);
    }

    fn add_pauses(&mut self, pauses: Vec<Pause>, number: impl Fn(usize) -> u64) {
        let numbered = pauses.into_iter().map(|pause| {
            let number = number(pause.user as usize);
            NumberedPause(number, Seconds(pause.from), pause.to.map(Seconds))
        });
        self.pauses.extend(numbered);
    }

    fn add_entries(&mut self, entries: BTreeMap<u32, Entries>, number: impl Fn(usize) -> u64) {
        let numbered = entries.into_iter().map(|(user, Entries { settled, doubts })| {
            NumberedEntries(number(user as usize), settled, doubts)
        });
        self.ledger.extend(numbered);
    }

    fn add(&mut self, part: Interval) {
        self.phase.get_or_insert(part.phase);
        self.from = Some(self.from.map_or(part.from, |from| from.min(part.from)));
        self.to = self.to.max(part.to);
        self.cpu += part.cpu;
        if let Some(delay) = part.run_delay {
            self.run_delay = Some(self.run_delay.unwrap_or_default() + delay);
        }
        self.counts.add(&part.counts);
        add_counts(&mut self.errors, &part.errors);
        add_counts(&mut self.connect_failures, &part.connect_failures);
        self.targets.resize(self.targets.len().max(part.targets.len()), TargetCounts::default());
        for (sum, target) in self.targets.iter_mut().zip(&part.targets) {
            sum.add(target);
        }
        self.latencies.merge(part.latencies);
    }

    fn into_sample(self, tag: &str, tally: Tally, shards: usize) -> Sample {
        let from = self.from.unwrap_or_default();
        let span = self.to - from;
        let micros = |nanos: Nanos| nanos.0 / 1_000;
        Sample {
            phase: self.phase.unwrap_or(PhaseName::Drain),
            from_s: Seconds(from),
            to_s: Seconds(self.to),
            tally,
            counts: self.counts,
            errors: self.errors,
            connect_failures: self.connect_failures,
            users: 0,
            targets: self.targets,
            per_user: self.per_user,
            pauses: self.pauses,
            ledger: self.ledger,
            latency_ns: EventLatency {
                response: self.latencies.response.summary(),
                service: self.latencies.service.summary(),
            },
            generator: Generator {
                cpu_us: micros(self.cpu),
                wall_us: micros(span) * shards as u64,
                late_ns_p99: self.latencies.late.quantile(0.99).map(|nanos| nanos.0),
                dispatch_ns_p99: self.latencies.dispatch.quantile(0.99).map(|nanos| nanos.0),
                held_ns_p99: self.latencies.held.quantile(0.99).map(|nanos| nanos.0),
                run_delay_us: self.run_delay.map(micros),
                shards: u32::try_from(shards).unwrap_or(u32::MAX),
            },
            hlog: self.latencies.hlog_lines(tag, from, span),
        }
    }
}

fn add_counts(sum: &mut BTreeMap<u16, u64>, part: &BTreeMap<u16, u64>) {
    for (errno, count) in part {
        *sum.entry(*errno).or_default() += count;
    }
}

impl Latencies<Latency> {
    fn merge(&mut self, other: Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.other.merge(&other.other);
        self.late.merge(&other.late);
        self.dispatch.merge(&other.dispatch);
        self.held.merge(&other.held);
        for (errno, latency) in other.errors {
            self.errors.entry(errno).or_default().merge(&latency);
        }
        for (kind, latency) in other.kinds {
            self.kinds.entry(kind).or_default().merge(&latency);
        }
    }

    fn hlog_lines(&self, tag: &str, from: Nanos, span: Nanos) -> Vec<String> {
        let mut lines = Vec::new();
        let mut write = |name: &str, latency: &Latency| {
            let tag = format!("{tag}/{name}");
            let written = hlog::write(&tag, from.seconds(), span.seconds(), latency, &mut lines);
            debug_assert!(written.is_ok(), "the plan's tag was checked");
        };
        write("response", &self.response);
        write("service", &self.service);
        write("read", &self.read);
        write("write", &self.write);
        write("other", &self.other);
        write("late", &self.late);
        write("dispatch", &self.dispatch);
        write("held", &self.held);
        for (errno, latency) in &self.errors {
            write(&format!("error-{errno}"), latency);
        }
        for (kind, latency) in &self.kinds {
            write(&format!("kind-{kind}"), latency);
        }
        lines
    }
}
