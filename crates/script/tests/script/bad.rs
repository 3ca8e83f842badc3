//! Bad scripts: what is said of them, with file and line.

use loadstone_script::{ScriptError, Wish};

use crate::fed::{Script, events, serve};

fn told(source: &str) -> String {
    let script = Script::new(source);
    let mut vm = script.vm();
    let error = match vm.user(0) {
        Ok(user) => vm.check_run(&user).and_then(|()| script.run(1).map(drop)),
        Err(error) => Err(error),
    };
    error.expect_err("a bad script").to_string()
}

#[test]
fn a_bad_script_is_told_of_with_its_file_and_line() {
    let cases = [
        ("x = = 1", "script.lua:1: unexpected symbol near '='"),
        ("\nfoo.bar = 1", "script.lua:2: attempt to index global 'foo' (a nil value)"),
        ("function foo() end", "cannot find the event() function in"),
        ("function event()\nerror('x') end", "`thread_run' of user 0 failed:"),
        ("function event()\nerror('x') end", "script.lua:2: x"),
        ("function thread_init()\n\nfoo.bar = 1 end function event() end", "script.lua:3: attempt"),
        ("function event() error({a = 1}) end", "an error that is no text"),
        ("require('nowhere')", "module 'nowhere' not found"),
        ("function event() os.exit(3) end", "script.lua:1: the script called os.exit(3)"),
        ("print(sysbench.opt.threads)", "attempt to index field 'opt'"),
        (
            "function event() table.sort({2, 1}, function() sysbench.sql.driver():connect() end) end",
            "yield",
        ),
    ];
    for (source, expected) in cases {
        let text = told(source);
        assert!(text.contains(expected), "{source:?}: {text}");
        assert!(!text.contains("traceback"), "{text}");
    }
}

#[test]
fn a_script_that_is_not_there_is_named() {
    let script = Script::at(std::path::Path::new("/nowhere/script.lua"));
    let error = script.user().map(drop).expect_err("no file");
    assert!(
        matches!(&error, ScriptError::Load { message } if message.contains("/nowhere/script.lua"))
    );
}

#[test]
fn an_option_that_the_script_does_not_declare_is_refused() {
    let mut script = Script::new("sysbench.cmdline.options = {a = {'A', 1}} function event() end");
    script.plan.given.insert("b".to_owned(), "1".to_owned());
    let error = script.user().map(drop).expect_err("no such option");
    assert_eq!(error.to_string(), "invalid option: --b");
}

#[test]
fn a_script_that_takes_all_memory_is_told_of_and_others_go_on() {
    let mut script = Script::new(
        "function event() if sysbench.tid == 0 then local t = {} while true do t[#t + 1] = {} end end end",
    );
    script.plan.memory_bytes = 32 << 20;
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("a user"), vm.user(1).expect("another")];
    let [greedy, modest] = users.each_mut();
    let error = serve(greedy, &Wish::ThreadRun, &mut events(1)).expect_err("no memory");
    let text = error.to_string();
    assert!(text.contains("script.lua: not enough memory"), "{text}");
    serve(modest, &Wish::ThreadRun, &mut events(1)).expect("it has enough");
}
