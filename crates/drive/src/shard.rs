//! One thread, one event loop, any number of virtual users.

use crate::coordinator::Message;
use crate::core::{Core, Stage};
use crate::member::Member;
use crate::open_loop::OpenLoop;
use crate::poller::{Interest, Ready};
use loadstone_measure::Nanos;

/// What one read takes from a socket. Shared by all users of the shard, so it may be generous.
const BUFFER: usize = 256 * 1024;

pub(crate) struct Shard {
    users: Vec<Member>,
    core: Core,
    /// Which of the step's shards, for its wake-up descriptor.
    index: usize,
    reported: bool,
    /// Whether the users know that no event begins any more.
    finishing: bool,
    /// From which on users wait for the first of all to be initialised.
    held_back: Option<usize>,
}

impl Shard {
    pub(crate) fn new(index: usize, users: Vec<Member>, core: Core) -> Self {
        Self { users, core, index, reported: false, finishing: false, held_back: None }
    }

    /// Runs to the step's end.
    pub(crate) fn run(mut self) -> std::io::Result<()> {
        let wake_token = self.users.len() as u64;
        let control = self.core.settings.control.clone();
        self.core.poller.add(control.wake_fd(self.index), wake_token, Interest::Read)?;
        let first = usize::from(self.users.first().is_some_and(Member::goes_first));
        self.held_back = Some(first);
        (0..first).for_each(|index| self.core.ramp.enqueue(index as u32));
        let mut buffer = vec![0; BUFFER];
        let mut ready: Vec<Ready> = Vec::new();
        let mut now = self.core.now();
        while self.core.stage != Stage::Over {
            self.let_others_begin();
            self.open_more();
            let deadline = self.core.deadline(now);
            self.core.poller.wait(self.core.settings.clock, now, deadline, &mut ready)?;
            self.core.woken = self.core.now();
            // Before answers that came while the process stood still make their users go on.
            if control.is_abandoned(self.core.woken) {
                self.change_stage(self.core.woken);
            }
            self.look_again(&mut ready);
            for event in &ready {
                match self.users.get_mut(event.token as u32 as usize) {
                    Some(user) => user.on_ready(&mut self.core, &mut buffer, *event),
                    None => control.clear_wake(self.index),
                }
            }
            now = self.core.now();
            self.ring_alarms(now);
            if let Some(first) = self.users.first_mut() {
                first.look_for_others(&mut self.core);
            }
            self.change_load();
            self.start_due();
            self.change_stage(now);
        }
        self.users.iter_mut().for_each(|user| user.close(&mut self.core));
        Ok(())
    }

    /// Users that had more to read than one turn allows.
    fn look_again(&mut self, ready: &mut Vec<Ready>) {
        let again = self.core.again.drain(..);
        ready.extend(again.map(|token| Ready { token, writable: false, ended: false }));
    }

    fn let_others_begin(&mut self) {
        if self.core.settings.control.is_initialised()
            && let Some(from) = self.held_back.take()
        {
            (from..self.users.len()).for_each(|index| self.core.ramp.enqueue(index as u32));
        }
    }

    fn open_more(&mut self) {
        let may_open = match self.core.stage {
            Stage::Connecting | Stage::Loading => true,
            Stage::Draining { .. } => self.users.first().is_some_and(Member::connects_late),
            Stage::Over => false,
        };
        if !may_open {
            return;
        }
        while let Some(index) = self.core.ramp.admit() {
            self.users[index as usize].open(&mut self.core);
        }
        // A script may be ready without a connection: then no socket will wake us.
        if self.core.stage == Stage::Connecting {
            self.wait_for_begin();
        }
    }

    fn ring_alarms(&mut self, now: Nanos) {
        while let Some((index, alarm)) = self.core.timers.pop(now) {
            // Each has its own time: what the sends before it took is lateness, and is to be seen.
            let at = self.core.now();
            self.users[index as usize].on_alarm(&mut self.core, alarm, at);
        }
    }

    /// Somebody may have changed rate or number of users: who rested may go on.
    fn change_load(&mut self) {
        let all = u32::try_from(self.users.len()).unwrap_or(u32::MAX);
        let again = self.core.obey();
        for index in again.start.min(all)..again.end.min(all) {
            self.users[index as usize].go_on_after_rest(&mut self.core);
        }
    }

    /// Events of the open loop that are due and have a free user.
    fn start_due(&mut self) {
        if self.core.open.is_none() {
            return;
        }
        let now = self.core.now();
        self.core.admit_due(now + Nanos(1));
        while let Some(open) = &mut self.core.open
            && open.has_waiting()
            && let Some(index) = open.take_free()
        {
            self.users[index as usize].called(&mut self.core);
        }
    }

    fn change_stage(&mut self, now: Nanos) {
        let control = &self.core.settings.control;
        let stop = control.stop_wanted() || control.is_abandoned(now);
        match self.core.stage {
            Stage::Connecting if stop => self.core.finish(),
            Stage::Connecting => self.wait_for_begin(),
            Stage::Loading if stop || self.is_exhausted() => self.core.drain(now),
            Stage::Loading | Stage::Draining { .. } | Stage::Over => {}
        }
        if stop {
            self.core.hurry(now);
        }
        if matches!(self.core.stage, Stage::Draining { .. })
            && !std::mem::replace(&mut self.finishing, true)
        {
            self.users.iter_mut().for_each(|user| user.finish(&mut self.core));
        }
        // Looked at last: no socket becomes ready for a drain that begins with nothing in flight.
        if let Stage::Draining { until } = self.core.stage
            && (self.core.busy == 0 || now >= until)
        {
            self.users.iter_mut().for_each(|user| user.give_up_waiting(&mut self.core));
            self.core.finish();
        }
    }

    fn wait_for_begin(&mut self) {
        if !self.reported && self.core.connected.all() == self.users.len() as u64 {
            self.reported = true;
            let mut connected = self.core.connected.clone();
            connected.connect_failures = self.core.meter.tell_connect_failures();
            self.core.send(Message::Connected(connected));
        }
        if let Some(at) = self.core.settings.control.begin_at() {
            self.core.begin_load(at);
            for user in &mut self.users {
                user.begin(&mut self.core, at);
            }
        }
    }

    /// The stop rule's last event is over, or no user has one any more.
    fn is_exhausted(&self) -> bool {
        if self.users.iter().all(Member::is_over) {
            return true;
        }
        let waits = |open: &OpenLoop| open.has_waiting();
        self.core.exhausted
            && self.core.busy == 0
            && !self.core.open.as_ref().is_some_and(waits)
            && !self.users.iter().any(Member::has_event)
    }
}
