//! The event loop of a shard: one thread, any number of virtual users.

use super::any_user::AnyUser;
use crate::connection::{BYTES_A_TURN, Interest, Ready};
use crate::shard::{Message, OpenLoop, ShardContext, Stage};
use loadstone_measure::Nanos;

/// After so many turns the loop looks whether an event of the open loop is due: some tenths of a
/// millisecond's work. One look takes less than a hundredth of that.
const TURNS_BETWEEN_LOOKS: usize = 32;

/// After a turn that took at least this long the loop asks what has arrived in it before it waits.
/// That costs a call, less than a hundredth of it. What arrived in a shorter turn counts as if it
/// came at its end.
const LONG_TURN: Nanos = Nanos(50_000);

/// So many turns ahead a user is brought into the caches. Where a server has the same cores, its sessions push the users
/// out between two answers, and a turn that finds nothing of its user waits for one piece of it after the other: with
/// 64 users of a PostgreSQL on the same machine some hundredths of the loop's CPU.
const PREFETCHED_AHEAD: usize = 2;

/// Runs the users of one shard.
pub(crate) struct EventLoop {
    users: Vec<AnyUser>,
    shard: ShardContext,
    /// The shard's index in the step, for its wake-up descriptor.
    index: usize,
    reported: bool,
    /// Whether the users know that no more events start.
    finishing: bool,
    /// From this index on, users wait until the very first user is initialised.
    held_back: Option<usize>,
}

impl EventLoop {
    pub(crate) fn new(index: usize, users: Vec<AnyUser>, shard: ShardContext) -> Self {
        Self { users, shard, index, reported: false, finishing: false, held_back: None }
    }

    /// Runs to the step's end.
    pub(crate) fn run(mut self) -> std::io::Result<()> {
        let wake_token = self.users.len() as u64;
        let control = self.shard.settings.control.clone();
        self.shard.poller.add(control.wake_fd(self.index), wake_token, Interest::Read)?;
        let first = usize::from(self.users.first().is_some_and(AnyUser::goes_first));
        self.held_back = Some(first);
        (0..first).for_each(|index| self.shard.connect_queue.enqueue(index as u32));
        // All users of the shard share it, so it takes a whole turn.
        let mut buffer = vec![0; BYTES_A_TURN];
        let mut ready: Vec<Ready> = Vec::new();
        let mut now = self.shard.now();
        while self.shard.stage != Stage::Over {
            self.let_others_begin();
            self.open_more();
            self.wait(now, &mut ready)?;
            // Checked before answers that arrived while the process was suspended make their users
            // continue.
            if control.is_abandoned(self.shard.woken) {
                self.change_stage(self.shard.woken);
            }
            self.look_again(&mut ready);
            self.take_turns(&ready, &mut buffer);
            self.ring_alarms();
            self.go_on_after_programs();
            if let Some(first) = self.users.first_mut() {
                first.look_for_others(&mut self.shard);
            }
            self.change_load();
            self.start_due();
            now = self.shard.now();
            self.change_stage(now);
        }
        // Before the step is known to be over: then the process may end.
        self.shard.programs = None;
        self.users.iter_mut().for_each(|user| user.close(&mut self.shard));
        self.shard.connect_queue.forgo();
        Ok(())
    }

    /// Waits until something is ready, and notes since when it may have been. What arrives while
    /// the loop is at work is reported by the next wait only; if that finds something at once, it
    /// may have waited for the whole turn.
    fn wait(&mut self, now: Nanos, ready: &mut Vec<Ready>) -> std::io::Result<()> {
        let (clock, deadline) = (self.shard.settings.clock, self.shard.deadline(now));
        let (woken_before, was_full) = (self.shard.woken, self.shard.poller.was_full());
        let looks_first = now - woken_before >= LONG_TURN;
        if looks_first {
            self.shard.poller.wait(clock, now, now, ready)?;
        }
        let has_waited = looks_first && !ready.is_empty();
        if !has_waited {
            self.shard.poller.wait(clock, now, deadline, ready)?;
        }
        self.shard.woken = self.shard.now();
        self.shard.arrived_after = match (has_waited, was_full) {
            (false, _) => self.shard.woken,
            (true, false) => woken_before,
            // It may even be older: the last wait had no room for it.
            (true, true) => self.shard.arrived_after,
        };
        Ok(())
    }

    /// Users that had more to read than one turn allows.
    fn look_again(&mut self, ready: &mut Vec<Ready>) {
        let again = self.shard.again.drain(..);
        ready.extend(again.map(|token| Ready {
            token,
            writable: false,
            ended: false,
            is_rest: true,
        }));
    }

    /// The users whose sockets are ready have their turns. Events of the open loop that become due
    /// in the meantime do not wait until the last one has had its turn.
    fn take_turns(&mut self, ready: &[Ready], buffer: &mut [u8]) {
        for (number, turns) in ready.chunks(TURNS_BETWEEN_LOOKS).enumerate() {
            if number > 0 {
                self.start_due();
            }
            self.prefetch_first(turns);
            for (place, event) in turns.iter().enumerate() {
                self.prefetch_behind(&turns[place..]);
                self.take_turn(*event, buffer);
            }
        }
    }

    fn take_turn(&mut self, event: Ready, buffer: &mut [u8]) {
        if self.shard.farewells.takes(event) {
            return;
        }
        match self.users.get_mut(place_of(event)) {
            Some(user) => user.on_ready(&mut self.shard, buffer, event),
            None => self.shard.settings.control.clear_wake(self.index),
        }
    }

    /// The first turns have none before them: what they need is at least asked for all at once.
    fn prefetch_first(&self, turns: &[Ready]) {
        let mut users =
            turns.iter().take(PREFETCHED_AHEAD).filter_map(|event| self.user_of(*event));
        if let Some(first) = users.next() {
            first.prefetch();
            first.prefetch_rest();
        }
        users.for_each(AnyUser::prefetch);
    }

    /// Asks for what the turns behind the first of these need.
    fn prefetch_behind(&self, turns: &[Ready]) {
        let user_at = |place: usize| turns.get(place).and_then(|event| self.user_of(*event));
        if let Some(user) = user_at(PREFETCHED_AHEAD) {
            user.prefetch();
        }
        if let Some(next) = user_at(1) {
            next.prefetch_rest();
        }
    }

    fn user_of(&self, event: Ready) -> Option<&AnyUser> {
        self.users.get(place_of(event))
    }

    fn let_others_begin(&mut self) {
        if self.shard.settings.control.is_initialised()
            && let Some(from) = self.held_back.take()
        {
            (from..self.users.len())
                .for_each(|index| self.shard.connect_queue.enqueue(index as u32));
        }
    }

    fn open_more(&mut self) {
        let may_open = match self.shard.stage {
            Stage::Connecting | Stage::Loading => true,
            Stage::Draining { .. } => self.users.first().is_some_and(AnyUser::connects_late),
            Stage::Over => false,
        };
        if !may_open {
            return self.shard.connect_queue.forgo();
        }
        while let Some(index) = self.shard.connect_queue.admit() {
            self.users[index as usize].open(&mut self.shard);
        }
        // A script may be ready without a connection: then no socket will wake us.
        if self.shard.stage == Stage::Connecting {
            self.wait_for_begin();
        }
    }

    fn ring_alarms(&mut self) {
        let now = self.shard.now();
        while let Some((index, alarm)) = self.shard.timers.pop(now) {
            // Each has its own time: what the sends before it took is lateness and must show as
            // such.
            let at = self.shard.now();
            self.users[index as usize].on_alarm(&mut self.shard, alarm, at);
        }
    }

    /// Users whose programs have ended continue.
    fn go_on_after_programs(&mut self) {
        while let Some(programs) = &mut self.shard.programs
            && let Some(ended) = programs.next_ended()
        {
            self.users[ended.user as usize].on_program_end(&mut self.shard, ended);
        }
    }

    /// Applies a changed rate or number of users: resting users may continue.
    fn change_load(&mut self) {
        let all = u32::try_from(self.users.len()).unwrap_or(u32::MAX);
        let again = self.shard.apply_changes();
        for index in again.start.min(all)..again.end.min(all) {
            self.users[index as usize].go_on_after_rest(&mut self.shard);
        }
    }

    /// Starts events of the open loop that are due and have a free user.
    fn start_due(&mut self) {
        if self.shard.open.is_none() {
            return;
        }
        let now = self.shard.now();
        self.shard.admit_due(now + Nanos(1));
        while let Some(open) = &mut self.shard.open
            && open.has_waiting()
            && let Some(index) = open.take_free()
        {
            self.users[index as usize].dispatch(&mut self.shard);
        }
    }

    fn change_stage(&mut self, now: Nanos) {
        let control = &self.shard.settings.control;
        let stop = control.stop_wanted() || control.is_abandoned(now);
        match self.shard.stage {
            Stage::Connecting if stop => self.shard.finish(),
            Stage::Connecting => self.wait_for_begin(),
            Stage::Loading if stop || self.is_exhausted() => self.shard.drain(now),
            Stage::Loading | Stage::Draining { .. } | Stage::Over => {}
        }
        if stop {
            self.shard.shorten_drain(now);
        }
        if matches!(self.shard.stage, Stage::Draining { .. })
            && !std::mem::replace(&mut self.finishing, true)
        {
            self.users.iter_mut().for_each(|user| user.finish(&mut self.shard));
        }
        // Checked last: no socket becomes ready for a drain that starts with nothing in flight.
        if let Stage::Draining { until } = self.shard.stage
            && (self.shard.busy == 0 || now >= until)
        {
            self.users.iter_mut().for_each(|user| user.give_up_waiting(&mut self.shard));
            self.shard.finish();
        }
    }

    fn wait_for_begin(&mut self) {
        if !self.reported && self.shard.connected.all() == self.users.len() as u64 {
            self.reported = true;
            let mut connected = self.shard.connected.clone();
            connected.connect_failures = self.shard.meter.tell_connect_failures();
            connected.before = self.shard.meter.counts.work.clone();
            self.shard.send(Message::Connected(connected));
        }
        if let Some(at) = self.shard.settings.control.begin_at() {
            self.shard.begin_load(at);
            for user in &mut self.users {
                user.begin(&mut self.shard, at);
            }
        }
    }

    /// The stop rule's last event is over, and no user has one any more.
    fn is_exhausted(&self) -> bool {
        if self.users.iter().all(AnyUser::is_over) {
            return true;
        }
        let waits = |open: &OpenLoop| open.has_waiting();
        self.shard.exhausted
            && self.shard.busy == 0
            && !self.shard.open.as_ref().is_some_and(waits)
            && !self.users.iter().any(AnyUser::has_event)
    }
}

/// Of the user that an event is for, among those of the shard.
fn place_of(event: Ready) -> usize {
    event.token as u32 as usize
}

#[cfg(test)]
mod tests {
    use super::super::assembly::event_loop;
    use super::*;
    use crate::plan::Plan;
    use crate::shard::Alarm;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    const CLOSED: &str = r#"{"kind": "closed"}"#;
    const OPEN: &str = r#"{"kind": "open", "rate": 1000, "gaps": "uniform"}"#;

    /// A loop under load whose users have no connections.
    fn loop_under_load(users: u32, arrival: &str) -> EventLoop {
        let text = format!(
            r#"{{"targets": [{{"host": "127.0.0.1", "port": 1, "user": "u", "password": "p",
                "database": null, "tls": {{"mode": "disabled"}}}}],
            "workload": {{"name": "oltp_point_select"}},
            "protocol": "text", "users": {users}, "arrival": {arrival},
            "stop": {{"kind": "time", "duration_s": 300}},
            "connect": {{"at_once": 1, "timeout_s": 1, "retries": 0, "backoff_s": 0}},
            "session": {{"init_sql": [], "isolation": null, "charset": null}},
            "on_error": "stop", "shards": 1, "seed": 3, "tag": "t"}}"#
        );
        let mut made = event_loop(&Plan::from_json(&text).expect("a plan"));
        let now = made.shard.now();
        made.shard.begin_load(now);
        made
    }

    fn readable(token: u64) -> Ready {
        Ready { token, writable: false, ended: false, is_rest: false }
    }

    #[test]
    fn events_that_become_due_within_a_long_batch_do_not_wait_for_its_end() {
        for (turns, looks) in [(TURNS_BETWEEN_LOOKS, false), (TURNS_BETWEEN_LOOKS + 1, true)] {
            let mut made = loop_under_load(1, OPEN);
            std::thread::sleep(Duration::from_millis(5));
            made.take_turns(&vec![readable(0); turns], &mut []);
            assert_eq!(made.shard.meter.tally.due > 0, looks, "after {turns} turns");
        }
    }

    #[test]
    fn what_arrives_while_the_loop_is_at_work_has_waited_since_then() {
        let turn = Nanos::from_millis(20);
        let mut made = loop_under_load(1, CLOSED);
        let (mut server, socket) = UnixStream::pair().expect("a pair of sockets");
        made.shard.poller.add(&socket, 0, Interest::Arrival).expect("added");
        for is_there in [true, false] {
            made.shard.woken = made.shard.now();
            std::thread::sleep(Duration::from_nanos(turn.0));
            if is_there {
                server.write_all(b"an answer").expect("room");
            }
            let (now, mut ready) = (made.shard.now(), Vec::new());
            made.shard.timers.set(now + Nanos::from_millis(1), 0, Alarm::Due);
            made.wait(now, &mut ready).expect("waiting works");
            assert_eq!(ready.len(), usize::from(is_there));
            let waited = made.shard.woken - made.shard.arrived_after;
            assert_eq!(waited >= turn, is_there, "{waited:?}");
            assert!(is_there || waited == Nanos::ZERO, "nothing came before the loop waited");
        }
    }

    #[test]
    fn an_answer_cannot_have_waited_since_before_its_command_was_sent() {
        let mut made = loop_under_load(1, CLOSED);
        made.shard.arrived_after = Nanos(1_000);
        made.shard.count_queued(Nanos(400), Nanos(3_000));
        made.shard.count_queued(Nanos(2_990), Nanos(3_000));
        let held = made.shard.meter.cut(Nanos(1)).latencies.held;
        assert_eq!((held.min(), held.max()), (Some(Nanos(10)), Some(Nanos(2_000))));
    }

    #[test]
    #[should_panic(expected = "a user that is freed was busy")]
    fn a_user_that_was_not_busy_cannot_become_free() {
        loop_under_load(1, CLOSED).shard.user_is_free();
    }
}
