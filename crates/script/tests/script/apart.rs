//! Users share code and nothing else.

use loadstone_script::{Command, Wish};

use crate::fed::{Script, events, printed_by_two, serve};

#[test]
fn globals_modules_and_libraries_of_one_user_are_not_seen_by_another() {
    let script = Script::new(
        "require('shared')
         count = (count or 0) + 1
         string.mine = (string.mine or 0) + 1
         function thread_init()
           _G['name' .. sysbench.tid] = true
           shared.count = shared.count + 1
           loadstring('loaded = (loaded or 0) + 1')()
           sysbench.hooks.mine = (sysbench.hooks.mine or 0) + 1
           print(count, shared.count, loaded, string.mine, sysbench.hooks.mine, name0, name1, _G.count == count,
             getfenv(0) == _G, package.loaded.shared)
         end
         function event() end",
    );
    script.add("shared.lua", "shared = {count = 0}");
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("the first"), vm.user(1).expect("the second")];
    for user in &mut users {
        serve(user, &Wish::ThreadInit, &mut events(0)).expect("init");
    }
    let expected = "1\t1\t1\t1\t1\ttrue\tnil\ttrue\ttrue\ttrue\n\
                    1\t1\t1\t1\t1\tnil\ttrue\ttrue\ttrue\ttrue\n";
    assert_eq!(*script.printed.borrow(), expected);
}

#[test]
fn users_that_wait_for_answers_go_on_where_they_were() {
    let script = Script::new(
        "function thread_init() con = sysbench.sql.driver():connect() end
         function event() for i = 1, 3 do con:query(sysbench.tid .. ' ' .. i) end end",
    );
    let mut vm = script.vm();
    let mut users: Vec<_> = (0..4).map(|number| vm.user(number).expect("a user")).collect();
    for user in &mut users {
        serve(user, &Wish::ThreadInit, &mut events(0)).expect("init");
        user.begin(&Wish::ThreadRun).expect("the beginning");
    }
    let mut seen = vec![Vec::new(); 4];
    for _ in 0..3 {
        for (user, texts) in users.iter_mut().zip(&mut seen) {
            let request = user.resume(loadstone_script::Answer::Done).expect("a statement");
            let loadstone_script::Request::Query { sql, .. } = request else {
                panic!("{request:?}")
            };
            texts.push(String::from_utf8_lossy(sql).into_owned());
        }
    }
    for (number, texts) in seen.iter().enumerate() {
        assert_eq!(*texts, [format!("{number} 1"), format!("{number} 2"), format!("{number} 3")]);
    }
}

#[test]
fn users_draw_other_numbers_and_the_same_ones_each_time() {
    let source = "function thread_init() print(sysbench.rand.uniform(1, 1000000000)) end function event() end";
    let drawn = || {
        let script = Script::new(source);
        let mut vm = script.vm();
        for number in 0..3 {
            let mut user = vm.user(number).expect("a user");
            serve(&mut user, &Wish::ThreadInit, &mut events(0)).expect("init");
        }
        script.printed.borrow().clone()
    };
    let first = drawn();
    assert_eq!(first, drawn());
    let mut lines: Vec<&str> = first.lines().collect();
    lines.dedup();
    assert_eq!(lines.len(), 3, "{first}");
}

#[test]
fn a_script_may_declare_types_and_give_them_methods_for_each_user() {
    let script = Script::new(
        "local ffi = require('ffi')
         ffi.cdef[[typedef struct { int n; } mine_t;]]
         local mine = ffi.metatype('mine_t', { __index = { tid = function() return sysbench.tid end } })
         function thread_init() print(mine(1):tid()) end
         function event() end",
    );
    let mut vm = script.vm();
    for number in 0..3 {
        let mut user = vm.user(number).expect("a user");
        serve(&mut user, &Wish::ThreadInit, &mut events(0)).expect("init");
    }
    assert_eq!(*script.printed.borrow(), "0\n1\n2\n");
}

/// A full state's memory, without garbage, for each of its users: the least of several, as LuaJIT
/// compiles at times more and at times less of the script.
fn memory_a_user(source: &str) -> usize {
    (0..5).map(|_| memory_of_one_state(source)).min().expect("states")
}

fn memory_of_one_state(source: &str) -> usize {
    let script = Script::new(&format!("{source} function thread_done() collectgarbage() end"));
    let mut vm = script.vm();
    let mut users: Vec<_> = (0..64).map(|number| vm.user(number).expect("a user")).collect();
    for user in &mut users {
        serve(user, &Wish::ThreadInit, &mut events(0)).expect("init");
        serve(user, &Wish::ThreadRun, &mut events(2)).expect("events");
    }
    serve(&mut users[0], &Wish::ThreadDone, &mut events(0)).expect("done");
    vm.used_bytes() / users.len()
}

#[test]
fn what_users_leave_before_their_events_is_collected() {
    let script = Script::new(
        "function thread_init()
           local garbage = {}
           for i = 1, 100 do garbage[i] = { i } end
         end
         function event() end
         function thread_done() collectgarbage() end",
    );
    let mut vm = script.vm();
    let mut users: Vec<_> = (0..64).map(|number| vm.user(number).expect("a user")).collect();
    for user in &mut users {
        serve(user, &Wish::ThreadInit, &mut events(0)).expect("init");
    }
    for user in &mut users {
        serve(user, &Wish::ThreadRun, &mut events(0)).expect("no event");
    }
    let before = vm.used_bytes();
    serve(&mut users[0], &Wish::ThreadDone, &mut events(0)).expect("done");
    let left = before.saturating_sub(vm.used_bytes());
    assert!(left <= before / 20, "{left} of {before} bytes were garbage");
}

#[test]
fn a_collector_that_a_script_has_stopped_stays_stopped() {
    let script = Script::new(
        "function thread_init() collectgarbage('stop') end
         function event() print(collectgarbage('isrunning')) end",
    );
    script.run(1).expect("an event");
    assert_eq!(*script.printed.borrow(), "false\n");
}

#[test]
fn a_scripted_user_takes_little_memory() {
    let each = memory_a_user(
        "function thread_init() con = sysbench.sql.driver():connect() end
         function event() con:query(string.format('SELECT %d', sysbench.rand.default(1, 9))) end",
    );
    assert!(each <= 8 * 1024, "{each} bytes");
}

#[test]
fn a_prepared_statement_takes_little_memory() {
    let source = |count| {
        format!(
            "function thread_init()
               con = sysbench.sql.driver():connect()
               statements, parameters = {{}}, {{}}
               for i = 1, {count} do
                 statements[i] = con:prepare('SELECT c FROM t WHERE id=?')
                 parameters[i] = statements[i]:bind_create(sysbench.sql.type.INT)
                 statements[i]:bind_param(parameters[i])
               end
             end
             function event() parameters[1]:set(1) statements[1]:execute() end"
        )
    };
    let each = (memory_a_user(&source(101)) - memory_a_user(&source(1))) / 100;
    assert!(each <= 450, "{each} bytes");
}

#[test]
fn an_option_that_a_script_sets_takes_little_memory() {
    let source = |body| {
        format!(
            "sysbench.cmdline.options = {{}}
             for i = 1, 100 do sysbench.cmdline.options['option' .. i] = {{ 'one of many', i }} end
             function event() {body} end"
        )
    };
    let without = memory_a_user(&source(""));
    let with = memory_a_user(&source("sysbench.opt.option7 = 1"));
    assert!(with <= without + 400, "{with} bytes, {without} without it");
}

#[test]
fn globals_that_all_users_share_look_like_their_own() {
    let printed = printed_by_two(
        "function thread_init()
           print(getmetatable(_G), rawget(_G, 'tostring') == tostring, rawget(_G, 'table') == table, rawget(_G, 'mine'))
           local seen = {}
           for name in next, _G do seen[name] = true end
           print(seen.tostring, seen.sb_rand, seen.string, seen.thread_init, seen._G, seen.mine)
           tostring, io = nil, nil
           print(tostring, io, type(os), sysbench.tid)
         end",
    );
    let of = |tid| {
        format!("nil\ttrue\ttrue\tnil\ntrue\ttrue\ttrue\ttrue\ttrue\tnil\nnil\tnil\ttable\t{tid}\n")
    };
    assert_eq!(printed, of(0) + &of(1));
}

#[test]
fn a_global_that_is_taken_away_stays_away() {
    let printed = printed_by_two(
        "unpack, string = nil, nil
         function thread_init() print(unpack, string, type(math.floor), rawget(_G, 'unpack')) end",
    );
    assert_eq!(printed, "nil\tnil\tfunction\tnil\n".repeat(2));
}

#[test]
fn a_script_may_forbid_undeclared_globals() {
    let printed = printed_by_two(
        "local mt = getmetatable(_G)
         if mt == nil then mt = {} setmetatable(_G, mt) end
         mt.__index = function(_, name) error('undeclared ' .. name, 2) end
         mt.__newindex = function(_, name) error('assigned ' .. name, 2) end
         rawset(_G, 'thread_init', function()
           print(type(string.format), type(db_query), sysbench.tid)
           print((select(2, pcall(function() return missing end)):gsub('.*: ', '')))
           print((select(2, pcall(function() missing = 1 end)):gsub('.*: ', '')))
         end)
         rawset(_G, 'event', function() end) do return end",
    );
    let of = |tid| format!("function\tfunction\t{tid}\nundeclared missing\nassigned missing\n");
    assert_eq!(printed, of(0) + &of(1));
}

#[test]
fn options_are_shared_until_a_script_changes_them() {
    let printed = printed_by_two(
        "sysbench.cmdline.options = { size = { 'how many', 5 }, hosts = { 'where', { 'a', 'b' } } }
         function thread_init()
           local options, opt = sysbench.cmdline.options, sysbench.opt
           print(options.size[1], options.size[2], options.hosts[2][2], opt.size, opt.hosts[2])
           options.size[2], options.hosts[2][2], opt.size, opt.hosts[2] = 6, 'c', 7, 'd'
           local names = {}
           for name in pairs(opt) do names[#names + 1] = name end
           table.sort(names)
           print(sysbench.cmdline.options.size[2], opt.size, opt.hosts[1], table.concat(names, ' '))
         end",
    );
    let expected = "how many\t5\tb\t5\tb\n6\t7\ta\thosts size\n";
    assert_eq!(printed, expected.repeat(2));
}

#[test]
fn files_that_a_user_chooses_to_read_and_write_are_not_chosen_for_others() {
    let script = Script::new(
        "function thread_init()
           if sysbench.tid == 0 then
             path = os.tmpname()
             assert(io.output(path) == io.output())
           end
           io.write('from ', sysbench.tid, '\\n')
         end
         function event() end
         function thread_done()
           io.write('by ', sysbench.tid, '\\n')
           if path then
             io.close()
             io.output(io.stdout)
             io.input(path)
             print(io.read('*l'), io.lines()(), io.read())
             print((pcall(io.output, path .. '/none')))
             os.remove(path)
           end
           io.write(tostring(io.input() == io.stdin), '\\n')
         end",
    );
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("the first"), vm.user(1).expect("the second")];
    for wish in [Wish::ThreadInit, Wish::ThreadDone] {
        for user in &mut users {
            serve(user, &wish, &mut events(0)).expect("it runs");
        }
    }
    let of_first = "from 0\tby 0\tnil\nfalse\nfalse\n";
    assert_eq!(*script.printed.borrow(), format!("from 1\n{of_first}by 1\ntrue\n"));
}

#[test]
fn what_only_c_can_set_is_not_set_for_all_users() {
    let printed = printed_by_two(
        "local ffi = require('ffi')
         function thread_init()
           print((pcall(function() ffi.C.mine = sysbench.tid end)), (pcall(function() return ffi.C.mine end)))
         end",
    );
    assert_eq!(printed, "false\tfalse\n".repeat(2));
}

#[test]
fn machine_code_is_made_of_draws() {
    let script = Script::new(
        "local begun, made = nil, {}
         jit.attach(function(what, _, of)
           if what == 'start' then begun = of elseif what == 'stop' then made[begun] = true end
         end, 'trace')
         function thread_init()
           local sum = 0
           for _ = 1, 1000 do sum = sum + sysbench.rand.uniform(1, 100) + sysbench.rand.default(1, 100) end
           print(made[thread_init], sum > 0)
         end
         function event() end",
    );
    let mut user = script.user().expect("a user");
    serve(&mut user, &Wish::ThreadInit, &mut events(0)).expect("init");
    assert_eq!(*script.printed.borrow(), "true\ttrue\n");
}

#[test]
fn few_users_share_a_state_as_all_wait_while_it_collects_garbage() {
    // A function of the library is another one in each state.
    let script = Script::new("print(tostring(sysbench.rand.default)) function event() end");
    let mut vm = script.vm();
    let users: Vec<_> = (0..130).map(|number| vm.user(number).expect("a user")).collect();
    let printed = script.printed.borrow();
    let states: Vec<&str> = printed.lines().collect();
    let sizes: Vec<usize> = states.chunk_by(|one, next| one == next).map(<[_]>::len).collect();
    assert_eq!((sizes, users.len()), (vec![64, 64, 2], 130));
}

#[test]
fn libraries_are_shared_and_can_still_be_listed_and_changed() {
    let script = Script::new(
        "function thread_init()
           local names = {}
           for name in pairs(string) do names[name] = true end
           print(names.format, names.rep, names.mine, rawget(math, 'floor') == math.floor)
           string.mine, math.floor = sysbench.tid, 'mine'
           for name, value in pairs(string) do if name == 'mine' then print(name, value) end end
           print(math.floor, math.ceil(1.5), ('x'):rep(2), ffi.C ~= nil, sysbench.rand.default ~= nil)
         end
         function event() end
         ffi = require('ffi')",
    );
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("the first"), vm.user(1).expect("the second")];
    for user in &mut users {
        serve(user, &Wish::ThreadInit, &mut events(0)).expect("init");
    }
    let of = |tid| format!("true\ttrue\tnil\ttrue\nmine\t{tid}\nmine\t2\txx\ttrue\ttrue\n");
    assert_eq!(*script.printed.borrow(), of(0) + &of(1));
}

#[test]
fn a_command_says_whether_it_runs_on_all_threads() {
    let source = "function prepare() print('prepare') end
         sysbench.cmdline.commands = { warm = { function() print('warm') end, sysbench.cmdline.PARALLEL_COMMAND } }
         function event() end";
    for (name, how) in [("prepare", Command::Single), ("warm", Command::Parallel)] {
        let mut script = Script::new(source);
        script.plan.command = Some(name.to_owned());
        let mut vm = script.vm();
        let mut user = vm.user(0).expect("a user");
        assert_eq!(vm.command(&user), Ok(how));
        serve(&mut user, &Wish::Command(name.to_owned()), &mut events(0)).expect("the command");
        assert_eq!(*script.printed.borrow(), format!("{name}\n"));
    }
    let mut script = Script::new(source);
    script.plan.command = Some("cleanup".to_owned());
    let mut vm = script.vm();
    let user = vm.user(0).expect("a user");
    let told = vm.command(&user).expect_err("no such command").to_string();
    assert!(told.contains("cleanup") && told.contains("script.lua"), "{told}");
}

#[test]
fn thousands_of_users_come_from_one_thread() {
    let script = Script::new("function event() mine = (mine or 0) + 1 assert(mine == 1) end");
    let mut vm = script.vm();
    let mut users: Vec<_> = (0..4100).map(|number| vm.user(number).expect("a user")).collect();
    for user in &mut users {
        serve(user, &Wish::ThreadRun, &mut events(1)).expect("an event of its own");
    }
}
