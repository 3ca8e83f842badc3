//! What a script can call, and what it sees.

use loadstone_script::{Setting, Wish};

use crate::fed::{Said, Script, events, rows, serve};

/// The output of a script whose thread_init() has this body and a connection `con`.
fn printed(body: &str, said: impl FnMut(&str) -> Said) -> String {
    let source = format!(
        "function thread_init() con = sysbench.sql.driver():connect() {body} end function event() end"
    );
    let script = Script::new(&source);
    let mut user = script.user().expect("a script that loads");
    let mut said = said;
    serve(&mut user, &Wish::ThreadInit, &mut said).expect("a script that runs");
    script.printed.borrow().clone()
}

fn done(_: &str) -> Said {
    Said::Done
}

#[test]
fn connections_and_what_they_make_are_of_the_types_that_scripts_look_for() {
    let text = printed(
        "local drv = sysbench.sql.driver()
         local stmt = con:prepare('SELECT ?')
         print(type(drv), tostring(drv), drv:name())
         print(type(con), tostring(con))
         print(type(stmt), tostring(stmt))
         print(tostring(stmt:bind_create(sysbench.sql.type.INT)))
         print(type(con:query('x')), tostring(con:query('x')))
         print((pcall(function() return con.foo end)))",
        done,
    );
    let expected = "cdata\t<sql_driver>\tmysql\ncdata\t<sql_connection>\ncdata\t<sql_statement>\n\
                    <sql_param>\ncdata\t<sql_result>\nfalse\n";
    assert_eq!(text, expected);
}

#[test]
fn rows_are_read_one_by_one() {
    let long = "x".repeat(300);
    let mut table = rows(&[&[Some("1"), None], &[Some(&long), Some("")]]);
    table.rows = 2;
    let text = printed(
        "local result = con:query('q')
         print(result.nrows, result.nfields)
         for _ = 1, result.nrows do
           local row = result:fetch_row()
           print(#row[1], row[1]:sub(1, 2), row[2])
         end
         print(result:fetch_row())
         result:free()
         print(con:query_row('q'))",
        move |request| {
            if request == "q" { Said::Results(vec![table.clone()]) } else { Said::Done }
        },
    );
    assert_eq!(text, "2\t2\n1\t1\tnil\n300\txx\t\nnil\n1\tnil\n");
}

#[test]
fn a_call_with_several_results_gives_them_one_after_the_other() {
    let text = printed(
        "local first = con:query('CALL p()')
         print(first:fetch_row()[1], con:more_results())
         local second = con:next_result()
         print(second.nrows, second:fetch_row()[1], con:more_results(), con:next_result())
         con:query('x') print(con:more_results())",
        |request| match request {
            "CALL p()" => Said::Results(vec![rows(&[&[Some("one")]]), rows(&[&[Some("two")]])]),
            _ => Said::Done,
        },
    );
    assert_eq!(text, "one\ttrue\n1\ttwo\tfalse\tnil\nfalse\n");
}

#[test]
fn parameters_are_sent_as_they_were_set() {
    let script = Script::new(
        "function thread_init()
           local t = sysbench.sql.type
           con = sysbench.sql.driver():connect()
           stmt = con:prepare('INSERT INTO t VALUES (?, ?, ?, ?, ?)')
           p = { stmt:bind_create(t.INT), stmt:bind_create(t.DOUBLE), stmt:bind_create(t.CHAR, 4),
                 stmt:bind_create(t.VARCHAR, 10), stmt:bind_create(t.VARCHAR, 10) }
           stmt:bind_param(unpack(p))
         end
         function event()
           p[1]:set(-7) p[2]:set(0.5) p[3]:set('abcdefg') p[4]:set_rand_str('x') p[5]:set('2026-01-02')
           stmt:execute()
           p[1]:set(nil) p[2]:set(3) p[3]:set('')
           stmt:execute()
         end
         function thread_done() stmt:close() con:disconnect() end",
    );
    let expected = [
        "connect",
        "prepare INSERT INTO t VALUES (?, ?, ?, ?, ?)",
        "execute(-7, 0.5, 'abcd', 'x', '2026-01-02')",
        "execute(NULL, 3.0, '', 'x', '2026-01-02')",
        "close",
        "disconnect",
    ];
    assert_eq!(script.run(1).expect("a script that runs"), expected);
}

#[test]
fn wrong_parameters_are_told_with_the_line() {
    let text = printed(
        "local stmt = con:prepare('x')
         local number = stmt:bind_create(sysbench.sql.type.INT)
         local text = stmt:bind_create(sysbench.sql.type.CHAR, 5)
         print(pcall(function() number:set('x') end))
         print(pcall(function() text:set(12) end))
         print(pcall(function() number:set_rand_str('###-###') end))
         print(pcall(function() stmt:bind_create(sysbench.sql.type.CHAR) end))
         print(pcall(function() stmt:bind_create(77) end))
         print(pcall(function() stmt:bind_param(5) end))",
        done,
    );
    assert_eq!(text.matches("false\t").count(), 6, "{text}");
    assert_eq!(text.matches("script.lua:").count(), 5, "{text}");
}

#[test]
fn collected_rows_are_sent_together_and_in_pieces_of_half_a_megabyte() {
    let script = Script::new(
        "function thread_init()
           con = sysbench.sql.driver():connect()
           con:bulk_insert_init('INSERT INTO t VALUES')
           con:bulk_insert_next('(1)') con:bulk_insert_next('(2)')
           con:bulk_insert_done()
           con:bulk_insert_init('INSERT INTO t VALUES')
           for i = 1, 700 do con:bulk_insert_next('(' .. string.rep('1', 1000) .. ')') end
           con:bulk_insert_done()
         end
         function event() end",
    );
    let sent = script.run(0).expect("a script that runs");
    assert_eq!(sent[1], "INSERT INTO t VALUES(1),(2)");
    assert_eq!(sent.len(), 4, "{} statements", sent.len());
    assert!(sent[2].len() <= 512 * 1024 && sent[2].len() > 500 * 1024, "{}", sent[2].len());
    let rows: usize = sent[2..].iter().map(|sql| sql.matches('(').count()).sum();
    assert_eq!(rows, 700);
}

#[test]
fn an_ignorable_error_begins_the_event_anew_and_the_hook_hears_of_it() {
    let script = Script::new(
        "function sysbench.hooks.before_restart_event(e)
           print(e.sql_errno, e.sql_state, e.sql_errmsg, e.query, tostring(e.connection))
         end
         function thread_init() con = sysbench.sql.driver():connect() end
         function event() con:query('BEGIN') con:query('UPDATE') con:query('COMMIT') end",
    );
    let mut user = script.user().expect("a script that loads");
    let mut refused = false;
    let mut give = events(1);
    let mut server = |request: &str| match request {
        "UPDATE" if !std::mem::replace(&mut refused, true) => Said::Refused(1213, "Deadlock"),
        other => give(other),
    };
    serve(&mut user, &Wish::ThreadInit, &mut server).expect("init");
    let sent = serve(&mut user, &Wish::ThreadRun, &mut server).expect("an error that is ignored");
    assert_eq!(sent, ["BEGIN", "UPDATE", "BEGIN", "UPDATE", "COMMIT"]);
    let told = "1213\tHY000\tDeadlock\tUPDATE\t<sql_connection>\n";
    assert_eq!(*script.printed.borrow(), told);
}

#[test]
fn a_script_may_say_itself_which_errors_are_ignorable() {
    let source = "function sysbench.hooks.sql_error_ignorable(e) return e.sql_errno == 1062 end
         function thread_init() con = sysbench.sql.driver():connect() end
         function event() con:query('INSERT') end";
    for (errno, fails) in [(1062, false), (1064, true)] {
        let script = Script::new(source);
        let mut user = script.user().expect("a script that loads");
        let mut refused = false;
        let mut give = events(1);
        let mut server = |request: &str| match request {
            "INSERT" if !std::mem::replace(&mut refused, true) => Said::Refused(errno, "no"),
            other => give(other),
        };
        serve(&mut user, &Wish::ThreadInit, &mut server).expect("init");
        let ran = serve(&mut user, &Wish::ThreadRun, &mut server);
        match ran {
            Ok(sent) => assert_eq!((fails, sent.len()), (false, 2)),
            Err(error) => {
                let text = error.to_string();
                assert!(fails && text.contains("script.lua:3: SQL error, errno = 1064"), "{text}");
            }
        }
    }
}

#[test]
fn a_script_may_catch_an_error_and_go_on() {
    let text = printed(
        "local ok, problem = pcall(con.query, con, 'bad') print(ok, problem)
         print(pcall(con.query, con, 'good'))",
        |request| if request == "bad" { Said::Refused(1064, "syntax") } else { Said::Done },
    );
    let expected = "false\tSQL error, errno = 1064, state = 'HY000': syntax\ntrue\t<sql_result>\n";
    assert_eq!(text, expected);
}

#[test]
fn a_script_may_have_several_connections_and_drop_them() {
    let script = Script::new(
        "function thread_init() end
         function event()
           local one, two = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
           one:query('one') two:query('two') one:reconnect() one:disconnect()
           print(pcall(one.query, one, 'x'))
         end",
    );
    let sent = script.run(1).expect("a script that runs");
    // sysbench's counter 5 is that of reconnects.
    assert_eq!(sent, ["connect", "connect", "one", "two", "reconnect", "count 5", "disconnect"]);
    assert!(
        script.printed.borrow().contains("ALERT: attempt to use an already closed connection\n")
    );
    assert!(script.printed.borrow().contains("SQL API error"));
}

#[test]
fn a_connection_that_a_script_forgets_is_closed_when_the_next_is_opened() {
    let script = Script::new(
        "function event()
           sysbench.sql.driver():connect():query('q')
           collectgarbage() collectgarbage()
         end",
    );
    let sent = script.run(3).expect("a script that runs");
    let count = |what: &str| sent.iter().filter(|text| *text == what).count();
    assert_eq!((count("connect"), count("disconnect")), (3, 2), "{sent:?}");
}

#[test]
fn an_event_that_returns_something_ends_its_user() {
    let script = Script::new("function event() print('event') return true end");
    assert!(script.run(5).expect("a script that runs").is_empty());
    assert_eq!(*script.printed.borrow(), "event\n");
}

#[test]
fn a_script_may_have_a_thread_run_of_its_own() {
    let script = Script::new(
        "local ffi = require('ffi')
         ffi.cdef[[bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);]]
         function thread_run(id)
           while ffi.C.sb_more_events(id) do
             ffi.C.sb_event_start(id) print('mine') ffi.C.sb_event_stop(id)
           end
         end",
    );
    let vm = script.vm();
    script.run(2).expect("a script that runs");
    assert_eq!(*script.printed.borrow(), "mine\nmine\n");
    drop(vm);
}

#[test]
fn statements_in_a_coroutine_of_the_script_wait_as_others_do() {
    let text = printed(
        "local each = coroutine.wrap(function()
           for i = 1, 2 do con:query('q' .. i) coroutine.yield(i) end
         end)
         print(each(), each())
         local thread = coroutine.create(function(a) con:query('q') return a, coroutine.running() ~= nil end)
         print(coroutine.resume(thread, 'x'))
         print(coroutine.running(), pcall(coroutine.yield))",
        done,
    );
    assert!(text.starts_with("1\t2\ntrue\tx\ttrue\nnil\tfalse\t"), "{text}");
}

#[test]
fn options_have_the_types_that_their_defaults_say() {
    let mut script = Script::new(
        "sysbench.cmdline.options = {
           tables = {'Number of tables', 1}, skip_trx = {'No transactions', false}, ratio = {'A ratio', 0.5},
           engine = {'Engine', 'innodb'}, list = {'A list', {'a', 'b'}}, none = {'Nothing'},
           size = {'A size', '1K', sysbench.cmdline.ARG_SIZE},
         }
         function thread_init()
           local o = sysbench.opt
           print(o.tables, o.skip_trx, o.ratio, o.engine, table.concat(o.list, '+'), o.none == '', o.size, o.threads)
           print(table.insert ~= nil, thread_id, sysbench.tid)
         end
         function event() end",
    );
    script.plan.general.insert("threads".to_owned(), Setting::Number(4.0));
    for (name, value) in [("tables", "3"), ("skip_trx", "on"), ("list", "x,y")] {
        script.plan.given.insert(name.to_owned(), value.to_owned());
    }
    script.run(0).expect("a script that runs");
    let expected = "3\ttrue\t0.5\tinnodb\tx+y\ttrue\t1024\t4\ntrue\t0\t0\n";
    assert_eq!(*script.printed.borrow(), expected);
}

#[test]
fn a_script_that_declares_no_options_takes_any_as_globals() {
    let mut script = Script::new(
        "function thread_init() print(oltp_table_size, sysbench.opt.oltp_table_size, type(table)) end
         function event() end",
    );
    script.plan.given.insert("oltp_table_size".to_owned(), "5K".to_owned());
    script.plan.given.insert("table".to_owned(), "x".to_owned());
    script.run(0).expect("a script that runs");
    assert_eq!(*script.printed.borrow(), "5K\t5K\ttable\n");
}

#[test]
fn the_globals_of_the_older_dialect_work() {
    let script = Script::new(
        "function thread_init()
           db_connect()
           stmt = db_prepare('SELECT ?, ?')
           params = {1, 'abc'}
           db_bind_param(stmt, params)
         end
         function event()
           params[1] = sb_rand(5, 5)
           db_execute(stmt)
           db_query('BEGIN')
           db_bulk_insert_init('INSERT INTO t VALUES') db_bulk_insert_next('(1)') db_bulk_insert_done()
           assert(sb_rand_uniform(1, 1) == 1 and sb_rand_special(1, 1) == 1 and sb_rand_gaussian(1, 1) == 1)
           assert(sb_rand_str('ab') == 'ab' and #sb_rand_str('##@') == 3 and sb_rand_uniq(3, 3) == 3)
         end
         function thread_done() db_close(stmt) db_disconnect() end",
    );
    let expected = [
        "connect",
        "prepare SELECT ?, ?",
        "execute(5, 'abc')",
        "BEGIN",
        "INSERT INTO t VALUES(1)",
        "close",
        "disconnect",
    ];
    assert_eq!(script.run(1).expect("a script that runs"), expected);
}

#[test]
fn with_pgsql_a_statement_is_prepared_when_its_parameters_are_bound() {
    let mut script = Script::new(
        "local T = sysbench.sql.type
         function thread_init()
           local con = sysbench.sql.driver():connect()
           con:prepare('SELECT 1')
           local types = con:prepare('SELECT ?, ?, ?')
           local text = types:bind_create(T.CHAR, 5)
           types:bind_param(types:bind_create(T.SMALLINT), types:bind_create(T.FLOAT), text)
           text:set('abc')
           types:execute()
           types:bind_param(text, text, text)
           types:execute()
           con:prepare(\"SELECT '?'\"):execute()
           con:prepare('SELECT ?'):close()
         end
         function event() end",
    );
    script.plan.general.insert("db_driver".to_owned(), Setting::Text("pgsql".to_owned()));
    let expected = [
        "connect",
        "prepare SELECT 1",
        "prepare SELECT ?, ?, ? for (0, 0.0, '')",
        "execute(NULL, NULL, 'abc')",
        "execute('abc', 'abc', 'abc')",
        "prepare SELECT '?'",
        "execute()",
        "close",
    ];
    assert_eq!(script.run(0).expect("a script that runs"), expected);
}

#[test]
fn random_numbers_have_the_types_and_ranges_that_scripts_expect() {
    let text = printed(
        "local r = sysbench.rand
         for _, name in ipairs{'default', 'uniform', 'gaussian', 'special', 'pareto', 'zipfian'} do
           for _ = 1, 100 do local n = r[name](3, 9) assert(type(n) == 'number' and n >= 3 and n <= 9, name) end
         end
         assert(r.uniform_double() < 1 and type(r.uniform_uint64()) == 'cdata')
         local seen = {} for _ = 1, 1000 do local n = r.unique() assert(n >= 0 and not seen[n]) seen[n] = true end
         assert(r.string('a#@'):match('^a%d%l$') and #r.varstring(3, 5) >= 3)
         print(r.uniform(0.5, 0.9), r.string(''))",
        done,
    );
    assert_eq!(text, "0\t\n");
}

#[test]
fn reports_and_histograms_are_printed_as_the_field_prints_them() {
    let text = printed(
        "local stat = {threads_running=2, time_interval=0.5, time_total=3.75, latency_pct=0.005, events=10,
           reads=4, writes=3, other=2, errors=1, reconnects=1}
         sysbench.report_default(stat) sysbench.report_csv(stat)
         local h = sysbench.histogram.new(100, 0.1, 1000)
         h:update(5) h:update(7) h:print()",
        done,
    );
    let bar = "*".repeat(40);
    let expected = format!(
        "[ 4s ] thds: 2 tps: 20.00 qps: 18.00 (r/w/o: 8.00/6.00/4.00) lat (ms,95%): 5.00 err/s 2.00 \
         reconn/s: 2.00\n4,2,20.00,18.00,8.00,6.00,4.00,5.00,2.00,2.00\n\
         \x20      value  ------------- distribution ------------- count\n\
         \x20      4.977 |{bar} 1\n       7.221 |{bar} 1\n"
    );
    assert_eq!(text, expected);
}

#[test]
fn options_are_listed_as_the_field_lists_them() {
    let mut script = Script::new(
        "sysbench.cmdline.options = {long_name_of_option={'I', 7}, b={'B', false}, e={'E', ''},
           f={'F', 'x', sysbench.cmdline.ARG_FILE}, l={'L', {}}, d={'D', 1.5}, n={'x'}}
         function help() sysbench.cmdline.print_test_options() end function event() end",
    );
    script.plan.command = Some("help".to_owned());
    let mut user = script.user().expect("a script that loads");
    serve(&mut user, &Wish::Command("help".to_owned()), &mut events(0)).expect("the command");
    let expected = "  --b[=on|off]            B [off]
  --d=N                   D [1.5]
  --e=STRING              E []
  --f=FILENAME            F [x]
  --l=[LIST,...]          L []
  --long_name_of_option=N I [7]
  --n=STRING              x

";
    assert_eq!(*script.printed.borrow(), expected);
}

#[test]
fn a_script_counts_by_the_numbers_of_the_field() {
    let script = Script::new(
        "local ffi = require('ffi')
         ffi.cdef('void sb_counter_inc(int, sb_counter_type);')
         function event() ffi.C.sb_counter_inc(sysbench.tid, 1) ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_RECONNECT) end",
    );
    assert_eq!(script.run(1).expect("a script that runs"), ["count 1", "count 5"]);
}

#[test]
fn an_event_that_returns_something_is_called_off() {
    for (source, cancelled) in [("return true", true), ("return nil", false)] {
        let script = Script::new(&format!("function event() {source} end"));
        let mut user = script.user().expect("a script that loads");
        serve(&mut user, &Wish::ThreadRun, &mut events(1)).expect("a script that runs");
        assert_eq!(user.has_cancelled(), cancelled, "{source}");
    }
}

#[test]
fn what_sleeps_lets_others_go_on() {
    let script = Script::new(
        "local ffi = require('ffi')
         ffi.cdef('int usleep(unsigned int); unsigned int sleep(unsigned int);')
         function event() ffi.C.usleep(2000) ffi.C.sleep(1) os.execute('sleep 0.5') end",
    );
    let slept = ["sleep 2 ms", "sleep 1000 ms", "sleep 500 ms"];
    assert_eq!(script.run(1).expect("a script that runs"), slept);
}

#[test]
fn init_and_done_share_what_no_user_sees() {
    let script = Script::new(
        "function init() mine = 'master' end
         function thread_init() assert(mine == nil) mine = 'user' end
         function event() assert(mine == 'user') end
         function done() print(mine) end",
    );
    let mut user = script.user().expect("a script that loads");
    for wish in [Wish::Init, Wish::ThreadInit, Wish::ThreadRun, Wish::ThreadDone, Wish::Done] {
        serve(&mut user, &wish, &mut events(2)).expect("a script that runs");
    }
    assert_eq!(*script.printed.borrow(), "master\n");
}

#[test]
fn strings_have_the_methods_that_a_script_gives_them() {
    let text = printed(
        "function string.twice(text) return text .. text end
         function string:shout() return self:upper() .. '!' end
         print(('ab'):twice():shout(), ('x'):rep(3), pcall(function() return ('x'):nothing() end))",
        done,
    );
    assert!(text.starts_with("ABAB!\txxx\tfalse\t"), "{text}");
}

#[test]
fn options_are_globals_only_where_a_script_declares_none() {
    let declared = "sysbench.cmdline.options = {['my-size'] = {'A size', 3}} rate = 'own'
                    function thread_init() print(rate, threads, sysbench.opt.my_size) end
                    function event() end";
    let mut script = Script::new(declared);
    script.plan.general.insert("rate".to_owned(), Setting::Number(0.0));
    script.plan.general.insert("threads".to_owned(), Setting::Number(4.0));
    script.plan.given.insert("my_size".to_owned(), "7".to_owned());
    script.run(0).expect("a script that runs");
    assert_eq!(*script.printed.borrow(), "own\tnil\t7\n");
}

#[test]
fn what_a_file_connects_while_it_is_loaded_is_open_for_its_users() {
    let script = Script::new(
        "local con = sysbench.sql.driver():connect()
         function event() con:query('q') end",
    );
    assert_eq!(script.run(1).expect("a script that runs"), ["connect", "q"]);
}

#[test]
fn the_older_dialect_connects_by_itself() {
    let script = Script::new("function event() db_query('q') db_disconnect() db_disconnect() end");
    assert_eq!(script.run(1).expect("a script that runs"), ["connect", "q", "disconnect"]);
}

#[test]
fn what_is_written_comes_in_the_order_of_what_is_printed() {
    let text = printed("io.write('a', 1) print('b') io.stdout:write('c')", done);
    assert!(text.starts_with("a1b\nc"), "{text}");
    let text = printed("print(pcall(function() io.write('a', {}) end))", done);
    assert!(text.contains("script.lua:1: bad argument #2 to 'write' (string expected"), "{text}");
}

#[test]
fn a_thread_run_of_its_own_may_end_an_event_early() {
    let script = Script::new(
        "local ffi = require('ffi')
         ffi.cdef('bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);')
         function thread_run(id)
           while ffi.C.sb_more_events(id) do
             ffi.C.sb_event_start(id)
             ffi.C.sb_event_stop(id)
             os.execute('sleep 0.1')
           end
         end",
    );
    assert_eq!(
        script.run(2).expect("a script that runs"),
        ["event over", "sleep 100 ms"].repeat(2)
    );
}

#[test]
fn a_statement_is_closed_with_its_connection_and_once() {
    let script = Script::new(
        "function thread_init()
           local con = sysbench.sql.driver():connect()
           local one, other = con:prepare('SELECT 1'), con:prepare('SELECT 2')
           local function try() return (select(2, pcall(function() one:execute() end)):gsub('^.*: ', '')) end
           print(one:close(), one:close(), try())
           other:execute()
           one = other
           con:reconnect()
           print(other:close(), try())
           one = con:prepare('SELECT 3')
           one:execute()
           con:disconnect()
           print(try())
         end
         function event() end",
    );
    let seen = script.run(0).expect("it runs");
    let closed = "attempt to use an already closed statement";
    assert_eq!(*script.printed.borrow(), format!("0\t0\t{closed}\n0\t{closed}\n{closed}\n"));
    let closes = seen.iter().filter(|request| request.starts_with("close")).count();
    assert_eq!(closes, 1, "{seen:?}");
}
