//! Merges the intervals of all shards into one sample.

use super::commands::{ByCommand, CommandFigures};
use super::interval::{Connectivity, Interval, Latencies, OfMember, Unfinished};
use super::pauses::Pause;
use super::spares::Spares;
use crate::plan::Part;
use crate::record::{
    CommandRow, Counts, EventLatency, EventRow, FirstError, Generator, IdleCounts, MemberSample,
    NumberedEntries, NumberedPause, PhaseName, Sample, Seconds, TargetCounts, WorkCounts,
};
use loadstone_measure::{Latency, Nanos, NumberedShare, Share, Tally, hlog};
use loadstone_protocol::Code;
use loadstone_workload::Entries;
use std::collections::BTreeMap;

/// The part of a shard's interval that is cumulative, or that describes its end.
pub(crate) struct Cumulative {
    pub(crate) shard: usize,
    pub(crate) tally: Tally,
    /// The number of users of each target.
    pub(crate) users: Vec<u64>,
    /// The tally of each member of a mix.
    pub(crate) members: Vec<Tally>,
}

/// The figures of the step as a whole.
pub(crate) struct Whole<'a> {
    pub(crate) tag: &'a str,
    pub(crate) tally: Tally,
    /// The names and tallies of a mix's members.
    pub(crate) members: Vec<(&'a str, Tally)>,
    pub(crate) shards: usize,
    /// The part of the whole load that these shards drive together.
    pub(crate) part: Part,
}

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

    /// The cumulative part of each shard that has reported.
    pub(crate) fn cumulative(&self) -> Vec<Cumulative> {
        let of_part = |(shard, part): &(usize, Interval)| Cumulative {
            shard: *shard,
            tally: part.tally,
            users: part.targets.iter().map(|target| target.users).collect(),
            members: part.members.iter().map(|member| member.tally).collect(),
        };
        self.parts.iter().map(of_part).collect()
    }

    pub(crate) fn take_connectivity(&mut self) -> Vec<(usize, Connectivity)> {
        let of_part = |(shard, part): &mut (usize, Interval)| {
            let shard = *shard;
            std::mem::take(&mut part.connectivity).into_iter().map(move |event| (shard, event))
        };
        self.parts.iter_mut().flat_map(of_part).collect()
    }

    /// Takes the first error of each code.
    pub(crate) fn take_first_errors(&mut self) -> Vec<FirstError> {
        let all =
            self.parts.iter_mut().flat_map(|(_, part)| std::mem::take(&mut part.first_errors));
        let by_code: BTreeMap<Code, FirstError> =
            all.map(|error| (error.code.code, error)).collect();
        by_code.into_values().collect()
    }

    /// Adds them up, in histograms of `spares`.
    pub(crate) fn into_sample(self, whole: &Whole<'_>, spares: &Spares) -> Sample {
        let shards = whole.shards;
        let mut sum = Sum::new(spares.clone());
        for (shard, mut part) in self.parts {
            let number = |place: usize| whole.part.number_of(place * shards + shard);
            let users = std::mem::take(&mut part.users);
            sum.add_users(&users, number);
            part.spares.give_back_shares(users);
            sum.add_pauses(std::mem::take(&mut part.pauses), number);
            sum.add_entries(std::mem::take(&mut part.entries), number);
            sum.add_events(std::mem::take(&mut part.event_log), number);
            sum.add(part);
        }
        sum.pauses.sort_unstable_by_key(|NumberedPause(number, Seconds(from), _)| (*from, *number));
        sum.ledger.sort_unstable_by_key(|NumberedEntries(number, ..)| *number);
        sum.per_user.sort_unstable_by_key(|NumberedShare(number, _)| *number);
        sum.into_sample(whole)
    }
}

struct Sum {
    phase: Option<PhaseName>,
    from: Option<Nanos>,
    to: Nanos,
    cpu: Nanos,
    run_delay: Option<Nanos>,
    counts: Counts,
    errors: BTreeMap<Code, u64>,
    connect_failures: BTreeMap<Code, u64>,
    targets: Vec<TargetCounts>,
    idle: IdleCounts,
    members: Vec<OfMember<Latency>>,
    per_user: Vec<NumberedShare>,
    pauses: Vec<NumberedPause>,
    ledger: Vec<NumberedEntries>,
    commands: ByCommand,
    event_log: Vec<EventRow>,
    latencies: Latencies<Latency>,
    /// Where the histograms come from, and go in the end.
    spares: Spares,
}

impl Sum {
    fn new(spares: Spares) -> Self {
        Self {
            phase: None,
            from: None,
            to: Nanos::ZERO,
            cpu: Nanos::ZERO,
            run_delay: None,
            counts: Counts::default(),
            errors: BTreeMap::new(),
            connect_failures: BTreeMap::new(),
            targets: Vec::new(),
            idle: IdleCounts::default(),
            members: Vec::new(),
            per_user: Vec::new(),
            pauses: Vec::new(),
            ledger: Vec::new(),
            commands: ByCommand::default(),
            event_log: Vec::new(),
            latencies: Latencies::from_spares(&spares),
            spares,
        }
    }

    /// `number` turns a place in the shard into the number among all users.
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

    fn add_events(&mut self, events: Vec<EventRow>, number: impl Fn(usize) -> u64) {
        self.event_log.extend(events.into_iter().map(|mut row| {
            row.0 = number(usize::try_from(row.0).unwrap_or(usize::MAX));
            row
        }));
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
        self.idle.add(&part.idle);
        self.commands.add(&part.commands);
        self.add_members(part.members, &part.spares);
        self.latencies.merge(&part.latencies, &self.spares);
        self.latencies.response.merge(&part.punctual);
        self.latencies.service.merge(&part.punctual);
        part.spares.give_back(part.latencies.into_all().chain([part.punctual]));
    }

    fn add_members(&mut self, members: Vec<OfMember<Latency>>, theirs: &Spares) {
        let all = self.members.len().max(members.len());
        self.members.resize_with(all, || OfMember::from_spares(&self.spares));
        for (sum, member) in self.members.iter_mut().zip(members) {
            sum.counts.add(&member.counts);
            add_counts(&mut sum.errors, &member.errors);
            sum.response.merge(&member.response);
            sum.service.merge(&member.service);
            sum.unfinished.merge(&member.unfinished, &self.spares);
            theirs.give_back(member.into_all());
        }
    }

    fn into_sample(self, whole: &Whole<'_>) -> Sample {
        let shards = whole.shards;
        let from = self.from.unwrap_or_default();
        let span = self.to - from;
        let micros = |nanos: Nanos| nanos.0 / 1_000;
        let members = member_samples(&self.members, &whole.members);
        let hlog = self.hlog_lines(whole, from, span);
        let latency_ns = EventLatency {
            response: self.latencies.response.summary(),
            service: self.latencies.service.summary(),
        };
        let generator = Generator {
            cpu_us: micros(self.cpu),
            wall_us: micros(span) * shards as u64,
            late_ns_p99: self.latencies.late.quantile(0.99).map(|nanos| nanos.0),
            dispatch_ns_p99: self.latencies.dispatch.quantile(0.99).map(|nanos| nanos.0),
            held_ns_p99: self.latencies.held.quantile(0.99).map(|nanos| nanos.0),
            run_delay_us: self.run_delay.map(micros),
            shards: u32::try_from(shards).unwrap_or(u32::MAX),
        };
        self.spares.give_back(self.latencies.into_all());
        for member in self.members {
            self.spares.give_back(member.into_all());
        }
        Sample {
            phase: self.phase.unwrap_or(PhaseName::Drain),
            from_s: Seconds(from),
            to_s: Seconds(self.to),
            tally: whole.tally,
            counts: self.counts,
            errors: self.errors,
            connect_failures: self.connect_failures,
            users: 0,
            targets: self.targets,
            idle: Some(self.idle),
            members,
            per_user: self.per_user,
            pauses: self.pauses,
            ledger: self.ledger,
            commands: self.commands.all().map(command_row).collect(),
            event_log: self.event_log,
            latency_ns,
            generator,
            hlog,
        }
    }
}

impl Sum {
    fn hlog_lines(&self, whole: &Whole<'_>, from: Nanos, span: Nanos) -> Vec<String> {
        let mut lines = Vec::new();
        let mut write = |name: &str, latency: &Latency| {
            let tag = format!("{}/{name}", whole.tag);
            let written = hlog::write(&tag, from.seconds(), span.seconds(), latency, &mut lines);
            debug_assert!(written.is_ok(), "the plan's tag was checked");
        };
        self.latencies.write(&mut write);
        for (sum, (name, _)) in self.members.iter().zip(&whole.members) {
            write(&format!("response-of-{name}"), &sum.response);
            write(&format!("service-of-{name}"), &sum.service);
            sum.unfinished.write(&format!("-of-{name}"), &mut write);
        }
        lines
    }
}

fn member_samples(sums: &[OfMember<Latency>], told: &[(&str, Tally)]) -> Vec<MemberSample> {
    let sample = |(sum, (name, tally)): (&OfMember<Latency>, &(&str, Tally))| MemberSample {
        name: (*name).to_owned(),
        tally: *tally,
        counts: sum.counts.clone(),
        errors: sum.errors.clone(),
        latency_ns: EventLatency {
            response: sum.response.summary(),
            service: sum.service.summary(),
        },
    };
    sums.iter().zip(told).map(sample).collect()
}

fn command_row((member, command, figures): (u16, u16, &CommandFigures)) -> CommandRow {
    let CommandFigures { count, sum, failed, restarted } = *figures;
    CommandRow(member, command, count, sum.0, failed, restarted)
}

fn add_counts(sum: &mut BTreeMap<Code, u64>, part: &BTreeMap<Code, u64>) {
    for (code, count) in part {
        *sum.entry(*code).or_default() += count;
    }
}

impl OfMember<Latency> {
    fn from_spares(spares: &Spares) -> Self {
        Self {
            tally: Tally::default(),
            counts: WorkCounts::default(),
            errors: BTreeMap::new(),
            response: spares.take(),
            service: spares.take(),
            unfinished: Unfinished::default(),
        }
    }
}

impl Unfinished<Latency> {
    fn merge(&mut self, other: &Self, spares: &Spares) {
        for (sum, part) in
            [(&mut self.response, &other.response), (&mut self.service, &other.service)]
        {
            if let Some(part) = part {
                sum.get_or_insert_with(|| spares.take()).merge(part);
            }
        }
    }

    /// `of` is the end of their tags.
    fn write(&self, of: &str, write: &mut impl FnMut(&str, &Latency)) {
        for (name, latency) in [("response", &self.response), ("service", &self.service)] {
            if let Some(latency) = latency {
                write(&format!("unfinished-{name}{of}"), latency);
            }
        }
    }
}

impl Latencies<Latency> {
    fn from_spares(spares: &Spares) -> Self {
        Self {
            response: spares.take(),
            service: spares.take(),
            read: spares.take(),
            write: spares.take(),
            other: spares.take(),
            flight: spares.take(),
            late: spares.take(),
            dispatch: spares.take(),
            held: spares.take(),
            connect: spares.take(),
            errors: BTreeMap::new(),
            kinds: BTreeMap::new(),
            unfinished: Unfinished::default(),
        }
    }

    fn merge(&mut self, other: &Self, spares: &Spares) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.other.merge(&other.other);
        self.flight.merge(&other.flight);
        self.late.merge(&other.late);
        self.dispatch.merge(&other.dispatch);
        self.held.merge(&other.held);
        self.connect.merge(&other.connect);
        for (code, latency) in &other.errors {
            self.errors.entry(*code).or_insert_with(|| spares.take()).merge(latency);
        }
        for (kind, latency) in &other.kinds {
            self.kinds.entry(kind).or_insert_with(|| spares.take()).merge(latency);
        }
        self.unfinished.merge(&other.unfinished, spares);
    }

    fn write(&self, mut write: impl FnMut(&str, &Latency)) {
        write("response", &self.response);
        write("service", &self.service);
        write("read", &self.read);
        write("write", &self.write);
        write("other", &self.other);
        write("flight", &self.flight);
        write("late", &self.late);
        write("dispatch", &self.dispatch);
        write("held", &self.held);
        write("connect", &self.connect);
        for (code, latency) in &self.errors {
            write(&format!("error-{code}"), latency);
        }
        for (kind, latency) in &self.kinds {
            write(&format!("kind-{kind}"), latency);
        }
        self.unfinished.write("", &mut write);
    }
}
