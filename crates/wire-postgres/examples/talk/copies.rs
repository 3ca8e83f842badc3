//! COPY in and out, as text and in binary.

use crate::Found;
use crate::line::Line;
use crate::target::Target;
use loadstone_wire_postgres::Reply;
use loadstone_wire_postgres::copy::{binary, text};

const ROWS: i32 = 1000;
const TEXT: &[u8] = b"tab\t, line\n, return\r, backslash \\ and \\N";

pub(crate) fn run(target: &Target) -> Result<Found, String> {
    let mut line = Line::open(target)?;
    line.query("CREATE TEMPORARY TABLE c (id int, f float8, s text)")?;
    let as_text = copy_in(&mut line, "COPY c FROM STDIN", &mut text_rows())?;
    let intact = check(&mut line)?;
    line.query("TRUNCATE c")?;
    let as_binary = copy_in(&mut line, "COPY c FROM STDIN BINARY", &mut binary_rows())?;
    let intact_binary = check(&mut line)?;
    line.conversation.keep_rows(1 << 20);
    let out = line.query("COPY (SELECT id FROM c ORDER BY id) TO STDOUT")?;
    let first = line.conversation.take_rows().into_iter().next();
    let failures = failures(&mut line)?;
    line.close()?;
    Ok(vec![
        ("copied", as_text.to_string()),
        ("intact", intact),
        ("copied_binary", as_binary.to_string()),
        ("intact_binary", intact_binary),
        ("copied_out", format!("{} {}", out.rows, out.affected_rows)),
        ("first_out", format!("{first:?}")),
        ("failures", failures.join(" ")),
    ])
}

fn text_rows() -> Vec<Vec<u8>> {
    let row = |number: i32| {
        let mut out = format!("{number}\t{}\t", f64::from(number) / 4.0).into_bytes();
        text::put_value(&mut out, TEXT);
        out.push(text::END_OF_ROW);
        out
    };
    let mut null = [text::NULL, text::NULL, text::NULL].join(&text::BETWEEN);
    null.push(text::END_OF_ROW);
    (0..ROWS).map(row).chain([null]).collect()
}

fn binary_rows() -> Vec<Vec<u8>> {
    let row = |number: i32| {
        let mut out = Vec::new();
        binary::begin_row(&mut out, 3);
        binary::put_int4(&mut out, number);
        binary::put_float8(&mut out, f64::from(number) / 4.0);
        binary::put_bytes(&mut out, TEXT);
        out
    };
    let mut null = Vec::new();
    binary::begin_row(&mut null, 3);
    (0..3).for_each(|_| binary::put_null(&mut null));
    let start = std::iter::once(binary::HEADER.to_vec());
    start.chain((0..ROWS).map(row)).chain([null, binary::END.to_vec()]).collect()
}

/// The number of rows that the server took.
fn copy_in(line: &mut Line, sql: &str, pieces: &mut [Vec<u8>]) -> Result<u64, String> {
    begin(line, sql)?;
    let mut out = Vec::new();
    for piece in pieces {
        line.conversation.write_file_piece(&mut out, |out| out.append(piece));
    }
    line.conversation.write_file_end(&mut out);
    line.send(&out)?;
    Ok(line.done()?.affected_rows)
}

fn begin(line: &mut Line, sql: &str) -> Result<(), String> {
    line.conversation.allow_file(true);
    line.begin_query(sql)?;
    let asked = line.reply()?;
    line.conversation.allow_file(false);
    match asked {
        Reply::WantsFile { .. } => Ok(()),
        other => Err(format!("{sql}: {other:?}")),
    }
}

/// What has arrived of the rows.
fn check(line: &mut Line) -> Result<String, String> {
    line.conversation.keep_rows(1 << 20);
    line.query(
        "SELECT count(*), count(id), sum(id), sum(f), count(DISTINCT s), \
         bool_and(s = E'tab\\t, line\\n, return\\r, backslash \\\\ and \\\\N') FROM c",
    )?;
    let rows = line.conversation.take_rows();
    let values = rows.first().ok_or("no row")?.iter().flatten();
    let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value).into_owned()).collect();
    Ok(values.join(" "))
}

/// A copy that the server refuses, one that the client gives up, and that the connection goes on.
fn failures(line: &mut Line) -> Result<Vec<String>, String> {
    let mut states = Vec::new();
    let mut out = Vec::new();
    begin(line, "COPY c FROM STDIN")?;
    line.conversation.write_file_piece(&mut out, |out| out.extend_from_slice(b"x\ty\tz\n"));
    line.conversation.write_file_end(&mut out);
    line.send(&out)?;
    states.push(line.refused()?);
    out.clear();
    begin(line, "COPY c FROM STDIN")?;
    line.conversation.write_file_failure(&mut out, b"no more rows");
    line.send(&out)?;
    states.push(line.refused()?);
    line.query("SELECT 1")?;
    Ok(states)
}
