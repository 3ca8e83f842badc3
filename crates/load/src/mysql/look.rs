//! What MySQL and MariaDB show of a statement that runs on another connection.

use super::holders;
use crate::finding::{Finding, Signs, is_refusal};
use crate::holder::{read, text, without_quoted};
use crate::record::Holder;
use loadstone_drive::Failure;
use loadstone_drive::client::{Beat, Client, Halt};
use loadstone_protocol::Row;

/// How many characters of a statement must match the server's process list.
const COMPARED: usize = 60;

/// A row of the process list.
struct Line {
    command: String,
    state: Option<String>,
    query: Option<String>,
    is_ours: bool,
    figures: Vec<String>,
}

/// What the server shows of a statement on the connection `id`. `own`: the load's connections.
pub(super) fn look(
    client: &mut Client,
    id: u32,
    beat: &Beat,
    own: &[u32],
) -> Result<Finding, Halt> {
    let mut unseen = Vec::new();
    let Some(line) = line_of(client, id, beat, &mut unseen)? else {
        let waits_for = "nothing that the server knows of: it has no such connection any more, or a \
                         proxy stands in between";
        return Ok(Finding::of_nothing(waits_for));
    };
    let transaction = transaction_of(client, id, &mut unseen)?;
    let waits_for_row =
        transaction.as_ref().is_some_and(|row| text(row, 0).as_deref() == Some("LOCK WAIT"));
    let state = line.state.clone().unwrap_or_default();
    let waits_for_table = state.starts_with("Waiting for") && state.contains("lock");
    let held = if waits_for_row {
        holder(client, holders::of_rows(client.is_mariadb()), id, &mut unseen)?
    } else if waits_for_table {
        holder(client, holders::of_tables(client.is_mariadb()), id, &mut unseen)?
    } else {
        None
    };
    let mut figures = line.figures;
    figures.extend(transaction.iter().flatten().map(|value| format!("{value:?}")));
    figures.extend(thread_figures(client, id)?);
    let mut server = None;
    if is_hidden(&beat.statement) || transaction.is_none() && !unseen.is_empty() {
        let (work, index) = server_work(client)?;
        server = work;
        figures.extend(index);
    }
    let waits = waits_for_row || waits_for_table;
    let mut words = match (&held, waits) {
        (Some((_, what)), _) => what.clone(),
        (None, true) if waits_for_row => "a row lock".to_owned(),
        (None, true) => format!("a lock (\"{state}\")"),
        (None, false) if line.command == "Sleep" => {
            "an answer that the server takes for sent".to_owned()
        }
        (None, false) if state.is_empty() => "the server, and nothing of it moves".to_owned(),
        (None, false) => format!("the server (\"{state}\"), and nothing of it moves"),
    };
    if waits && held.is_none() {
        words.push_str(&suspicion(client, own)?);
    }
    if !unseen.is_empty() {
        words.push_str(&format!("; not everything could be seen: {}", unseen.join("; ")));
    }
    let endable = line.is_ours && !is_end_of_transaction(&beat.statement);
    Ok(Finding {
        signs: Signs { waits, endable, holder_works: false, own: Some(figures), server },
        waits_for: words,
        holder: held.map(|(holder, _)| holder),
        query: line.query,
        is_ours: line.is_ours,
    })
}

/// Rows, or `None` if the server refuses; its error is noted in `unseen`.
fn seen(
    client: &mut Client,
    sql: &str,
    unseen: &mut Vec<String>,
) -> Result<Option<Vec<Row>>, Halt> {
    match client.rows(sql) {
        Ok(rows) => Ok(Some(rows)),
        Err(halt) if is_refusal(&halt) => {
            if let Halt::Failed(Failure { message, .. }) = halt
                && !unseen.contains(&message)
            {
                unseen.push(message);
            }
            Ok(None)
        }
        Err(halt) => Err(halt),
    }
}

fn line_of(
    client: &mut Client,
    id: u32,
    beat: &Beat,
    unseen: &mut Vec<String>,
) -> Result<Option<Line>, Halt> {
    let figures = match client.is_mariadb() {
        true => "QUERY_ID, STAGE, PROGRESS, MEMORY_USED, EXAMINED_ROWS",
        false => "NULL",
    };
    let question = |figures: &str| {
        format!(
            "SELECT COMMAND, STATE, LEFT(INFO, 400), USER = SUBSTRING_INDEX(USER(), '@', 1), {figures} \
             FROM information_schema.PROCESSLIST WHERE ID = {id}"
        )
    };
    let rows = match seen(client, &question(figures), &mut Vec::new())? {
        Some(rows) => Some(rows),
        None => seen(client, &question("NULL"), unseen)?,
    };
    let Some(row) = rows.and_then(|rows| rows.into_iter().next()) else { return Ok(None) };
    let command = text(&row, 0).unwrap_or_default();
    let wanted: String = beat.statement.chars().take(COMPARED).collect();
    let info = text(&row, 2).unwrap_or_default().replace(char::is_control, " ");
    let is_same = command == "Sleep" || info.starts_with(wanted.trim_end_matches('…'));
    Ok(Some(Line {
        is_ours: is_same && text(&row, 3).as_deref() == Some("1"),
        state: text(&row, 1),
        query: text(&row, 4),
        figures: [0, 1]
            .into_iter()
            .chain(5..row.len())
            .filter_map(|place| text(&row, place))
            .collect(),
        command,
    }))
}

/// State and size of the connection's transaction; `None` if it has none, or if the server does not
/// show it.
fn transaction_of(
    client: &mut Client,
    id: u32,
    unseen: &mut Vec<String>,
) -> Result<Option<Row>, Halt> {
    let sql = format!(
        "SELECT trx_state, trx_id, trx_rows_locked, trx_rows_modified, trx_weight, trx_operation_state \
         FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = {id}"
    );
    Ok(seen(client, &sql, unseen)?.and_then(|rows| rows.into_iter().next()))
}

fn holder(
    client: &mut Client,
    questions: &[fn(u32) -> String],
    id: u32,
    unseen: &mut Vec<String>,
) -> Result<Option<(Holder, String)>, Halt> {
    let mut refused = Vec::new();
    for question in questions {
        let rows = seen(client, &question(id), &mut refused)?.unwrap_or_default();
        if let Some(found) = rows.first().and_then(|row| read(row, without_quoted)) {
            return Ok(Some(found));
        }
    }
    if refused.len() == questions.len() {
        unseen.append(&mut refused);
    }
    Ok(None)
}

/// The likely holder, if the server does not show who holds a lock.
fn suspicion(client: &mut Client, own: &[u32]) -> Result<String, Halt> {
    let rows = seen(client, &holders::suspect(own), &mut Vec::new())?.unwrap_or_default();
    let oldest = rows.first().and_then(|row| read(row, without_quoted)).map_or_else(
        String::new,
        |(holder, _)| {
            format!("; the oldest transaction beside the load's is that of {}", holder.text())
        },
    );
    Ok(format!("; the server does not say who holds it{oldest}"))
}

/// MySQL's counters per session: rows touched, waits for files, stages of building an index.
fn thread_figures(client: &mut Client, id: u32) -> Result<Vec<String>, Halt> {
    if client.is_mariadb() {
        return Ok(Vec::new());
    }
    let of_thread =
        format!("(SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = {id})");
    let questions = [
        format!(
            "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.status_by_thread \
             WHERE THREAD_ID = {of_thread} AND VARIABLE_NAME LIKE 'Handler%'"
        ),
        format!(
            "SELECT SUM(COUNT_STAR) FROM performance_schema.events_waits_summary_by_thread_by_event_name \
             WHERE THREAD_ID = {of_thread}"
        ),
        format!(
            "SELECT SUM(WORK_COMPLETED) FROM performance_schema.events_stages_current \
             WHERE THREAD_ID = {of_thread}"
        ),
    ];
    let mut figures = Vec::new();
    for question in questions {
        let rows = seen(client, &question, &mut Vec::new())?.unwrap_or_default();
        figures.push(rows.first().and_then(|row| text(row, 0)).unwrap_or_default());
    }
    Ok(figures)
}

/// The pages that InnoDB as a whole has processed, and the progress of building an index.
fn server_work(client: &mut Client) -> Result<(Option<u64>, Option<String>), Halt> {
    const PAGE: u64 = 16 * 1024;
    let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_read_requests', \
               'Innodb_data_read', 'Innodb_data_reads', 'Innodb_data_written', 'Innodb_data_writes', \
               'Innodb_os_log_written', 'Innodb_onlineddl_pct_progress')";
    let rows = seen(client, sql, &mut Vec::new())?.unwrap_or_default();
    let value = |name: &str| {
        let row = rows.iter().find(|row| text(row, 0).as_deref() == Some(name));
        row.and_then(|row| text(row, 1))
    };
    let number = |name: &str| value(name).and_then(|text| text.parse::<u64>().ok());
    let bytes = ["Innodb_data_read", "Innodb_data_written", "Innodb_os_log_written"];
    let bytes: u64 = bytes.into_iter().filter_map(number).sum();
    // MariaDB counts the files used to sort an index by reads and writes alone.
    let files: u64 =
        ["Innodb_data_reads", "Innodb_data_writes"].into_iter().filter_map(number).sum();
    let work = number("Innodb_buffer_pool_read_requests").map(|pages| pages + files + bytes / PAGE);
    Ok((work, value("Innodb_onlineddl_pct_progress")))
}

/// Statements for which a server may count nothing while they run: indexes, commits, parallel
/// counts.
fn is_hidden(statement: &str) -> bool {
    !["LOAD DATA", "INSERT", "DELETE", "BEGIN"].iter().any(|verb| statement.starts_with(verb))
}

/// The server finishes these even if they are killed.
fn is_end_of_transaction(statement: &str) -> bool {
    ["COMMIT", "ROLLBACK"].iter().any(|verb| statement.starts_with(verb))
}
