//! What PostgreSQL shows of a statement that runs on another connection.
//!
//! <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW>

use crate::finding::{Finding, Signs};
use crate::holder::{before_strings, read, text};
use crate::record::Holder;
use loadstone_drive::client::{Beat, Client, Halt};

/// How many characters of a statement must match the server's list.
const COMPARED: usize = 60;

/// What the server shows of a statement on the connection `id`.
pub(super) fn look(client: &mut Client, id: u32, beat: &Beat) -> Result<Finding, Halt> {
    let rows = client.rows(&format!(
        "SELECT state, wait_event_type, wait_event, left(query, 400), usename = current_user, \
         clock_timestamp() FROM pg_stat_activity WHERE pid = {id}"
    ))?;
    let Some(row) = rows.into_iter().next() else {
        let waits_for = "nothing that the server knows of: it has no such connection any more, or a \
                         pooler stands in between";
        return Ok(Finding::of_nothing(waits_for));
    };
    let (state, kind) = (text(&row, 0).unwrap_or_default(), text(&row, 1));
    let event = text(&row, 2).unwrap_or_default();
    let waits = kind.as_deref() == Some("Lock");
    let held = if waits { holder(client, id)? } else { None };
    let mut figures = vec![state.clone(), event.clone()];
    // Who waits for nothing works. The server counts the pages of a statement when it has ended.
    if state == "active" && kind.is_none() {
        figures.extend(text(&row, 5));
    }
    figures.extend(progress(client, id)?);
    let server = if kind.as_deref() == Some("IO") { Some(pages(client)?) } else { None };
    let waits_for = match (&held, kind.as_deref()) {
        (Some((_, what)), _) => what.clone(),
        (None, Some("Lock")) => format!("a lock (\"{event}\")"),
        (None, Some("Client")) => "an answer that the server takes for sent".to_owned(),
        (None, None) => "the server, and nothing of it moves".to_owned(),
        (None, Some(kind)) => format!("the server (\"{kind}: {event}\"), and nothing of it moves"),
    };
    let wanted: String = beat.statement.chars().take(COMPARED).collect();
    let query = text(&row, 3).unwrap_or_default().replace(char::is_control, " ");
    let is_same = state != "active" || query.starts_with(wanted.trim_end_matches('…'));
    let is_ours = is_same && text(&row, 4).as_deref() == Some("t");
    let endable = is_ours && !is_end_of_transaction(&beat.statement);
    Ok(Finding {
        signs: Signs { waits, endable, holder_works: false, own: Some(figures), server },
        waits_for,
        holder: held.map(|(holder, _)| holder),
        query: None,
        is_ours,
    })
}

/// Who holds what it waits for.
fn holder(client: &mut Client, id: u32) -> Result<Option<(Holder, String)>, Halt> {
    let rows = client.rows(&format!(
        "SELECT a.pid, a.usename, a.client_addr, extract(epoch FROM now() - a.xact_start)::int, \
         CASE WHEN a.state = 'active' THEN left(a.query, 400) END, \
         (SELECT 'a lock on ' || coalesce(relation::regclass::text, locktype) FROM pg_locks \
          WHERE pid = {id} AND NOT granted LIMIT 1) \
         FROM unnest(pg_blocking_pids({id})) AS blocking (pid) \
         JOIN pg_stat_activity a ON a.pid = blocking.pid ORDER BY a.xact_start LIMIT 1"
    ))?;
    Ok(rows.first().and_then(|row| read(row, before_strings)))
}

/// How far a COPY or an index has come; the first view is there since PostgreSQL 14.
fn progress(client: &mut Client, id: u32) -> Result<Vec<String>, Halt> {
    let mut figures = Vec::new();
    for view in ["copy", "create_index", "vacuum"] {
        let sql = format!(
            "SELECT p::text FROM pg_stat_progress_{view} AS p WHERE p.pid = {id} \
             AND to_regclass('pg_stat_progress_{view}') IS NOT NULL"
        );
        match client.rows(&sql) {
            Ok(rows) => figures.extend(rows.first().and_then(|row| text(row, 0))),
            Err(halt) if halt.is_loss() => return Err(halt),
            Err(_) => {}
        }
    }
    Ok(figures)
}

/// The pages that the whole server has written to its log and read.
fn pages(client: &mut Client) -> Result<u64, Halt> {
    let sql = "SELECT (SELECT sum(blks_read + blks_hit) FROM pg_stat_database) \
               + CASE WHEN pg_is_in_recovery() THEN 0 \
                 ELSE floor(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') / 8192) END";
    client.number(sql).map(Option::unwrap_or_default)
}

/// The server finishes these even if they are canceled.
fn is_end_of_transaction(statement: &str) -> bool {
    ["COMMIT", "ROLLBACK"].iter().any(|verb| statement.starts_with(verb))
}
