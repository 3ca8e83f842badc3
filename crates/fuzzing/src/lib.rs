//! A few seconds of the fuzzing that otherwise runs for hours (`tools/fuzz`): each input of the
//! corpora, which are captures of real servers and what was found with them, and mutations of
//! these. For the tests of the crates that read bytes of servers.

mod mutation;

use mutation::{Random, mutated};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// What an input is given to: a panic is a fault.
pub type Target = fn(&[u8]);

/// How many mutations of each corpus are tried at least.
const MUTATIONS: usize = 20_000;

/// A test for each of these targets of `TARGETS`, and one that none is left out.
#[macro_export]
macro_rules! each_target {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let (_, target) =
                TARGETS.iter().find(|(known, _)| *known == stringify!($name)).expect("a target");
            let corpora = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
            $crate::holds(*target, &corpora.join(stringify!($name)));
        })*

        #[test]
        fn no_target_is_left_out() {
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

/// Gives the target each input of a folder, and mutations of these.
///
/// # Panics
/// The target has panicked: says at which input. Or there is no input.
pub fn holds(target: Target, corpus: &Path) {
    let inputs = inputs(corpus);
    assert!(!inputs.is_empty(), "{} is empty", corpus.display());
    let mut bytes = 0;
    for input in &inputs {
        try_it(target, input, "of the corpus");
        bytes += input.len();
    }
    let seed = asked("LOADSTONE_FUZZ_SEED", 1);
    let least = Duration::from_secs(asked("LOADSTONE_FUZZ_SECONDS", 0));
    let (began, mut random, mut round) = (Instant::now(), Random(seed), 0);
    while round < MUTATIONS || began.elapsed() < least {
        let input = mutated(&inputs, &mut random);
        try_it(target, &input, &format!("{round} of seed {seed}"));
        bytes += input.len();
        round += 1;
    }
    tell(inputs.len() + round, bytes);
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

fn inputs(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file")).collect()
}
