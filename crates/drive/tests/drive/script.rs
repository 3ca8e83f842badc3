//! A script written for sysbench, that drives a step.

use std::fs;
use std::path::PathBuf;

/// In a file that is removed at the end of the test.
pub(crate) struct Script(PathBuf);

impl Script {
    pub(crate) fn new(test: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{test}-{}.lua", std::process::id()));
        fs::write(&path, text).expect("a file");
        Self(path)
    }

    /// The part of a plan for it. Its events restart after any error.
    pub(crate) fn driver(&self) -> String {
        let path = self.0.display();
        format!(r#""script": {{"path": "{path}", "ignore_errors": null}}"#)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        fs::remove_file(&self.0).expect("it is there");
    }
}
