//! Statements: as text, prepared, in pipelines, and those that fail.

use crate::Found;
use crate::line::Line;
use crate::target::Target;
use loadstone_wire_postgres::{Expect, Format, Param, Reply, Value, escape_text, oid, status};

pub(crate) fn run(target: &Target) -> Result<Found, String> {
    let mut line = Line::open(target)?;
    line.query("CREATE TEMPORARY TABLE t (id int PRIMARY KEY, f float8, s text)")?;
    let mut found = simple(&mut line)?;
    found.extend(literals(&mut line)?);
    found.extend(prepared(&mut line)?);
    found.extend(binary(&mut line)?);
    found.extend(pipelined(&mut line)?);
    found.extend(failing(&mut line)?);
    line.close()?;
    Ok(found)
}

fn simple(line: &mut Line) -> Result<Found, String> {
    let inserted =
        line.query("INSERT INTO t SELECT n, n / 2.0, 'row ' || n FROM generate_series(1, 5) n")?;
    let nothing = line.query("")?;
    line.conversation.keep_rows(1 << 20);
    let several = line
        .query("UPDATE t SET f = 0 WHERE id < 3; SELECT id, NULL FROM t ORDER BY id; SELECT 7")?;
    let rows = line.conversation.take_rows();
    let noticed = line.query("DO $$ BEGIN RAISE WARNING 'careful'; RAISE NOTICE 'well'; END $$")?;
    Ok(vec![
        ("inserted", inserted.affected_rows.to_string()),
        ("nothing", (nothing.rows + nothing.affected_rows).to_string()),
        ("updated", several.affected_rows.to_string()),
        ("selected", several.rows.to_string()),
        ("first_row", format!("{:?}", rows.first())),
        ("warnings", noticed.warnings.to_string()),
    ])
}

/// Whatever `standard_conforming_strings` is, a literal is its text.
fn literals(line: &mut Line) -> Result<Found, String> {
    let text = r"it's a \ and a \' and Ünïcödé 数据";
    let mut sql = b"SELECT".to_vec();
    escape_text(&mut sql, text.as_bytes());
    let sql = String::from_utf8(sql).map_err(|error| error.to_string())?;
    let mut same = Vec::new();
    for setting in ["on", "off"] {
        line.query(&format!("SET standard_conforming_strings = {setting}"))?;
        line.conversation.keep_rows(1 << 20);
        line.query(&sql)?;
        same.push(line.conversation.take_rows() == [vec![Some(text.as_bytes().to_vec())]]);
    }
    line.query("RESET standard_conforming_strings")?;
    Ok(vec![("literals", format!("{same:?}"))])
}

fn prepare(line: &mut Line, sql: &str, types: &[u32]) -> Result<u32, String> {
    let mut out = Vec::new();
    line.conversation.write_prepare_typed(&mut out, sql.as_bytes(), types);
    line.conversation.expect(Expect::Prepare);
    line.send(&out)?;
    match line.reply()? {
        Reply::Prepared(prepared) => Ok(prepared.statement_id),
        other => Err(format!("{sql}: {other:?}")),
    }
}

fn execute(line: &mut Line, id: u32, params: &[Param<'_>]) -> Result<(), String> {
    let mut out = Vec::new();
    line.conversation.write_execute(&mut out, id, params.iter().copied());
    line.conversation.expect(Expect::Execute);
    line.send(&out)
}

fn prepared(line: &mut Line) -> Result<Found, String> {
    let insert = prepare(line, "INSERT INTO t VALUES ($1, $2, $3)", &[])?;
    let select = prepare(line, "SELECT id, f, s FROM t WHERE id = $1", &[])?;
    let values = [Param::Int(-7), Param::Double(0.1), Param::Text(b"seven")];
    execute(line, insert, &values)?;
    let inserted = line.done()?;
    line.conversation.keep_results(1 << 20);
    execute(line, select, &[Param::Int(-7)])?;
    let selected = line.done()?;
    let text = format!("{:?}", line.conversation.results()[0].values());
    // Without their columns, rows are the same; that there are none looks like no result.
    line.conversation.describe_executions(false);
    execute(line, select, &[Param::Int(-7)])?;
    line.done()?;
    let undescribed = format!("{:?}", line.conversation.results()[0].values()) == text;
    line.conversation.describe_executions(true);
    let mut out = Vec::new();
    line.conversation.write_close_statement(&mut out, insert);
    line.send(&out)?;
    execute(line, insert, &values)?;
    let closed = line.refused()?;
    Ok(vec![
        ("prepared_inserted", inserted.affected_rows.to_string()),
        ("prepared_selected", selected.rows.to_string()),
        ("prepared_values", text),
        ("undescribed", undescribed.to_string()),
        ("closed", closed),
    ])
}

fn binary(line: &mut Line) -> Result<Found, String> {
    line.conversation.set_formats(Format::Binary, Format::Binary);
    let types = [oid::INT8, oid::FLOAT8];
    let sql =
        "SELECT id, f, s, NULL::int, id > 0, now() FROM t WHERE id = $1 AND f < $2 AND s = $3";
    let select = prepare(line, sql, &types)?;
    let params = [Param::Int(-7), Param::Double(0.5), Param::Text(b"seven")];
    execute(line, select, &params)?;
    line.done()?;
    let values = line.conversation.results()[0].values();
    let values: Vec<Value<'_>> =
        values.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let kinds = match values.as_slice() {
        [
            Value::Int(-7),
            Value::Double(f),
            Value::Bytes(b"seven"),
            Value::Null,
            Value::Int(0),
            Value::Temporal(now),
        ] => {
            format!("{f} {}", now.len())
        }
        other => format!("{other:?}"),
    };
    line.conversation.set_formats(Format::Text, Format::Text);
    Ok(vec![("binary_values", kinds)])
}

fn pipelined(line: &mut Line) -> Result<Found, String> {
    let mut out = Vec::new();
    line.conversation.begin_pipeline();
    for number in 100..150 {
        let sql = format!("INSERT INTO t VALUES ({number}, 0, 'p')");
        line.conversation.write_query(&mut out, sql.as_bytes());
        line.conversation.expect(Expect::Query);
    }
    line.conversation.end_pipeline(&mut out);
    line.send(&out)?;
    let mut inserted = 0;
    for _ in 0..50 {
        inserted += line.done()?.affected_rows;
    }
    line.done()?;
    // One that fails takes those before it along, and those after it are skipped.
    out.clear();
    line.conversation.begin_pipeline();
    for sql in ["DELETE FROM t WHERE id >= 100", "INSERT INTO t VALUES (1, 0, '')", "DELETE FROM t"]
    {
        line.conversation.write_query(&mut out, sql.as_bytes());
        line.conversation.expect(Expect::Query);
    }
    line.conversation.end_pipeline(&mut out);
    line.send(&out)?;
    let deleted = line.done()?.affected_rows;
    let failed = line.refused()?;
    line.done()?;
    line.conversation.keep_rows(1 << 20);
    line.query("SELECT count(*) FROM t WHERE id >= 100")?;
    let left = line.conversation.take_rows();
    Ok(vec![
        ("pipelined", inserted.to_string()),
        ("pipelined_deleted", deleted.to_string()),
        ("pipelined_failure", failed),
        ("pipelined_left", format!("{left:?}")),
    ])
}

fn failing(line: &mut Line) -> Result<Found, String> {
    let mut states = Vec::new();
    for sql in ["SELEC 1", "SELECT * FROM missing", "SELECT 1/0", "INSERT INTO t VALUES (1, 0, '')"]
    {
        line.begin_query(sql)?;
        states.push(line.refused()?);
    }
    let begun = line.query("BEGIN")?.status;
    line.begin_query("SELECT 1/0")?;
    line.refused()?;
    let in_failed = line.conversation.status();
    line.begin_query("SELECT 1")?;
    states.push(line.refused()?);
    let committed = line.query("COMMIT")?.status;
    line.query("CREATE TEMPORARY TABLE d (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)")?;
    let insert = prepare(line, "INSERT INTO d VALUES ($1), ($1)", &[oid::INT4])?;
    execute(line, insert, &[Param::Int(1)])?;
    states.push(line.refused()?);
    let long = format!("SELECT '{}'::int", "x".repeat(3_000_000));
    line.begin_query(&long)?;
    states.push(line.refused()?);
    Ok(vec![
        ("states", states.join(" ")),
        ("begun", (begun == status::IN_TRANSACTION).to_string()),
        ("failed", (in_failed == status::IN_TRANSACTION | status::FAILED).to_string()),
        ("commit_rolled_back", (committed == status::ROLLED_BACK).to_string()),
    ])
}
