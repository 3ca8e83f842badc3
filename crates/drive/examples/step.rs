//! Runs a plan read from standard input and writes its records to standard output: the engine
//! without Python, for profilers.
#![expect(clippy::print_stdout, reason = "a program, not a part of the library")]

use loadstone_drive::{Drive, Next, Plan};
use std::io::Read;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let drive = Drive::start(Plan::from_json(&text)?)?;
    loop {
        match drive.next(Duration::from_secs(1)) {
            Next::Record(record) => println!("{}", serde_json::to_string(&record)?),
            Next::Timeout => {}
            Next::Closed => return Ok(()),
        }
    }
}
