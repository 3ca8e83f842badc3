//! A script's declarations, queried from another thread.

use std::time::Duration;

use loadstone_protocol::Code;
use loadstone_script::{
    Answer, Command, Inspector, Kind, Report, Request, Said, ScriptError, Server, Wish,
};

use crate::fed::Script;

const PATIENCE: Duration = Duration::from_secs(20);

fn inspector(script: &Script) -> Inspector {
    Inspector::open(script.plan.clone(), None).expect("a thread")
}

/// What it has printed since the last call.
fn printed(inspector: &Inspector) -> String {
    let pieces = inspector.said().into_iter().filter_map(|said| match said {
        Said::Printed(bytes) => Some(bytes),
        Said::Refused { .. } => None,
    });
    String::from_utf8(pieces.flatten().collect()).expect("text")
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
    assert_eq!(printed(&inspector), "loaded\n");
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
    let told = |wish| {
        let pending = inspector.carry_out(wish);
        pending.recv_timeout(PATIENCE).expect("an answer").expect("words");
        printed(&inspector)
    };
    inspector.check().recv_timeout(PATIENCE).expect("an answer").expect("its options are right");
    let first = told(Wish::ReportIntermediate(figures.clone()));
    assert!(first.starts_with("[\n  {\n    \"time\":    1,"), "{first}");
    assert!(told(Wish::ReportIntermediate(figures.clone())).starts_with(",\n  {"));
    inspector.end_reports().recv_timeout(PATIENCE).expect("an answer").expect("words");
    assert_eq!(printed(&inspector), "\n]\n");
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
    let expected = [
        Said::Printed(b"first\n".to_vec()),
        Said::Refused { executing: None },
        Said::Printed(format!("{refused}true\n").into_bytes()),
    ];
    assert_eq!(inspector.said(), expected);
    assert_eq!(contents.functions, ["prepare"]);
}

#[test]
fn a_command_goes_on_where_the_file_has_ended() {
    let script = Script::new(
        "function event() end
         loads = (loads or 0) + 1
         function prepare() print(loads, sysbench.opt.threads); more = 1 end
         function cleanup() print(more); error('enough') end",
    );
    let inspector = inspector(&script);
    inspector.check().recv_timeout(PATIENCE).expect("an answer").expect("its options are right");
    let run = |name: &str| {
        let pending = inspector.carry_out(Wish::Command(name.to_owned()));
        pending.recv_timeout(PATIENCE).expect("an answer")
    };
    run("prepare").expect("it ends");
    assert!(printed(&inspector).starts_with("1\t"));
    let failed = run("cleanup").expect_err("it raises an error");
    assert!(failed.to_string().contains("enough"), "{failed}");
    assert_eq!(printed(&inspector), "1\n");
}

#[test]
fn one_that_is_released_has_no_server() {
    let script = Script::new(
        "function event() end
         con = sysbench.sql.driver():connect()
         function prepare() con:query('SELECT 1') end",
    );
    let server = Some(Box::new(Refusing) as Box<dyn Server + Send>);
    let inspector = Inspector::open(script.plan.clone(), server).expect("a thread");
    inspector.check().recv_timeout(PATIENCE).expect("an answer").expect("its options are right");
    let run = || {
        let pending = inspector.carry_out(Wish::Command("prepare".to_owned()));
        pending.recv_timeout(PATIENCE).expect("an answer").expect_err("it is refused").to_string()
    };
    assert!(run().contains("errno = 1146"));
    inspector.release().recv_timeout(PATIENCE).expect("an answer").expect("nothing hinders");
    assert!(run().contains("errno = 2006"));
}

#[test]
fn a_command_that_only_asks_its_server_is_given_up_and_not_continued() {
    let script = Script::new(
        "function event() end
         function prepare()
           local con = sysbench.sql.driver():connect()
           while true do pcall(con.query, con, 'SELECT 1') end
         end",
    );
    let server = Some(Box::new(Refusing) as Box<dyn Server + Send>);
    let inspector = Inspector::open(script.plan.clone(), server).expect("a thread");
    inspector.check().recv_timeout(PATIENCE).expect("an answer").expect("its options are right");
    let coming = inspector.carry_out(Wish::Command("prepare".to_owned()));
    assert!(coming.recv_timeout(Duration::from_millis(50)).is_err());
    inspector.give_up();
    let error = coming.recv_timeout(PATIENCE).expect("an answer").expect_err("it has no end");
    assert!(matches!(error, ScriptError::Ended { .. } | ScriptError::BrokenOff { .. }), "{error}");
}

#[test]
fn what_a_file_has_printed_before_it_failed_is_kept() {
    let script = Script::new("print('loaded') error('no further')");
    let inspector = inspector(&script);
    let failed = inspector.contents().recv_timeout(PATIENCE).expect("an answer");
    assert!(matches!(failed, Err(ScriptError::Load { .. })));
    assert_eq!(printed(&inspector), "loaded\n");
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
    let ask = || inspector.carry_out(Wish::ReportCumulative(Report::new())).recv_timeout(PATIENCE);
    let before = ask().expect("an answer").expect_err("there is no server");
    assert!(before.to_string().contains("errno = 2006"), "{before}");
    inspector.serve(Refusing);
    let after = ask().expect("an answer").expect_err("it refuses");
    assert!(after.to_string().contains("errno = 1146, state = '42S02'"), "{after}");
    let printed = printed(&inspector);
    assert_eq!(printed.matches("false\t").count(), 2, "{printed}");
}
