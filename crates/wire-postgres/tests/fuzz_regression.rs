//! A few seconds of the fuzzing that otherwise runs for hours (`tools/fuzz`): each input of the
//! corpora, which are captures of real servers and what was found with them, and mutations of
//! these.

mod fuzzed;

use fuzzed::{TARGETS, Target};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How many mutations of each corpus are tried at least.
const MUTATIONS: usize = 20_000;
/// Longer inputs hold nothing new.
const LONGEST: usize = 4096;
/// Numbers at which lengths and markers change their meaning.
const EDGES: [u8; 12] = [0, 1, 2, 3, 4, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfe, 0xff];

macro_rules! each_target {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            holds(stringify!($name));
        })*

        #[test]
        fn no_target_is_left_out() {
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

each_target! {
    postgres_login
    postgres_authentication
    postgres_queries
    postgres_executions
    postgres_prepared
    postgres_pipelines
    postgres_errors
}

fn holds(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "fuzz/corpus/{name} is empty");
    let mut bytes = 0;
    for input in &corpus {
        try_it(*target, input, "of the corpus");
        bytes += input.len();
    }
    let seed = asked("LOADSTONE_FUZZ_SEED", 1);
    let least = Duration::from_secs(asked("LOADSTONE_FUZZ_SECONDS", 0));
    let (began, mut random, mut round) = (Instant::now(), Random(seed), 0);
    while round < MUTATIONS || began.elapsed() < least {
        let input = mutated(&corpus, &mut random);
        try_it(*target, &input, &format!("{round} of seed {seed}"));
        bytes += input.len();
        round += 1;
    }
    tell(corpus.len() + round, bytes);
}

/// A number from the environment.
fn asked<N: FromStr<Err: std::fmt::Debug>>(name: &str, otherwise: N) -> N {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

/// Prints the totals: `make trust` adds these up; cargo shows them on request.
#[expect(clippy::print_stdout, reason = "what a test prints is its record")]
fn tell(inputs: usize, bytes: usize) {
    println!("{inputs} inputs tried, {bytes} bytes");
}

/// Reports a panic with the input that led to it.
fn try_it(target: Target, input: &[u8], which: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or_default();
        panic!("input {which}: {said}\n{input:02x?}");
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(6) {
            0 => input.insert(at, random.next() as u8),
            1 => input.insert(at, EDGES[random.below(EDGES.len())]),
            2 if at < input.len() => drop(input.remove(at)),
            3 if at < input.len() => input[at] = EDGES[random.below(EDGES.len())],
            4 if at < input.len() => input[at] ^= 1 << random.below(8),
            _ => splice(&mut input, at, &corpus[random.below(corpus.len())], random),
        }
    }
    input.truncate(LONGEST);
    input
}

/// Inserts a part of another input.
fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], random: &mut Random) {
    let from = random.below(other.len() + 1);
    let to = from + random.below(other.len() - from + 1);
    input.splice(at..at, other[from..to].iter().copied());
}

/// Marsaglia's xorshift, so that a seed determines the inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
