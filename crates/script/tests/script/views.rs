//! What users share looks to a script like tables of its own.

use loadstone_script::Wish;

use crate::fed::{Script, events, printed_by_two, serve};

/// Checks what each of two users prints in `thread_init()`.
fn each_prints(body: &str, expected: &str) {
    let printed = printed_by_two(&format!("function thread_init() {body} end"));
    assert_eq!(printed, expected.repeat(2), "{body}");
}

#[test]
fn what_a_script_takes_away_stays_away() {
    let declared = "sysbench.cmdline.options = { size = { 'how many', 5 } }";
    let printed = printed_by_two(&format!(
        "{declared}
         function thread_init() sysbench.opt.size = nil print(sysbench.opt.size) end"
    ));
    assert_eq!(printed, "nil\n".repeat(2));
    for place in [
        "sysbench.sql",
        "sysbench.sql.type",
        "sysbench.sql.type.INT",
        "sysbench.rand",
        "sysbench.version",
        "sysbench.opt",
        "sysbench.rand.default",
        "package.path",
        "package.preload",
        "package.loaded.string",
        "string.rep",
        "newproxy",
        "coroutine",
        "_G",
    ] {
        for before in ["", "local _ = PLACE", "PLACE = 1", "PLACE = PLACE PLACE = 1"] {
            let before = before.replace("PLACE", place);
            each_prints(&format!("{before} {place} = nil print({place})"), "nil\n");
        }
    }
    each_prints("rawset(_G, 'unpack', nil) print(unpack)", "nil\n");
    each_prints("rawset(_G, 'unpack', 1) unpack = nil print(unpack)", "nil\n");
    each_prints("io = nil for name in pairs(_G) do assert(name ~= 'io') end print(io)", "nil\n");
    each_prints("string = nil print((pcall(function() return ('x'):mine() end)))", "false\n");
    each_prints("string = nil print(('x'):rep(2))", "xx\n");
}

#[test]
fn what_a_view_shows_is_there_without_its_metatable() {
    each_prints(
        "print(rawget(sysbench, 'sql') == sysbench.sql, rawget(package.loaded, 'io') == io,
           rawget(string, 'format') == string.format, rawget(_G, 'unpack') == unpack,
           rawget(sysbench.rand, 'mine'))",
        "true\ttrue\ttrue\ttrue\tnil\n",
    );
    let printed = printed_by_two(
        "sysbench.cmdline.options = { size = { 'how many', 5 } }
         function thread_init()
           local opt = rawget(sysbench.opt, 'size')
           rawset(sysbench.opt, 'size', 6)
           print(opt, rawget(sysbench.opt, 'size'), rawget(sysbench.cmdline, 'options').size[2])
         end",
    );
    assert_eq!(printed, "5\t6\t5\n".repeat(2));
}

#[test]
fn constants_that_a_script_changes_stay_what_they_are_for_others() {
    each_prints(
        "local sql, found = sysbench.sql, {}
         print(sql.type.INT, sql.error.FATAL, sql.type == sql.type, type(sql.driver))
         sql.type.INT, sql.error.FATAL = 'mine', 'mine'
         for name in pairs(sql) do found[#found + 1] = name end
         table.sort(found)
         print(sql.type.INT, sql.error.FATAL, sql.type.BIGINT, table.concat(found, ' '))",
        "3\t2\ttrue\tfunction\nmine\tmine\t4\tdriver error type\n",
    );
}

#[test]
fn foreach_visits_what_a_view_shows() {
    each_prints(
        "local count = 0
         table.foreach(math, function(name) if name == 'floor' then count = count + 1 end end)
         table.foreach(sysbench.cmdline, function(name) if name == 'ARG_INT' then count = count + 1 end end)
         print(count, table.foreach({ 'a' }, function(_, value) return value end))",
        "2\ta\n",
    );
}

#[test]
fn arguments_that_are_missing_are_told_where_the_script_calls() {
    for (call, told) in [
        ("setmetatable({})", "bad argument #2 to 'setmetatable' (nil or table expected)"),
        ("getmetatable()", "bad argument #1 to 'getmetatable' (value expected)"),
        ("rawget({})", "bad argument #2 to 'rawget' (value expected)"),
        ("rawget(_G)", "bad argument #2 to 'rawget' (value expected)"),
        ("rawset({}, 1)", "bad argument #3 to 'rawset' (value expected)"),
        ("pairs()", "bad argument #1 to 'pairs' ("),
        ("next()", "bad argument #1 to 'next' ("),
    ] {
        let script = Script::new(&format!("function event() {call} end"));
        let mut user = script.user().expect("a script that loads");
        let problem = serve(&mut user, &Wish::ThreadRun, &mut events(1)).expect_err(call);
        let problem = problem.to_string();
        assert!(problem.contains(&format!("script.lua:1: {told}")), "{call}: {problem}");
    }
}

#[test]
fn declared_options_that_a_script_holds_stay_the_same_table() {
    let printed = printed_by_two(
        "local options = { size = { 'how many', 5 } }
         sysbench.cmdline.options = options
         function thread_init()
           collectgarbage()
           options.size[2] = 6
           print(sysbench.cmdline.options == options, sysbench.cmdline.options.size[2])
           sysbench.cmdline.options = nil
           print(sysbench.cmdline.options)
         end",
    );
    assert_eq!(printed, "true\t6\nnil\n".repeat(2));
    let printed = printed_by_two(
        "sysbench.cmdline.options = { size = { 'how many', 5 } }
         function thread_init() sysbench.cmdline.options = nil print(sysbench.cmdline.options) end",
    );
    assert_eq!(printed, "nil\n".repeat(2));
}

#[test]
fn a_script_may_change_all_that_a_view_shows() {
    each_prints(
        "local names = {}
         for name in pairs(package.loaded.math) do names[#names + 1] = name end
         local other = require('bit')
         for name in pairs(getmetatable('').__index) do string[name] = 1 end
         for _, name in ipairs({ 'bor', 'band', 'bxor', 'bnot', 'rol', 'ror', 'bswap' }) do
           other[name] = 1 other[name] = nil
           assert(other[name] == nil and bit[name] == nil)
         end
         print(#names > 20, string.rep, other.tohex ~= nil, rawget(other, 'bor'))",
        "true\t1\ttrue\tnil\n",
    );
}

#[test]
fn each_user_draws_from_lua_s_own_generator_as_if_alone() {
    let drawn = |body: &str| {
        let printed = printed_by_two(&format!("function thread_init() {body} end"));
        let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
        assert_eq!(lines[0], lines[1], "{body}");
        lines[0].clone()
    };
    let first = drawn("print(math.random(1e9), math.random(1e9))");
    assert_eq!(first, drawn("local draw = math.random print(draw(1e9), math.random(1e9))"));
    assert_ne!(first, drawn("math.randomseed(7) print(math.random(1e9), math.random(1e9))"));
    each_prints(
        "math.randomseed(7) local first = math.random(1e9)
         math.randomseed(7) print(math.random(1e9) == first, rawget(math, 'random') == math.random, math.floor(1.5))
         math.random = nil print(math.random, math.randomseed ~= nil)",
        "true\ttrue\t1\nnil\ttrue\n",
    );
}

#[test]
fn methods_of_strings_are_what_a_script_makes_of_them() {
    each_prints(
        "print(('x'):upper(), getmetatable('').__index == string)
         function string.upper(text) return text .. sysbench.tid - sysbench.tid end
         function string:twice() return self .. self end
         print(('x'):upper(), ('x'):twice(), ('X'):lower(), ('x').none)",
        "X\ttrue\nx0\txx\tx\tnil\n",
    );
    each_prints(
        "local meta = getmetatable('')
         function meta.__index(text, at) return string[at] or string.sub(text, at, at) end
         function meta.__mod(text, values) return string.format(text, unpack(values)) end
         function meta:__call(...) return self .. select('#', ...) end
         print(('abc')[2], ('abc'):rep(2), '%d-%s' % { 5, 'x' }, ('f')(1, 2), getmetatable(meta))
         print((select(2, pcall(function() return 'a' + 1 end)):gsub('.*: ', '')))",
        "b\tabcabc\t5-x\tf2\tnil\nattempt to perform arithmetic on a string value\n",
    );
}

#[test]
fn a_script_may_add_a_loader_of_modules() {
    each_prints(
        "print(#package.loaders, (select(2, pcall(require, 'made.up')):match('^[^\\n]*')))
         table.insert(package.loaders, 1, function(name)
           if name == 'made.up' then return function() return { tid = sysbench.tid - sysbench.tid } end end
           return '\\n\\tnot made up'
         end)
         print(require('made.up').tid, (select(2, pcall(require, 'other')):match('not made up')))",
        "4\tmodule 'made.up' not found:\n0\tnot made up\n",
    );
}

#[test]
fn what_a_script_changes_in_its_package_is_what_require_uses() {
    each_prints(
        "print(package.preload.made)
         function package.preload.made() return { 7 } end
         package.loaders[2] = function() return '\\n\\tnot there' end
         print(require('made')[1], (select(2, pcall(require, 'other')):match('not there')))
         package.loaders = {}
         print(pcall(require, 'other'))
         package.loaders = nil
         print((pcall(require, 'other')))",
        "nil\n7\tnot there\nfalse\tmodule 'other' not found:\nfalse\n",
    );
}

#[test]
fn arguments_of_the_command_line_are_each_user_s_own() {
    each_prints(
        "local argv = sysbench.cmdline.argv
         print(argv.mine, argv == sysbench.cmdline.argv)
         argv.mine = sysbench.tid",
        "nil\ttrue\n",
    );
}
