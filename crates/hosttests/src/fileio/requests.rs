//! The sequence of requests, shared by all threads.

use super::layout::{Layout, Span};
use super::plan::{FilePlan, FileTestMode};
use std::sync::{Mutex, PoisonError};

/// The next request of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Read(Span),
    Write(Span),
    /// The file's number.
    Sync(usize),
}

/// Hands out requests. Threads take them from one sequence, so that sequential modes are
/// sequential, and a round of synchronising is shared by all threads.
pub(super) struct Requests {
    mode: FileTestMode,
    layout: Layout,
    files: usize,
    merged: u64,
    rw_ratio: f64,
    /// All files are synchronised after this many requests.
    sync_after: Option<u64>,
    turn: Mutex<Turn>,
}

#[derive(Default)]
struct Turn {
    /// Sequential modes: the next block.
    block: u64,
    reads: u64,
    writes: u64,
    /// The file that is to be synchronised next, during a round.
    sync: Option<usize>,
}

impl Requests {
    pub(super) fn new(plan: &FilePlan, mode: FileTestMode) -> Self {
        let syncs = mode.writes() && !plan.fsync_all && plan.fsync_freq > 0;
        Self {
            mode,
            layout: plan.layout(),
            files: plan.num as usize,
            merged: plan.merged_requests.max(1),
            rw_ratio: plan.rw_ratio,
            sync_after: syncs.then_some(plan.fsync_freq),
            turn: Mutex::default(),
        }
    }

    /// The next request; `anywhere` draws a block.
    pub(super) fn next(&self, anywhere: impl FnOnce() -> u64) -> Request {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = turn.sync {
            turn.sync = Some(file + 1).filter(|&next| next < self.files);
            return Request::Sync(file);
        }
        let span = match self.mode.is_random() {
            true => self.layout.span(anywhere(), 1),
            false => self.following(&mut turn),
        };
        let reads = self.is_read(&turn);
        let request = if reads { Request::Read(span) } else { Request::Write(span) };
        *(if reads { &mut turn.reads } else { &mut turn.writes }) += 1;
        if self.sync_after.is_some_and(|after| (turn.reads + turn.writes).is_multiple_of(after)) {
            turn.sync = Some(0);
        }
        request
    }

    /// After the last block comes the first again.
    fn following(&self, turn: &mut Turn) -> Span {
        let span = self.layout.span(turn.block, self.merged);
        turn.block += span.length as u64 / self.layout.block_size;
        turn.block %= self.layout.blocks();
        span
    }

    fn is_read(&self, turn: &Turn) -> bool {
        match self.mode {
            FileTestMode::SeqRd | FileTestMode::RndRd => true,
            FileTestMode::RndRw => {
                // The first request reads, unless there are no reads.
                self.rw_ratio > 0.0 && turn.reads as f64 <= turn.writes as f64 * self.rw_ratio
            }
            FileTestMode::SeqWr | FileTestMode::SeqRewr | FileTestMode::RndWr => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(mode: &str, changes: &str) -> Requests {
        let text = format!(
            r#"{{"folder": ".", "num": 2, "block_size": 100, "total_size": 600, "mode": "{mode}",
            "io_mode": "sync", "async_backlog": 1, "extra_flags": [], "fsync_end": true,
            "fsync_mode": "fsync", "distribution": {{"kind": "uniform"}},
            {changes}}}"#
        );
        let mut plan: serde_json::Value = serde_json::from_str(&text).expect("a document");
        plan.as_object_mut().expect("an object").entry("rw_ratio").or_insert(1.5.into());
        let plan: FilePlan = serde_json::from_value(plan).expect("a plan");
        plan.check().expect("one that can be");
        Requests::new(&plan, plan.mode.expect("a mode"))
    }

    fn span(file: usize, offset: u64, length: usize) -> Span {
        Span { file, offset, length }
    }

    fn first(requests: &Requests, count: usize) -> Vec<Request> {
        (0..count).map(|_| requests.next(|| 4)).collect()
    }

    #[test]
    fn sequential_requests_go_from_file_to_file_and_begin_anew() {
        let one = r#""fsync_freq": 0, "fsync_all": false, "merged_requests": 0"#;
        let read = first(&requests("seqrd", one), 7);
        let expected = [(0, 0), (0, 100), (0, 200), (1, 0), (1, 100), (1, 200), (0, 0)];
        assert_eq!(read, expected.map(|(file, at)| Request::Read(span(file, at, 100))));
        let two = r#""fsync_freq": 0, "fsync_all": false, "merged_requests": 2"#;
        let written = first(&requests("seqrewr", two), 3);
        let expected = [span(0, 0, 200), span(0, 200, 100), span(1, 0, 200)];
        assert_eq!(written, expected.map(Request::Write));
    }

    #[test]
    fn after_so_many_requests_all_files_are_synchronised() {
        let often = r#""fsync_freq": 2, "fsync_all": false, "merged_requests": 0"#;
        let write = Request::Write(span(1, 100, 100));
        let round = [write, write, Request::Sync(0), Request::Sync(1), write];
        assert_eq!(first(&requests("rndwr", often), 5), round);
        let read = Request::Read(span(1, 100, 100));
        assert_eq!(first(&requests("rndrd", often), 5), [read; 5]);
        let all = r#""fsync_freq": 2, "fsync_all": true, "merged_requests": 0"#;
        assert_eq!(first(&requests("rndwr", all), 5), [write; 5]);
    }

    #[test]
    fn reads_and_writes_come_in_the_ratio_that_was_asked_for() {
        let never = r#""fsync_freq": 0, "fsync_all": false, "merged_requests": 0"#;
        let mixed = first(&requests("rndrw", never), 1000);
        let reads = mixed.iter().filter(|request| matches!(request, Request::Read(_))).count();
        assert!(reads.abs_diff(600) <= 1, "{reads}");
        let only_writes = r#""fsync_freq": 0, "fsync_all": false, "merged_requests": 0,
            "rw_ratio": 0"#;
        let request = Request::Write(span(1, 100, 100));
        assert_eq!(first(&requests("rndrw", only_writes), 3), [request; 3]);
    }
}
