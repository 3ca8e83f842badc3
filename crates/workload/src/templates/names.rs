//! Names from a file, kept for the lifetime of the process: names of transactions are reported with
//! every interval's latencies, where all other names are constants of the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static KEPT: Mutex<BTreeMap<&'static str, &'static [&'static str; 1]>> =
    Mutex::new(BTreeMap::new());

/// A list of the text alone, kept. Each is kept once, so memory is bounded by what files contain,
/// not by how often they are run.
pub(crate) fn kept(text: &str) -> &'static [&'static str; 1] {
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    let list: &'static [&'static str; 1] = Box::leak(Box::new([text]));
    all.insert(text, list);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once() {
        let first = kept("a name of this test");
        assert_eq!(first, &["a name of this test"]);
        assert!(std::ptr::eq(first, kept(&String::from("a name of this test"))));
    }
}
