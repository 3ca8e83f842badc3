//! The users of a shard that want a connection, and how many may open one at once over all shards:
//! servers fail under a storm of connection attempts.

use super::control::Control;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct ConnectQueue {
    control: Arc<Control>,
    /// The shard's index in the step.
    shard: usize,
    under_way: usize,
    /// It was refused an attempt, and may be woken for one.
    is_refused: bool,
    waiting: VecDeque<u32>,
    /// Users that let all others go first.
    behind: VecDeque<u32>,
}

impl ConnectQueue {
    pub(crate) fn new(control: Arc<Control>, shard: usize) -> Self {
        let (waiting, behind) = (VecDeque::new(), VecDeque::new());
        Self { control, shard, under_way: 0, is_refused: false, waiting, behind }
    }

    /// This user wants a connection.
    pub(crate) fn enqueue(&mut self, user: u32) {
        self.waiting.push_back(user);
    }

    /// This user wants a connection before all others: it has tried already.
    pub(crate) fn enqueue_first(&mut self, user: u32) {
        self.waiting.push_front(user);
    }

    /// This user wants a connection after all others: nobody waits for it.
    pub(crate) fn enqueue_behind(&mut self, user: u32) {
        self.behind.push_back(user);
    }

    /// The next user whose turn it is. Its attempt is under way until `finished` is called.
    pub(crate) fn admit(&mut self) -> Option<u32> {
        if self.waiting.is_empty() && self.behind.is_empty() {
            self.forgo();
            return None;
        }
        if !self.control.take_connect(self.shard) {
            self.is_refused = true;
            return None;
        }
        self.under_way += 1;
        self.waiting.pop_front().or_else(|| self.behind.pop_front())
    }

    /// Nobody here connects for now: a shard that waits for an attempt may have it.
    pub(crate) fn forgo(&mut self) {
        if std::mem::take(&mut self.is_refused) {
            self.control.forgo_connect(self.shard);
        }
    }

    /// An attempt has ended, successfully or not.
    pub(crate) fn finished(&mut self) {
        debug_assert!(self.under_way > 0, "an attempt ended that was not admitted");
        if self.under_way > 0 {
            self.under_way -= 1;
            self.control.give_connect(self.shard);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn queues(shards: u32, at_once: u32) -> (Arc<Control>, Vec<ConnectQueue>) {
        let control = Arc::new(Control::new(shards, None, at_once).expect("descriptors"));
        let queues =
            (0..shards as usize).map(|shard| ConnectQueue::new(control.clone(), shard)).collect();
        (control, queues)
    }

    fn is_woken(control: &Control, shard: usize) -> bool {
        let fd = control.wake_fd(shard);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&at_once)) == Ok(1)
    }

    #[test]
    fn no_more_than_so_many_attempts_are_under_way() {
        let (_, mut queues) = queues(1, 2);
        let queue = &mut queues[0];
        (0..5).for_each(|user| queue.enqueue(user));
        assert_eq!([queue.admit(), queue.admit(), queue.admit()], [Some(0), Some(1), None]);
        queue.finished();
        assert_eq!([queue.admit(), queue.admit()], [Some(2), None]);
    }

    #[test]
    fn the_limit_is_one_for_all_shards_and_who_waits_for_it_is_woken() {
        let (control, mut queues) = queues(3, 1);
        queues.iter_mut().for_each(|queue| queue.enqueue(7));
        assert_eq!(queues[0].admit(), Some(7));
        assert_eq!(queues[2].admit(), None);
        assert!(!is_woken(&control, 2));
        queues[0].finished();
        assert!(is_woken(&control, 2));
        assert_eq!(queues[2].admit(), Some(7));
        assert_eq!(queues[1].admit(), None);
    }

    #[test]
    fn each_finished_attempt_wakes_one_shard_in_turn() {
        for shards in [3, 64, 130] {
            let (control, mut queues) = queues(shards, 2);
            queues.iter_mut().for_each(|queue| queue.enqueue(7));
            let admitted = queues.iter_mut().filter_map(ConnectQueue::admit).count();
            assert_eq!(admitted, 2);
            let woken = || (0..shards as usize).filter(|shard| is_woken(&control, *shard));
            queues[1].finished();
            assert_eq!(woken().collect::<Vec<_>>(), [2]);
            queues[0].finished();
            let next = if shards == 3 { vec![2] } else { vec![2, 3] };
            assert_eq!(woken().collect::<Vec<_>>(), next);
        }
    }

    #[test]
    fn a_shard_that_is_woken_in_vain_wakes_another() {
        let (control, mut queues) = queues(70, 1);
        assert_eq!(
            [0, 66, 1].map(|shard| {
                queues[shard].enqueue(7);
                queues[shard].admit()
            }),
            [Some(7), None, None]
        );
        queues[0].finished();
        assert_eq!([1, 66].map(|shard| is_woken(&control, shard)), [true, false]);
        queues[1].forgo();
        assert!(is_woken(&control, 66));
        assert_eq!(queues[66].admit(), Some(7));
    }

    #[test]
    fn who_has_tried_before_comes_first() {
        let (_, mut queues) = queues(1, 9);
        queues[0].enqueue(1);
        queues[0].enqueue_first(2);
        assert_eq!([queues[0].admit(), queues[0].admit()], [Some(2), Some(1)]);
    }

    #[test]
    fn whoever_nobody_waits_for_comes_last() {
        let (_, mut queues) = queues(1, 9);
        queues[0].enqueue_behind(1);
        queues[0].enqueue(2);
        queues[0].enqueue(3);
        assert_eq!([(); 4].map(|()| queues[0].admit()), [Some(2), Some(3), Some(1), None]);
    }
}
