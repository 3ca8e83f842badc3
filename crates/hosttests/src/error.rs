//! Errors of a host test: a refused plan, and what ends a test early.

use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// A plan that cannot be run; one line that names the key.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct PlanError {
    text: String,
}

impl PlanError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// `key` must be within `allowed`.
    pub(crate) fn unless(fits: bool, key: &str, allowed: &str) -> Result<(), Self> {
        if fits { Ok(()) } else { Err(Self::new(format!("{key}: {allowed}"))) }
    }
}

/// Why a test ended early; one line each.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file of the test cannot be used.
    #[error("cannot {doing} {}: {}", path.display(), words(error))]
    File {
        /// `read`, `write` and the like.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file exists but is too short.
    #[error(
        "{} has {length} bytes and {expected} are needed: was it prepared with other sizes?",
        path.display()
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        length: u64,
        /// The required size in bytes.
        expected: u64,
    },
    /// The system refuses memory, threads or a kind of I/O.
    #[error("cannot {doing}: {}", words(error))]
    System {
        /// What was tried.
        doing: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The data read is not the data written.
    #[error("{} is damaged: the block at {}", path.display(), damage_words(damage))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        damage: Damage,
    },
    /// A bug in Loadstone.
    #[error("a thread of the test panicked; this is a bug of Loadstone")]
    Bug,
}

/// A block of a file whose content is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file's number.
    pub file: usize,
    /// The offset where the block starts.
    pub offset: u64,
    /// What is wrong.
    #[serde(flatten)]
    pub what: Broken,
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Broken {
    /// The checksum is wrong.
    Sum {
        /// The checksum of the data.
        calculated: u32,
        /// The checksum stored after the data.
        stored: u32,
    },
    /// The block is in the wrong place.
    Place {
        /// The offset stored in the block.
        stored: u64,
    },
}

impl HostError {
    pub(crate) fn damage(&self) -> Option<Damage> {
        match self {
            Self::Damaged { damage, .. } => Some(*damage),
            _ => None,
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { doing, error }
    }
}

fn damage_words(damage: &Damage) -> String {
    let offset = damage.offset;
    match damage.what {
        Broken::Sum { calculated, stored } => {
            format!("{offset} has the checksum {calculated:#x}, and {stored:#x} was stored with it")
        }
        Broken::Place { stored } => format!("{offset} is one that was written at {stored}"),
    }
}

/// The system's message without Rust's "(os error N)".
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
