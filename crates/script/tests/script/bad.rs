//! Bad scripts: the error messages, with file and line.

use std::time::{Duration, Instant};

use loadstone_script::{ScriptError, Watches, Wish};

use crate::fed::{Said, Script, events, serve};

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
        ("function event() error({a = 1}) end", "(not a string)"),
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

#[test]
fn a_call_of_0_5_that_runs_out_of_memory_says_so() {
    let mut script = Script::new(
        "function sysbench.hooks.sql_error_ignorable()
           local t = {} while true do t[#t + 1] = {} end
         end
         function event() db_query('SELECT 1') end",
    );
    script.plan.memory_bytes = 32 << 20;
    let mut user = script.user().expect("a user");
    let mut give = events(1);
    let mut server = |request: &str| match request {
        "SELECT 1" => Said::Refused(1146, "nothing there"),
        other => give(other),
    };
    let error = serve(&mut user, &Wish::ThreadRun, &mut server).expect_err("no memory");
    assert!(error.to_string().contains("script.lua: not enough memory"), "{error}");
}

/// Interrupts the states once a turn has lasted for a while; returns the place that was reported.
fn broken_off(watches: &Watches) -> Option<String> {
    let begun = Instant::now();
    let mut place = None;
    while begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
        let Some(watch) = watches.living().into_iter().find(|watch| watch.turn().is_some()) else {
            continue;
        };
        if place.is_none() {
            watch.ask_place();
            std::thread::sleep(Duration::from_millis(50));
            place = watch.place();
            continue;
        }
        watch.break_off();
        return place;
    }
    None
}

#[test]
fn a_script_that_does_not_come_back_is_found_and_broken_off() {
    let loops = [
        "local n = 0 while true do n = n + 1 end",
        "while true do end",
        "local function f() return f() end f()",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error, 'x') end",
        "local t = {} while true do t[#t % 9] = tostring(t) end",
    ];
    for source in loops {
        let script = Script::new(&format!("function event()\n{source}\nend"));
        let watches = script.plan.watches.clone();
        let dog = std::thread::spawn(move || broken_off(&watches));
        let mut user = script.user().expect("a script that loads");
        let error = serve(&mut user, &Wish::ThreadRun, &mut events(1)).expect_err("endless");
        let place = dog.join().expect("it has found something").expect("a place");
        assert!(place.ends_with("script.lua:2"), "{source}: {place}");
        let text = error.to_string();
        assert!(text.contains("`thread_run' of user 0 did not come back"), "{source}: {text}");
        assert!(text.contains("script.lua:2"), "{source}: {text}");
    }
}

#[test]
fn a_state_goes_on_after_one_of_its_users_was_broken_off() {
    let script = Script::new(
        "function event() if sysbench.tid == 0 then while true do end end print('fine') end",
    );
    let watches = script.plan.watches.clone();
    let dog = std::thread::spawn(move || broken_off(&watches));
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("a user"), vm.user(1).expect("another")];
    let [endless, modest] = users.each_mut();
    serve(endless, &Wish::ThreadRun, &mut events(1)).expect_err("endless");
    drop(dog.join());
    serve(modest, &Wish::ThreadRun, &mut events(2)).expect("it comes back");
    assert_eq!(*script.printed.borrow(), "fine\nfine\n");
}
