use super::super::spec::PgbenchSpec;
use super::*;
use crate::Catalogue;
use crate::dialect::PostgreSql;
use loadstone_protocol::{Code, Completion, ErrorCode, Family, Param};

const UNDONE: Undone = Undone {
    restarts: true,
    tries: 2,
    most_tries: Some(3),
    time_used: Some(0.123_456),
    is_loading: true,
};

struct Run {
    machine: PgbenchMachine,
    catalogue: Catalogue,
    params: Params,
}

impl Run {
    fn new(script: &str, changes: impl FnOnce(&mut PgbenchSpec)) -> Self {
        let mut spec = PgbenchSpec {
            script: script.to_owned(),
            variables: [("scale".to_owned(), "3".to_owned())].into(),
            in_text: true,
            repeats_draws: false,
            number: 4,
            shows_errors: true,
            traces: false,
        };
        changes(&mut spec);
        let (prepared, templates) = Prepared::new(&spec).expect("a script");
        Self {
            machine: PgbenchMachine::new(Arc::new(prepared), 1, 7),
            catalogue: Catalogue::in_dialect(templates, &PostgreSql),
            params: Params::new(),
        }
    }

    /// What comes next, as text.
    fn next(&mut self, answer: Option<Answer<'_>>) -> String {
        match self.machine.step(answer, &mut self.params) {
            Step::Send(statement) => {
                let mut out = Vec::new();
                self.catalogue.write_text(statement, &self.params, &mut out);
                String::from_utf8(out).unwrap()
            }
            Step::Queue(statement) => {
                let mut out = b"queued: ".to_vec();
                self.catalogue.write_prepared(statement, &mut out);
                String::from_utf8(out).unwrap()
            }
            Step::Run { wants_line } => {
                let Some(Param::Text(line)) = self.params.iter().next() else { panic!() };
                format!("run {} {wants_line}", String::from_utf8_lossy(line))
            }
            Step::Sync => "sync".to_owned(),
            Step::EndPipeline => "end of the pipeline".to_owned(),
            Step::Sleep(nanos) => format!("sleep {}", nanos.0),
            Step::Executed => format!("ran {}", self.machine.command().unwrap()),
            Step::Done => "done".to_owned(),
            Step::Fail(_) => format!("failed: {}", self.machine.take_reason().unwrap()),
        }
    }

    /// The attempt has failed by an error, and nothing is left of it.
    fn undo(&mut self, restarts: bool) {
        self.machine.abandon();
        self.machine.undone(&Undone { restarts, ..UNDONE });
    }

    fn answered(&mut self) -> String {
        let completion = Completion::default();
        self.next(Some(Answer::of(&completion)))
    }
}

#[test]
fn a_transaction_goes_through_its_commands() {
    let script = "\\set a :scale * 2\n\\sleep 5 ms\nSELECT :a, :client_id, :nobody;\n\
                  \\if :a > 5\nSELECT 'more';\n\\else\nSELECT 'less';\n\\endif\nCOMMIT;";
    let mut run = Run::new(script, |_| {});
    for _ in 0..2 {
        assert_eq!(run.next(None), "sleep 5000000");
        assert_eq!(run.next(None), "SELECT 6, 7, :nobody");
        assert_eq!(run.answered(), "SELECT 'more'");
        assert_eq!(run.answered(), "COMMIT");
        assert_eq!(run.answered(), "done");
    }
}

#[test]
fn each_command_is_a_step_of_its_own_where_that_is_asked_for() {
    let script = "\\set a 1\n\\if :a > 1\nSELECT 1;\n\\elif :a = 1\nSELECT :a;\n\\else\n\
                  SELECT 3;\n\\endif\n\\set b 1 / (1 - :a)";
    let mut run = Run::new(script, |_| {});
    run.machine.return_after_each_command();
    for _ in 0..2 {
        assert_eq!(run.machine.command(), None);
        let steps: Vec<_> = (0..4).map(|_| run.next(None)).collect();
        assert_eq!(steps, ["ran 0", "ran 1", "ran 3", "SELECT 1"]);
        assert_eq!(run.machine.command(), Some(4));
        // The branch ends where \\else stands.
        assert_eq!(run.answered(), "ran 5");
        assert_eq!(run.next(None), "failed: line 9: division by zero");
        assert_eq!(run.machine.command(), Some(8));
        run.machine.abandon();
    }
}

#[test]
fn values_are_parameters_where_they_do_not_stand_in_the_text() {
    let mut run = Run::new("SELECT :scale, :nobody;", |spec| spec.in_text = false);
    let mut out = Vec::new();
    let Step::Send(statement) = run.machine.step(None, &mut run.params) else { panic!() };
    run.catalogue.write_prepared(statement, &mut out);
    assert_eq!(out, b"SELECT $1, $2");
    assert_eq!(run.params.len(), 2);
}

#[test]
fn rows_become_variables() {
    let mut run = Run::new("SELECT 1 \\gset p_\nSELECT :p_a, :p_b;", |_| {});
    let completion = Completion::default();
    let row = |rows| ResultSet {
        columns: 2,
        rows,
        bytes: b"\x01x\xfb".repeat(rows as usize),
        names: b"a\0b\0".to_vec(),
        ..ResultSet::default()
    };
    run.next(None);
    let one = row(1);
    let one = [one];
    let answer = Answer { completion: &completion, results: &one };
    assert_eq!(run.next(Some(answer)), "SELECT x, NULL");
    run.machine.abandon();
    run.next(None);
    let two = row(2);
    let two = [two];
    let answer = Answer { completion: &completion, results: &two };
    let failed = "failed: line 1: query 0: expected one row, got 2";
    assert_eq!(run.next(Some(answer)), failed);
}

#[test]
fn rows_of_several_statements_become_variables() {
    let completion = Completion::default();
    let of = |name: &str, values: &[&str], is_followed| ResultSet {
        columns: 1,
        rows: values.len() as u64,
        bytes: values
            .iter()
            .flat_map(|value| [[1].as_slice(), value.as_bytes()].concat())
            .collect(),
        names: format!("{name}\0").into_bytes(),
        is_followed,
        ..ResultSet::default()
    };
    let after = |script: &str, results: &[ResultSet]| {
        let mut run = Run::new(&format!("{script}\nSELECT :a, :b;"), |_| {});
        run.next(None);
        run.next(Some(Answer { completion: &completion, results }))
    };
    let two = [of("a", &["1"], false), of("b", &["2", "3"], false)];
    assert_eq!(after("SELECT 1 \\; SELECT 2 \\aset", &two), "SELECT 1, 3");
    let two = [of("a", &["1", "2"], false), of("b", &["3"], false)];
    assert_eq!(after("SELECT 1 \\; SELECT 2 \\gset", &two), "SELECT :a, 3");
    let followed = [of("a", &["1"], true)];
    let none = "failed: line 1: query 0: expected one row, got 0";
    assert_eq!(after("SELECT 1 \\; DROP TABLE t \\gset", &followed), none);
    let unnamed = [of("?column?", &["1"], false)];
    let refused = "failed: line 1: query 0: gset: error storing into variable ?column?";
    assert_eq!(after("SELECT 1 \\gset", &unnamed), refused);
}

#[test]
fn what_debug_is_given_is_shown() {
    let shown = Arc::new(std::sync::Mutex::new(String::new()));
    let kept = Arc::clone(&shown);
    let script = "\\set a debug(1 + debug(1.5))\n\\if debug(null) or debug(true)\n\\endif\n\
                  \\set b 1 / debug(0)";
    let mut run = Run::new(script, |_| {});
    run.machine.print_to(&Printer::new(move |line| kept.lock().unwrap().push_str(&line)));
    assert_eq!(run.next(None), "failed: line 4: division by zero");
    let expected = "debug(script=4,command=1): double 1.5\n\
                    debug(script=4,command=1): double 2.5\n\
                    debug(script=4,command=2): null\n\
                    debug(script=4,command=2): boolean true\n\
                    debug(script=4,command=4): int 0\n";
    assert_eq!(*shown.lock().unwrap(), expected);
}

#[test]
fn errors_and_what_is_done_are_printed_where_that_is_asked_for() {
    let shown = Arc::new(std::sync::Mutex::new(String::new()));
    let kept = Arc::clone(&shown);
    let script = "\\set a 3\nSELECT :a;\n\\sleep 1us";
    let mut run = Run::new(script, |spec| spec.traces = true);
    run.machine.print_to(&Printer::new(move |line| kept.lock().unwrap().push_str(&line)));
    run.next(None);
    run.answered();
    run.machine.abandon();
    run.next(None);
    for sql_state in [*b"40001", *b"22012"] {
        let code = Code::of_state(&sql_state).expect("a state");
        let code = ErrorCode { family: Family::new("postgresql"), code };
        let message = "no luck".to_owned();
        for is_loading in [true, false] {
            let message = message.clone();
            run.machine.failed(&ServerError { code, sql_state, message, position: None });
            run.machine.undone(&Undone { time_used: None, is_loading, ..UNDONE });
        }
    }
    let got = "got an error in command 1 (SQL) of script 4; ERROR:  no luck";
    let expected = [
        "executing \\set a",
        "sending SELECT 3",
        "receiving",
        "executing \\sleep 1us us",
        "executing \\set a",
        "sending SELECT 3",
        got,
        "repeats the transaction after the error (try 2/3)",
        // The second time the load is over.
        got,
    ];
    let expected = expected.map(|line| format!("pgbench: client 7 {line}\n")).concat();
    assert_eq!(*shown.lock().unwrap(), expected);
}

#[test]
fn the_ends_of_branches_are_shown_where_they_are_executed() {
    let shown = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&shown);
    let script = "\\if :scale < 0\n\\elif :scale = 3\n\\else\n\\endif\n\
                  \\if :scale < 0\n\\endif\n\\if :scale < 0\n\\else\n\\endif\nSELECT 1;";
    let mut run = Run::new(script, |spec| spec.traces = true);
    run.machine.print_to(&Printer::new(move |line| {
        let word = line.rsplit(' ').next().unwrap_or_default();
        kept.lock().unwrap().push(word.trim_end().to_owned());
    }));
    run.next(None);
    let expected = ["\\if", "\\elif", "\\else", "\\if", "\\if", "\\endif", "1"];
    assert_eq!(*shown.lock().unwrap(), expected);
}

#[test]
fn a_variable_with_a_time_is_read_as_far_as_it_is_an_integer() {
    for (text, expected) in [
        ("1.5", "sleep 1000000"),
        ("100ms", "sleep 100000000"),
        (" 7", "sleep 7000000"),
        ("-3", "sleep 0"),
        ("0x", "sleep 0"),
        ("ms", "failed: line 1: malformed variable \"time\" value: \"ms\""),
        ("", "failed: line 1: malformed variable \"time\" value: \"\""),
        (" 0", "failed: line 1: malformed variable \"time\" value: \" 0\""),
    ] {
        let mut run = Run::new("\\sleep :time ms", |spec| {
            spec.variables.insert("time".to_owned(), text.to_owned());
        });
        assert_eq!(run.next(None), expected, "{text:?}");
    }
    let mut run = Run::new("\\set time 2.5\n\\sleep :time ms\n\\sleep :nobody", |_| {});
    assert_eq!(run.next(None), "sleep 2000000");
    assert_eq!(run.next(None), "failed: line 3: undefined variable \"nobody\"");
}

#[test]
fn a_script_needs_no_statement() {
    let mut run = Run::new("\\set a 1\n\\set . 2", |_| {});
    let failed = "failed: line 2: invalid variable name: \".\"";
    assert_eq!(run.next(None), failed);
    let mut run = Run::new("\\sleep 2ms", |_| {});
    assert_eq!(run.next(None), "sleep 2000000");
    assert_eq!(run.next(None), "done");
}

#[test]
fn a_restarted_event_draws_the_same_where_that_is_asked_for() {
    for repeats in [true, false] {
        let script = "\\set a random(1, 1000000000)\nSELECT :a;";
        let mut run = Run::new(script, |spec| spec.repeats_draws = repeats);
        let first = run.next(None);
        run.undo(true);
        assert_eq!(run.next(None) == first, repeats);
        // It has failed: the next event is another one.
        run.undo(false);
        assert_ne!(run.next(None), first);
        assert_eq!(run.answered(), "done");
        assert_ne!(run.next(None), first);
    }
}

#[test]
fn a_restarted_event_has_the_variables_that_it_left() {
    let script = "\\set scale :scale + 1\nSELECT :scale;";
    let mut run = Run::new(script, |spec| spec.repeats_draws = true);
    assert_eq!(run.next(None), "SELECT 4");
    run.undo(true);
    assert_eq!(run.next(None), "SELECT 5");
}

#[test]
fn a_variable_that_is_given_is_not_the_users_number() {
    let mut run = Run::new("SELECT :client_id;", |spec| {
        spec.variables.insert("client_id".to_owned(), "40".to_owned());
    });
    assert_eq!(run.next(None), "SELECT 40");
}

#[test]
fn what_comes_of_an_event_after_an_error_is_said_as_pgbench_says_it() {
    let repeats = "repeats the transaction after the error";
    let used = "of the maximum time of tries was used";
    for (attempt, said) in [
        (UNDONE, format!("{repeats} (try 2/3, 12.346% {used})")),
        (Undone { most_tries: None, ..UNDONE }, format!("{repeats} (try 2, 12.346% {used})")),
        (
            Undone { restarts: false, tries: 3, time_used: None, ..UNDONE },
            "ends the failed transaction (try 3/3)".to_owned(),
        ),
    ] {
        assert_eq!(outcome(&attempt), said);
    }
}

#[test]
fn an_event_that_does_nothing_lets_others_have_their_turn() {
    let mut run = Run::new("\\if false\nSELECT 1;\n\\endif", |_| {});
    assert_eq!(run.next(None), "sleep 0");
    assert_eq!(run.next(None), "done");
}

#[test]
fn a_transaction_is_open_as_long_as_the_server_says_so() {
    let mut run = Run::new("BEGIN;\nEND;", |_| {});
    run.next(None);
    let open = Completion { status: IN_TRANSACTION, ..Completion::default() };
    run.next(Some(Answer::of(&open)));
    assert!(run.machine.in_transaction());
    assert_eq!(run.answered(), "done");
    assert!(!run.machine.in_transaction());
}

#[test]
fn programs_get_the_values_of_variables_and_give_them() {
    let script = "\\set d 5 / 2.0\n\\shell echo :d  ::d a:d :scale\n\\setshell n expr 40 + :scale\n\
                  SELECT :n;";
    let mut run = Run::new(script, |_| {});
    assert_eq!(run.next(None), "run echo 2.5 :d a:d 3 false");
    run.machine.ran(Ok(Vec::new()));
    assert_eq!(run.next(None), "run expr 40 + 3 true");
    run.machine.ran(Ok(b" 43 \n".to_vec()));
    assert_eq!(run.next(None), "SELECT 43");
}

#[test]
fn a_program_that_does_not_do_its_work_fails_the_event() {
    let mut run = Run::new("\\setshell n which\nSELECT :n, :nobody;\n\\shell :nobody", |_| {});
    for (outcome, why) in [
        (Ok(b"1.5\n".to_vec()), "the program has printed '1.5', not an integer"),
        (Ok(b"\x1b[2J".to_vec()), "the program has printed '\\u{1b}[2J', not an integer"),
        (Err("it has failed".to_owned()), "it has failed"),
    ] {
        assert_eq!(run.next(None), "run which true");
        run.machine.ran(outcome);
        assert_eq!(run.next(None), format!("failed: line 1: {why}"));
        run.machine.abandon();
    }
    run.next(None);
    run.machine.ran(Ok(b"1".to_vec()));
    assert_eq!(run.next(None), "SELECT 1, :nobody");
    assert_eq!(run.answered(), "failed: line 3: there is no variable nobody");
}

#[test]
fn statements_in_a_pipeline_wait_for_its_end_alone() {
    let script = "\\startpipeline\nSELECT :scale;\n\\sleep 1 us\n\\syncpipeline\nBEGIN;\n\
                  \\endpipeline\nSELECT 3;";
    let mut run = Run::new(script, |spec| spec.in_text = false);
    for _ in 0..2 {
        for expected in ["queued: SELECT $1", "sleep 1000", "sync", "queued: BEGIN"] {
            assert_eq!(run.next(None), expected);
        }
        assert_eq!(run.next(None), "end of the pipeline");
        assert_eq!(run.answered(), "SELECT 3");
        assert_eq!(run.answered(), "done");
    }
}

#[test]
fn a_pipeline_that_is_cut_short_may_leave_a_transaction_open() {
    let script = "\\startpipeline\nBEGIN;\n\\endpipeline\nSELECT 1;";
    let mut run = Run::new(script, |spec| spec.in_text = false);
    run.next(None);
    assert_eq!(run.next(None), "end of the pipeline");
    let open = Completion { status: IN_TRANSACTION, ..Completion::default() };
    run.machine.cut_short(Some(Answer::of(&open)), StatementRef { kind: 0, table: 0 }, Some(2));
    assert!(run.machine.in_transaction());
    run.machine.abandon();
    assert!(!run.machine.in_transaction());
    assert_eq!(run.next(None), "queued: BEGIN");
}

#[test]
fn a_script_may_end_in_a_transaction() {
    let mut run = Run::new("BEGIN;", |_| {});
    run.next(None);
    let open = Completion { status: IN_TRANSACTION, ..Completion::default() };
    assert_eq!(run.next(Some(Answer::of(&open))), "done");
    assert!(run.machine.in_transaction());
}

#[test]
fn commands_about_a_pipeline_have_their_order() {
    for (script, why) in [
        ("\\startpipeline\n\\startpipeline", "line 2: a pipeline has started already"),
        ("\\endpipeline", "line 1: no pipeline has started"),
        ("\\syncpipeline", "line 1: no pipeline has started"),
        ("\\startpipeline", "the script ends in a pipeline"),
        ("\\startpipeline\nSELECT 1 AS a \\gset", "line 2: \\gset is not allowed in pipeline mode"),
    ] {
        let script = format!("{script}\n\\if false\nSELECT 1;\n\\endif");
        let mut run = Run::new(&script, |spec| spec.in_text = false);
        assert_eq!(run.next(None), format!("failed: {why}"));
        run.machine.abandon();
        assert_eq!(run.next(None), format!("failed: {why}"), "as the first time");
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_its_line() {
    for (script, expected) in [
        ("\\set", "pgbench: line 1: missing argument in command \"set\""),
        (
            "SELECT 1;\n\\startpipeline",
            "pgbench: line 2: a pipeline needs values as parameters, not in_text",
        ),
    ] {
        let spec = PgbenchSpec {
            script: script.to_owned(),
            variables: Default::default(),
            in_text: true,
            repeats_draws: false,
            number: 0,
            shows_errors: false,
            traces: false,
        };
        assert_eq!(Prepared::new(&spec).unwrap_err().to_string(), expected);
    }
}
