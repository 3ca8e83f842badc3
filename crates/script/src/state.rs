//! A Lua state with the library in it.
#![expect(unsafe_code, reason = "scripts need LuaJIT's FFI, which no state offers that is safe")]

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_protocol::ResultSet;
use mlua::{Function, LightUserData, Lua, LuaOptions, StdLib, Table, Thread};

use crate::ffi_mailbox::{DECLARATIONS, Mailbox};
use crate::plan::{IgnoredErrors, Output, ScriptPlan};
use crate::stream::{Stream, functions};
use crate::watchdog_state::Watch;
use crate::{Declared, Kind, ScriptError};

/// What a state shares with the functions that it calls.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Further results of an answer after the current one, for each connection.
    further: RefCell<HashMap<u32, VecDeque<ResultSet>>>,
    /// The result that was taken last: the mailbox points to it.
    taken: RefCell<Option<ResultSet>>,
    /// A script has changed something for the whole state: no other user may share it.
    own_state: Cell<bool>,
}

/// A Lua state, its users' random numbers and the memory it shares with the engine.
pub(crate) struct State {
    /// Closed first: what a script does then may still draw and send requests.
    lua: Lua,
    kernel: Table,
    /// `sysbench.opt`, once the first user's script has declared it.
    pub(crate) options: OnceCell<Table>,
    streams: Streams,
    pub(crate) mailbox: Rc<Mailbox>,
    shared: Rc<Shared>,
    pub(crate) watch: Arc<Watch>,
}

/// The random streams of a state's users: they do not move, as Lua has their addresses.
#[derive(Default)]
struct Streams(RefCell<Vec<*mut Stream>>);

impl Streams {
    fn keep(&self, stream: Stream) -> *mut c_void {
        let stream = Box::into_raw(Box::new(stream));
        self.0.borrow_mut().push(stream);
        stream.cast()
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        for stream in self.0.get_mut().drain(..) {
            // SAFETY: it was created by `Box::into_raw` in `keep`, and the state that knew it is
            // closed.
            drop(unsafe { Box::from_raw(stream) });
        }
    }
}

impl State {
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn new(plan: &ScriptPlan, output: &Output) -> Result<Self, ScriptError> {
        // With `false` mlua replaces LuaJIT's `pcall` by one through which nothing can yield. No
        // function that a script can call panics.
        let options = LuaOptions::new().catch_rust_panics(true);
        // SAFETY: a script may do anything that a program may, as in sysbench: it is the user's own
        // code. The functions that we provide are safe to call.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, options) };
        lua.set_memory_limit(plan.memory_bytes)?;
        let watch = Watch::of(&lua)?;
        plan.watches.add(&watch);
        let mailbox = Rc::new(Mailbox::new());
        let shared = Rc::new(Shared::default());
        let host = host(&lua, plan, output, &mailbox, &shared)?;
        let kernel = load_library(&lua, host)?;
        Ok(Self {
            lua,
            kernel,
            options: OnceCell::new(),
            streams: Streams::default(),
            mailbox,
            shared,
            watch,
        })
    }

    /// A user with its coroutine, and the library's record of it.
    pub(crate) fn user(
        &self,
        number: u64,
        stream: Stream,
        script: &str,
    ) -> Result<(Table, Thread), ScriptError> {
        let stream = LightUserData(self.streams.keep(stream));
        Ok(self.call("user", (number, stream, script))?)
    }

    /// Calls a function of `kernel.lua`.
    pub(crate) fn call<R: mlua::FromLuaMulti>(
        &self,
        name: &str,
        arguments: impl mlua::IntoLuaMulti,
    ) -> mlua::Result<R> {
        self.kernel.get::<Function>(name)?.call(arguments)
    }

    pub(crate) fn table(&self) -> mlua::Result<Table> {
        self.lua.create_table()
    }

    /// Whether each user needs a state of its own.
    pub(crate) fn needs_own_state(&self) -> bool {
        self.shared.own_state.get()
    }

    /// From now on each user needs one.
    pub(crate) fn need_own_state(&self) {
        self.shared.own_state.set(true);
    }

    /// Results after the first one wait until the script asks for them, or for something else.
    pub(crate) fn keep_further(&self, connection: u32, results: &[ResultSet]) {
        let mut further = self.shared.further.borrow_mut();
        match results {
            [_, rest @ ..] if !rest.is_empty() => {
                further.insert(connection, rest.to_vec().into());
            }
            _ if further.is_empty() => {}
            _ => {
                further.remove(&connection);
            }
        }
    }

    /// Options that the script of this user declares; `None` if it declares none.
    pub(crate) fn declared(&self, user: &Table) -> Result<Option<Vec<Declared>>, ScriptError> {
        let (list, problem): (Option<Table>, Option<mlua::String>) = self.call("declared", user)?;
        if let Some(problem) = problem {
            // sysbench names the function that reads them.
            let reader = "`sysbench.cmdline.read_cmdline_options' function failed";
            let message = format!("{reader}: {}", problem.to_string_lossy());
            return Err(ScriptError::Load { message });
        }
        let Some(list) = list else { return Ok(None) };
        list.sequence_values::<Table>()
            .map(|option| read_declared(&option?))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// The bytes of memory that Lua uses.
    pub(crate) fn used_bytes(&self) -> usize {
        self.lua.used_memory()
    }
}

fn read_declared(option: &Table) -> Result<Declared, ScriptError> {
    let name: String = option.get("name")?;
    let number: i64 = option.get("kind")?;
    let kind = Kind::of_number(number).ok_or_else(|| ScriptError::Load {
        message: format!("Unknown argument type: {number} (the option '{name}')"),
    })?;
    Ok(Declared { kind, help: option.get("help")?, default: option.get("default")?, name })
}

/// What the engine provides to the library in Lua.
fn host(
    lua: &Lua,
    plan: &ScriptPlan,
    output: &Output,
    mailbox: &Rc<Mailbox>,
    shared: &Rc<Shared>,
) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.set("declarations", DECLARATIONS)?;
    host.set("mailbox", LightUserData(mailbox.address()))?;
    host.set("version", plan.version.as_str())?;
    let addresses = lua.create_table()?;
    for (name, address) in functions() {
        addresses.set(name, LightUserData(address))?;
    }
    host.set("functions", addresses)?;
    host.set("ignored_errors", ignored_errors(lua, &plan.ignored_errors)?)?;
    host.set("command_line", command_line(lua, plan)?)?;
    let out = output.clone();
    let print = move |_: &Lua, text: mlua::String| {
        out(&text.as_bytes());
        Ok(())
    };
    host.set("print", lua.create_function(print)?)?;
    let flag = shared.clone();
    let need_own_state = move |_: &Lua, ()| {
        flag.own_state.set(true);
        Ok(())
    };
    host.set("need_own_state", lua.create_function(need_own_state)?)?;
    // SAFETY: this is LuaJIT's own function that opens a library in the state that calls it.
    let open_math = unsafe { lua.create_c_function(mlua::ffi::luaopen_math) }?;
    host.set("open_math", open_math)?;
    further_results(lua, &host, mailbox, shared)?;
    Ok(host)
}

fn further_results(
    lua: &Lua,
    host: &Table,
    mailbox: &Rc<Mailbox>,
    shared: &Rc<Shared>,
) -> mlua::Result<()> {
    let results = shared.clone();
    let more = move |_: &Lua, connection: u32| {
        Ok(results.further.borrow().get(&connection).is_some_and(|rest| !rest.is_empty()))
    };
    host.set("more_results", lua.create_function(more)?)?;
    let (results, mailbox) = (shared.clone(), mailbox.clone());
    let next = move |_: &Lua, connection: u32| {
        let next = results.further.borrow_mut().get_mut(&connection).and_then(VecDeque::pop_front);
        let mut taken = results.taken.borrow_mut();
        *taken = next;
        if let Some(result) = &*taken {
            mailbox.put_result(result);
        }
        Ok(taken.is_some())
    };
    host.set("next_result", lua.create_function(next)?)
}

fn ignored_errors(lua: &Lua, errors: &IgnoredErrors) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    match errors {
        IgnoredErrors::All => table.set("all", true)?,
        // Scripts know errors by their numbers, and by their states where servers have no numbers.
        IgnoredErrors::These(codes) => {
            for code in codes {
                table.set(code.to_string(), true)?;
                if let Some(number) = code.number() {
                    table.set(number, true)?;
                }
            }
        }
    }
    Ok(table)
}

fn command_line(lua: &Lua, plan: &ScriptPlan) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("command", plan.command.as_deref())?;
    table.set("script", plan.script.as_str())?;
    table.set("arguments", plan.arguments.as_slice())?;
    Ok(table)
}

/// Runs the library's files, each with those it builds on; returns what `kernel.lua` offers.
fn load_library(lua: &Lua, host: Table) -> mlua::Result<Table> {
    let run = |name: &str, source: &str, parts: &[&Table]| -> mlua::Result<Table> {
        let parts: mlua::MultiValue =
            parts.iter().map(|&part| mlua::Value::Table(part.clone())).collect();
        lua.load(source).set_name(format!("=[{name}]")).call(parts)
    };
    let state = run("state", include_str!("lua/state.lua"), &[&host])?;
    let random = run("random", include_str!("lua/random.lua"), &[&state])?;
    let histogram = run("histogram", include_str!("lua/histogram.lua"), &[&state])?;
    let report = run("report", include_str!("lua/report.lua"), &[&state])?;
    let refusal = run("refusal", include_str!("lua/refusal.lua"), &[&state])?;
    let result = run("result", include_str!("lua/result.lua"), &[&state])?;
    let parts = [&state, &random, &refusal, &result];
    let statement = run("statement", include_str!("lua/statement.lua"), &parts)?;
    let parts = [&state, &refusal, &result, &statement];
    let sql = run("sql", include_str!("lua/sql.lua"), &parts)?;
    let parts = [&state, &sql, &random, &result];
    let legacy = run("legacy", include_str!("lua/legacy.lua"), &parts)?;
    let cmdline = run("cmdline", include_str!("lua/cmdline.lua"), &[&state])?;
    let views = run("views", include_str!("lua/views.lua"), &[])?;
    let strings = run("strings", include_str!("lua/strings.lua"), &[&state, &views])?;
    let numbers = run("numbers", include_str!("lua/numbers.lua"), &[&state, &views])?;
    let files = run("files", include_str!("lua/files.lua"), &[&state, &views])?;
    let parts = [
        &state, &views, &strings, &numbers, &files, &sql, &random, &histogram, &report, &legacy,
        &cmdline,
    ];
    let environments = run("environment", include_str!("lua/environment.lua"), &parts)?;
    run("kernel", include_str!("lua/kernel.lua"), &[&state, &environments, &sql, &cmdline, &report])
}
