//! A script's declarations, queried from another thread.

use std::time::Duration;

use loadstone_protocol::Code;
use loadstone_script::{
    Answer, Command, Inspector, Kind, Report, Request, ScriptError, Server, Wish,
};

use crate::fed::Script;

const PATIENCE: Duration = Duration::from_secs(20);

fn inspector(script: &Script) -> Inspector {
    Inspector::open(script.plan.clone(), None).expect("a thread")
}

#[test]
fn it_tells_its_options_commands_and_hooks() {
    let script = Script::new(
        "print('loaded')
         sysbench.cmdline.options = {size = {'A size', 10}, names = {'Names', {'a', 'b'}}}
         sysbench.cmdline.commands = {
           fill = {function() end, sysbench.cmdline.PARALLEL_COMMAND},
           wipe = {function() end},
         }
         function init() end
         function prepare() end
         function event() end
         sysbench.hooks.report_intermediate = sysbench.report_json",
    );
    let inspector = inspector(&script);
    let contents =
        inspector.contents().recv_timeout(PATIENCE).expect("an answer").expect("it loads");
    let options = contents.options.expect("it declares some");
    let named: Vec<_> = options.iter().map(|one| (one.name.as_str(), one.kind)).collect();
    assert_eq!(named, [("names", Kind::List), ("size", Kind::Double)]);
    assert_eq!(contents.commands["fill"], Command::Parallel);
    assert_eq!(contents.commands["wipe"], Command::Single);
    assert_eq!(contents.functions, ["prepare"]);
    assert_eq!(contents.hooks, ["report_intermediate"]);
    assert!(contents.has_init);
    assert_eq!(contents.printed, "loaded\n");
    inspector
        .check()
        .recv_timeout(PATIENCE)
        .expect("an answer")
        .expect("there is something to run");
}

#[test]
fn its_hooks_word_a_report() {
    let script = Script::new(
        "function event() end
         sysbench.hooks.report_intermediate = sysbench.report_json
         function sysbench.hooks.report_cumulative(stat) print(stat.events) end",
    );
    let inspector = inspector(&script);
    let names = ["time_total", "time_interval", "threads_running", "latency_pct", "errors"];
    let counts = ["reads", "writes", "other", "events", "reconnects"];
    let figures: Report =
        names.iter().chain(&counts).map(|name| ((*name).to_owned(), 1.0)).collect();
    let told =
        |wish| inspector.report(wish).recv_timeout(PATIENCE).expect("an answer").expect("words");
    inspector.check().recv_timeout(PATIENCE).expect("an answer").expect("its options are right");
    let first = told(Wish::ReportIntermediate(figures.clone()));
    assert!(first.starts_with("[\n  {\n    \"time\":    1,"), "{first}");
    assert!(told(Wish::ReportIntermediate(figures.clone())).starts_with(",\n  {"));
    let end = inspector.end_reports().recv_timeout(PATIENCE).expect("an answer").expect("words");
    assert_eq!(end, "\n]\n");
    assert_eq!(told(Wish::ReportCumulative(figures)), "1\n");
}

#[test]
fn one_that_does_not_come_back_is_given_up() {
    let script = Script::new("while true do end");
    let inspector = inspector(&script);
    let coming = inspector.contents();
    assert!(coming.recv_timeout(Duration::from_millis(200)).is_err());
    inspector.give_up();
    let error = coming.recv_timeout(PATIENCE).expect("an answer").expect_err("it never loaded");
    assert!(matches!(error, ScriptError::BrokenOff { hook: "load", .. }), "{error}");
}

/// Refuses all statements.
struct Refusing;

impl Server for Refusing {
    fn answer(&mut self, request: &Request<'_>) -> Answer<'_> {
        match request {
            Request::Query { .. } => {
                let code = Code::of_number(1146);
                Answer::Refused { code, sql_state: *b"42S02", message: "nothing there" }
            }
            _ => Answer::Done,
        }
    }
}

#[test]
fn statements_at_the_top_of_a_file_ask_the_server_that_it_is_loaded_with() {
    let script = Script::new(
        "print('first')
         con = sysbench.sql.driver():connect()
         print(pcall(con.query, con, 'SELECT 1'))
         print(con:disconnect())
         function prepare() end",
    );
    let server = Some(Box::new(Refusing) as Box<dyn Server + Send>);
    let inspector = Inspector::open(script.plan.clone(), server).expect("a thread");
    let contents =
        inspector.contents().recv_timeout(PATIENCE).expect("an answer").expect("it loads");
    let refused = "false\tSQL error, errno = 1146, state = '42S02': nothing there\n";
    assert_eq!(contents.printed, format!("first\n{refused}true\n"));
    assert_eq!(contents.functions, ["prepare"]);
}

#[test]
fn what_a_file_has_printed_before_it_failed_is_kept() {
    let script = Script::new("print('loaded') error('no further')");
    let inspector = inspector(&script);
    let failed = inspector.contents().recv_timeout(PATIENCE).expect("an answer");
    assert!(matches!(failed, Err(ScriptError::Load { .. })));
    let printed = inspector.printed().recv_timeout(PATIENCE).expect("an answer");
    assert_eq!(printed.expect("an output"), "loaded\n");
}

#[test]
fn a_hook_asks_the_server_that_the_desk_was_given() {
    let script = Script::new(
        "function event() end
         function sysbench.hooks.report_cumulative(stat)
           local con = sysbench.sql.driver():connect()
           print(pcall(con.query, con, 'SELECT 1'))
           con:query('SELECT 2')
         end",
    );
    let inspector = inspector(&script);
    inspector.check().recv_timeout(PATIENCE).expect("an answer").expect("its options are right");
    let ask = || inspector.report(Wish::ReportCumulative(Report::new())).recv_timeout(PATIENCE);
    let before = ask().expect("an answer").expect_err("there is no server");
    assert!(before.to_string().contains("errno = 2006"), "{before}");
    inspector.serve(Refusing);
    let after = ask().expect("an answer").expect_err("it refuses");
    assert!(after.to_string().contains("errno = 1146, state = '42S02'"), "{after}");
    let printed = inspector.printed().recv_timeout(PATIENCE).expect("an answer").expect("words");
    assert_eq!(printed.matches("false\t").count(), 2, "{printed}");
}
