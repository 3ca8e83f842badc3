//! Chooses a compression that both sides support.

use super::greeting::Greeting;
use super::options::CompressionWish;
use crate::{Compression, WireError};

/// The most preferred kind that the server supports. Only that one goes into the login packet:
/// given two of them, the server would choose.
pub(super) fn agreed(wish: &CompressionWish, greeting: &Greeting) -> Option<Compression> {
    wish.any_of.iter().copied().find(|&by| greeting.capabilities.contains(by.capability()))
}

/// Refuses a server that supports none of the required kinds.
pub(super) fn check(wish: &CompressionWish, greeting: &Greeting) -> Result<(), WireError> {
    if !wish.must || wish.any_of.is_empty() || agreed(wish, greeting).is_some() {
        return Ok(());
    }
    let offered =
        Compression::ALL.into_iter().filter(|by| greeting.capabilities.contains(by.capability()));
    Err(WireError::CompressionNotOffered {
        wanted: names(wish.any_of.iter().copied(), " or ").unwrap_or_default(),
        offered: names(offered, " and ").unwrap_or_else(|| "none".to_owned()),
    })
}

fn names(kinds: impl Iterator<Item = Compression>, between: &str) -> Option<String> {
    kinds.map(|by| by.name().to_owned()).reduce(|names, name| format!("{names}{between}{name}"))
}
