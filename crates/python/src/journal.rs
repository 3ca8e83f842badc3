//! Which lines of a run's journal have to be parsed: most of them are seconds that nobody asks for.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

/// How lines of what was observed in a second begin.
const OBSERVED: &[u8] = b"{\"kind\":\"observed\"";
/// How lines of the engine begin, up to their time; then come the step and the record.
const ENGINE: &[u8] = b"{\"kind\":\"engine\",\"at_s\":";
const STEP: &[u8] = b"\"step\":";
const SAMPLE: &[u8] = b"\"record\":{\"kind\":\"sample\"";

/// Small enough to stay in a core's cache.
const AT_ONCE: usize = 256 * 1024;

/// Lines of a journal, and where to read on.
#[derive(Default)]
pub(crate) struct Lines {
    /// Where each begins, and itself.
    pub(crate) lines: Vec<(u64, Vec<u8>)>,
    /// Where the first line begins that was not looked at.
    pub(crate) next: u64,
}

/// The lines that begin from `from` on, where one begins, and before `until`, without those of a
/// second. Ends behind `most` bytes of lines, and at a line that lacks its end.
pub(crate) fn other_lines(path: &str, from: u64, until: u64, most: usize) -> io::Result<Lines> {
    let mut file = BufReader::with_capacity(AT_ONCE, File::open(path)?);
    file.seek(SeekFrom::Start(from))?;
    let mut found = Lines { next: from, ..Lines::default() };
    let (mut held, mut line) = (0, Vec::new());
    while found.next < until && held < most {
        let at = found.next;
        if let Some(length) = passed_over(file.fill_buf()?) {
            file.consume(length);
            found.next += length as u64;
            continue;
        }
        line.clear();
        let length = file.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            break;
        }
        found.next += length as u64;
        if !is_of_a_second(&line) {
            held += length;
            found.lines.push((at, std::mem::take(&mut line)));
        }
    }
    Ok(found)
}

/// The length of the whole line with which the bytes begin, if it is of a second.
fn passed_over(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let length = rest.skip_until(b'\n').ok()?;
    let line = bytes.get(..length)?;
    (line.ends_with(b"\n") && is_of_a_second(line)).then_some(length)
}

fn is_of_a_second(line: &[u8]) -> bool {
    let after = |words: &mut &[u8], wanted: &[u8]| {
        words.strip_prefix(wanted).map(|rest| *words = rest).is_some()
    };
    let after_value = |words: &mut &[u8]| words.skip_until(b',').is_ok();
    let mut words = line;
    line.starts_with(OBSERVED)
        || (after(&mut words, ENGINE)
            && after_value(&mut words)
            && after(&mut words, STEP)
            && after_value(&mut words)
            && words.starts_with(SAMPLE))
}
