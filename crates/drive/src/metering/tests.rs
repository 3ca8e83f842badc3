//! Tests of the meter, with events counted by hand.

use super::*;
use crate::plan::Part;
use loadstone_measure::NumberedShare;
use loadstone_protocol::Family;
use loadstone_workload::stop::StopRule;

const DEADLOCK: ErrorCode = ErrorCode { family: Family::new("mysql"), code: Code::of_number(1213) };

fn meter() -> Meter {
    Meter::new(Boundaries::new(&StopRule::Time { warmup_s: 0.0, duration_s: 9.0 }), 2)
}

#[test]
fn a_failed_connect_is_told_once_also_one_between_the_telling_and_the_load() {
    let mut meter = meter();
    meter.connect_failed(Code::of_number(1040), 1);
    assert_eq!(meter.tell_connect_failures(), BTreeMap::from([(Code::of_number(1040), 1)]));
    meter.connect_failed(Code::of_number(2013), 1);
    meter.begin();
    let interval = meter.cut(Nanos::from_millis(1_000));
    assert_eq!(interval.connect_failures, BTreeMap::from([(Code::of_number(2013), 1)]));
    assert_eq!(interval.targets[1].connect_failures, 1);
}

#[test]
fn a_user_that_is_missing_when_the_load_begins_is_down_until_it_comes() {
    let mut meter = meter();
    meter.begin();
    meter.user_missing(Nanos::ZERO);
    meter.user_missing(Nanos::ZERO);
    let down: Vec<u64> = meter.cut(Nanos(1)).connectivity.iter().map(|c| c.down).collect();
    assert_eq!(down, [1, 2]);
}

#[test]
fn users_are_counted_apart_only_where_somebody_asked() {
    let mut meter = meter();
    meter.of_user(1, Nanos(9), Nanos(5));
    assert!(meter.cut(Nanos(1)).users.is_empty());
    let mut meter = self::meter().with_users(2);
    for response in [5, 3] {
        meter.of_user(1, Nanos(9), Nanos(response));
    }
    let users = meter.cut(Nanos(1)).users;
    assert_eq!(users[0], Share::default());
    let expected = Share { events: 2, busy: Nanos(8), least: Nanos(3), greatest: Nanos(5) };
    assert_eq!(users[1], expected);
    assert_eq!(meter.cut(Nanos(2)).users[1], Share::default());
}

#[test]
fn entries_are_told_once_and_their_doubts_are_kept_until_then() {
    let mut meter = meter();
    for (settled, doubts) in [(7, vec![7]), (9, vec![8, 9]), (10, vec![])] {
        meter.of_ledger(1, Entries { settled, doubts });
    }
    let told = meter.cut(Nanos(1)).entries;
    assert_eq!(told, BTreeMap::from([(1, Entries { settled: 10, doubts: vec![7, 8, 9] })]));
    assert!(meter.cut(Nanos(2)).entries.is_empty());
}

#[test]
fn kinds_of_events_are_told_apart_and_begin_anew_with_each_interval() {
    let mut meter = meter();
    for (kind, response) in [("payment", 5), ("new_order", 7), ("payment", 9)] {
        meter.of_kind(kind, Nanos(response));
    }
    let counts = |meter: &mut Meter, at| {
        let kinds = meter.cut(Nanos(at)).latencies.kinds;
        kinds.into_iter().map(|(kind, all)| (kind, all.summary().count)).collect::<Vec<_>>()
    };
    assert_eq!(counts(&mut meter, 1), [("new_order", 1), ("payment", 2)]);
    meter.of_kind("payment", Nanos(3));
    assert_eq!(counts(&mut meter, 2), [("new_order", 0), ("payment", 1)]);
}

#[test]
fn idle_connections_stay_open_over_intervals_and_the_others_count_in_one() {
    let mut meter = meter();
    (0..3).for_each(|_| meter.idle_opened());
    meter.begin();
    meter.idle_lost();
    let first = meter.cut(Nanos(1)).idle;
    assert_eq!(first, IdleCounts { open: 2, lost: 1, opened: 0 });
    meter.idle_opened();
    assert_eq!(meter.cut(Nanos(2)).idle, IdleCounts { open: 3, lost: 0, opened: 1 });
    assert_eq!(meter.cut(Nanos(3)).idle, IdleCounts { open: 3, lost: 0, opened: 0 });
}

#[test]
fn an_event_that_never_began_keeps_the_law() {
    let mut meter = meter();
    meter.became_due(ALONE);
    meter.event_skipped(ALONE);
    let interval = meter.cut(Nanos(1));
    assert!(interval.tally.balances());
    assert_eq!((interval.tally.waiting, interval.counts.work.skipped), (0, 1));
}

#[test]
fn the_members_of_a_mix_are_counted_apart_and_sum_up_to_the_whole() {
    let mut meter = meter().with_members(2);
    let labels = |member| Labels { target: 0, member };
    for (member, events) in [(0, 3), (1, 2)] {
        for _ in 0..events {
            meter.became_due(member);
            meter.event_started(member, Nanos::ZERO, HeldBy::Generator);
            meter.statement(Class::Read, labels(member), Nanos(5));
            meter.event_succeeded(labels(member), Nanos(7), Nanos(7));
        }
    }
    meter.became_due(1);
    meter.event_started(1, Nanos::from_millis(2), HeldBy::Users);
    meter.error(DEADLOCK, labels(1), Nanos(9));
    meter.restarted(1);
    meter.event_failed(1);
    meter.became_due(0);
    meter.event_skipped(0);
    let interval = meter.cut(Nanos(1));
    let [first, second] = interval.members.as_slice() else { panic!("two members") };
    assert!(first.tally.balances() && second.tally.balances());
    let mut sum = first.tally;
    sum.add(&second.tally);
    assert_eq!(sum, interval.tally);
    let all = |of: &OfMember<Latency>| (of.counts.events, of.counts.reads, of.response.count());
    assert_eq!((all(first), all(second)), ((3, 3, 3), (2, 2, 2)));
    assert_eq!((first.counts.skipped, second.counts.failed, second.counts.late), (1, 1, 1));
    assert_eq!((first.errors.len(), second.errors.get(&DEADLOCK.code)), (0, Some(&1)));
    assert_eq!((interval.counts.work.restarts, second.counts.restarts), (1, 1));
    let next = &meter.cut(Nanos(2)).members[1];
    assert_eq!((next.tally, next.counts.events), (second.tally, 0));
}

#[test]
fn the_histograms_of_an_interval_come_back_empty_and_are_used_again() {
    let mut meter = meter().with_members(1);
    let of_sums = Spares::default();
    let mut seen = Vec::new();
    for second in 1..=4 {
        meter.became_due(ALONE);
        meter.event_started(ALONE, Nanos(5), HeldBy::Users);
        meter.event_succeeded(Labels::of_target(0), Nanos(9), Nanos(7));
        meter.became_due(ALONE);
        meter.event_started(ALONE, Nanos::ZERO, HeldBy::Users);
        meter.event_succeeded(Labels::of_target(0), Nanos(8), Nanos(8));
        meter.of_kind("payment", Nanos(9));
        meter.error(DEADLOCK, Labels::of_target(0), Nanos(9));
        let mut merge = Merge::default();
        merge.add(0, meter.cut(Nanos::from_millis(1_000 * second)));
        let whole = Whole {
            tag: "t",
            tally: meter.tally,
            members: vec![("all", meter.tally)],
            shards: 1,
            part: Part::default(),
        };
        let latency = merge.into_sample(&whole, &of_sums).latency_ns;
        assert_eq!((latency.response.count, latency.service.count), (2, 2));
        assert_eq!((latency.response.max, latency.service.max), (Some(9), Some(8)));
        seen.push((meter.spares.count(), of_sums.count()));
    }
    // Ten and the punctual ones, a kind, an error's, and two of the member.
    assert_eq!(seen, [(15, 14); 4]);
}

#[test]
fn the_shares_of_users_come_back_empty_and_are_used_again() {
    let mut meter = meter().with_users(2);
    let of_sums = Spares::default();
    let mut spare = Vec::new();
    for second in 1..=4 {
        meter.of_user(1, Nanos(9), Nanos(second));
        let interval = meter.cut(Nanos::from_millis(1_000 * second));
        let mut merge = Merge::default();
        merge.add(0, interval);
        let (tally, part) = (meter.tally, Part::default());
        let whole = Whole { tag: "t", tally, members: Vec::new(), shards: 1, part };
        let mut share = Share::default();
        share.add_event(Nanos(second));
        assert_eq!(merge.into_sample(&whole, &of_sums).per_user, [NumberedShare(1, share)]);
        spare.push(meter.spares.shares_count());
    }
    // None is lost, and none is new after the first.
    assert_eq!(spare, [1; 4]);
}
