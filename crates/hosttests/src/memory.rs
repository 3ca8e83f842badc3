//! The memory test: blocks that are read or written word by word.

use crate::error::{HostError, PlanError};
use crate::meter::Meter;
use crate::pages::Pages;
use crate::record::Done;
use crate::work::{Next, Test, Work};
use loadstone_measure::Nanos;
use loadstone_workload::random::{Purpose, Random};
use serde::Deserialize;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const WORD: u64 = size_of::<u64>() as u64;
/// More than the memory of any machine.
const LONGEST_BLOCK: u64 = 1 << 40;

/// Options of the test.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryPlan {
    /// The size of a block in bytes: an event is one block.
    pub block_size: u64,
    /// The size of all blocks together, in bytes; then the test is over.
    pub total_size: u64,
    /// Which threads share a block.
    pub scope: Scope,
    /// Whether it comes from the pool of huge pages.
    pub hugetlb: bool,
    /// What is done to each word.
    pub operation: Operation,
    /// The order of the words.
    pub access: Access,
}

/// Which threads share a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All threads share one.
    Global,
    /// Each thread has its own.
    Local,
}

/// The operation on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Load.
    Read,
    /// Store.
    Write,
    /// None: measures the overhead of the test itself.
    None,
}

/// The order in which words are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Sequential.
    Seq,
    /// As many words as there are, each at a random place.
    Rnd,
}

impl MemoryPlan {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let block = self.block_size;
        PlanError::unless(
            (WORD..=LONGEST_BLOCK).contains(&block) && block.is_multiple_of(WORD),
            "block_size",
            "8 to 2^40, in steps of 8",
        )?;
        PlanError::unless(self.total_size >= block, "total_size", "at least one block")
    }

    /// The number of blocks, after which the test is over.
    pub(crate) fn blocks(&self) -> u64 {
        self.total_size / self.block_size
    }
}

/// The memory.
pub(crate) struct Memory {
    plan: MemoryPlan,
    seed: u64,
    common: Option<Arc<Pages>>,
}

impl Memory {
    pub(crate) fn new(plan: MemoryPlan, seed: u64) -> Result<Self, HostError> {
        let common = match plan.scope {
            Scope::Global => Some(block_of(&plan)?),
            Scope::Local => None,
        };
        Ok(Self { plan, seed, common })
    }
}

fn block_of(plan: &MemoryPlan) -> Result<Arc<Pages>, HostError> {
    let doing = match plan.hugetlb {
        true => "get the block from the pool of huge pages (vm.nr_hugepages)",
        false => "get the memory for the block",
    };
    let length = usize::try_from(plan.block_size).unwrap_or(usize::MAX);
    Pages::new(length, plan.hugetlb).map(Arc::new).map_err(HostError::system(doing))
}

impl Test for Memory {
    fn work(&self, thread: u32) -> Result<Box<dyn Work + '_>, HostError> {
        let block = match &self.common {
            Some(common) => common.clone(),
            None => block_of(&self.plan)?,
        };
        let random = Random::new(self.seed, Purpose::Keys, &[u64::from(thread)]);
        Ok(Box::new(Block { plan: self.plan, block, random }))
    }
}

struct Block {
    plan: MemoryPlan,
    block: Arc<Pages>,
    random: Random,
}

impl Work for Block {
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError> {
        let words = self.block.words();
        let mut done = Done::default();
        match (self.plan.operation, self.plan.access) {
            (Operation::Read, Access::Seq) => read(words.iter()),
            (Operation::Write, Access::Seq) => write(words.iter()),
            (Operation::Read, Access::Rnd) => read(anywhere(words, &mut self.random)),
            (Operation::Write, Access::Rnd) => write(anywhere(words, &mut self.random)),
            (Operation::None, _) => {
                black_box(words);
            }
        }
        match self.plan.operation {
            Operation::Read => (done.reads, done.bytes_read) = (1, self.plan.block_size),
            Operation::Write => (done.writes, done.bytes_written) = (1, self.plan.block_size),
            Operation::None => {}
        }
        meter.event(from, &done);
        Ok(Next::Event)
    }
}

fn read<'a>(words: impl Iterator<Item = &'a AtomicU64>) {
    // Each word is loaded, since the compiler does not merge atomic loads; only the sum is checked.
    let sum = words.fold(0_u64, |sum, word| sum.wrapping_add(word.load(Ordering::Relaxed)));
    black_box(sum);
}

fn write<'a>(words: impl Iterator<Item = &'a AtomicU64>) {
    for (value, word) in (0..).zip(words) {
        word.store(value, Ordering::Relaxed);
    }
}

fn anywhere<'a>(
    words: &'a [AtomicU64],
    random: &'a mut Random,
) -> impl Iterator<Item = &'a AtomicU64> {
    let length = words.len() as u64;
    words.iter().map(move |word| words.get(random.below(length) as usize).unwrap_or(word))
}
