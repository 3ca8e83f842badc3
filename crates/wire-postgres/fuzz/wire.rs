//! One program for all targets; the variable `LOADSTONE_FUZZ_TARGET` selects one.
#![no_main]

#[path = "../tests/fuzzed/mod.rs"]
mod fuzzed;

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static TARGET: OnceLock<fuzzed::Target> = OnceLock::new();

fn chosen() -> fuzzed::Target {
    let wanted = std::env::var("LOADSTONE_FUZZ_TARGET").unwrap_or_default();
    let known = fuzzed::TARGETS.iter().find(|(name, _)| *name == wanted);
    known.unwrap_or_else(|| panic!("LOADSTONE_FUZZ_TARGET is {wanted:?}, which is no target")).1
}

fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(chosen);
    target(data);
});
