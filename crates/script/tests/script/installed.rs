//! The scripts that sysbench's package installs run unchanged.

use std::path::Path;

use loadstone_script::{Command, Wish};

use crate::fed::{Script, events, serve};

const FOLDER: &str = "/usr/share/sysbench";

/// Whether the scripts are installed; says so if not.
#[expect(clippy::print_stderr, reason = "a test that did nothing has to say so")]
fn is_installed() -> bool {
    let there = Path::new(FOLDER).join("oltp_common.lua").exists();
    if !there {
        eprintln!("skipped: sysbench's scripts are not in {FOLDER}");
    }
    there
}

fn script(name: &str) -> Script {
    let mut script = Script::at(&Path::new(FOLDER).join(name));
    for (option, value) in [("threads", 1.0), ("mysql_port", 3306.0)] {
        script.plan.general.insert(option.to_owned(), loadstone_script::Setting::Number(value));
    }
    script
}

#[test]
fn each_script_runs_its_events() {
    if !is_installed() {
        return;
    }
    let cases = [
        ("oltp_point_select.lua", 1),
        ("oltp_read_only.lua", 16),
        ("oltp_read_write.lua", 20),
        ("oltp_write_only.lua", 6),
        ("oltp_update_index.lua", 1),
        ("oltp_update_non_index.lua", 1),
        ("oltp_delete.lua", 1),
        ("oltp_insert.lua", 1),
        ("select_random_points.lua", 1),
        ("select_random_ranges.lua", 1),
    ];
    for (name, statements) in cases {
        let seen = script(name).run(3).unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_statement =
            |text: &&String| text.starts_with("execute") || text.starts_with("INSERT");
        assert_eq!(seen.iter().filter(is_statement).count(), 3 * statements, "{name}: {seen:?}");
        assert_eq!(seen.first().map(String::as_str), Some("connect"), "{name}");
        assert_eq!(seen.last().map(String::as_str), Some("disconnect"), "{name}");
    }
    let bulk = script("bulk_insert.lua").run(3).expect("bulk_insert.lua");
    assert_eq!(bulk, ["connect", "INSERT INTO sbtest1 VALUES(1,1),(2,2),(3,3)", "disconnect"]);
}

#[test]
fn tables_are_made_and_dropped() {
    if !is_installed() {
        return;
    }
    let run = |name: &str, command: &str| {
        let mut script = script(name);
        script.plan.command = Some(command.to_owned());
        script.plan.given.insert("table_size".to_owned(), "1000".to_owned());
        let mut vm = script.vm();
        let mut user = vm.user(0).expect("a user");
        let how = vm.command(&user).expect("a command");
        let wish = Wish::Command(command.to_owned());
        let seen = serve(&mut user, &wish, &mut events(0)).expect("the command");
        (how, seen)
    };
    let (how, seen) = run("oltp_read_write.lua", "prepare");
    assert_eq!(how, Command::Parallel);
    let begins: Vec<&str> = seen.iter().map(|sql| sql.split('(').next().unwrap_or("")).collect();
    assert!(
        seen[1].starts_with("\nCREATE TABLE sbtest1")
            || seen[1].starts_with("CREATE TABLE sbtest1"),
        "{begins:?}"
    );
    assert_eq!(seen[2].matches("),(").count() + 1, 1000);
    assert_eq!(seen[3], "CREATE INDEX k_1 ON sbtest1(k)");
    let (how, seen) = run("oltp_read_write.lua", "cleanup");
    assert_eq!((how, seen[1].as_str()), (Command::Single, "DROP TABLE IF EXISTS sbtest1"));
}
