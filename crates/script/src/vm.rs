//! A Lua state with a script loaded: creates the script's users, and knows its options, commands
//! and hooks.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_protocol::Code;

use crate::configure::configure;
use crate::plan::{Output, ScriptPlan};
use crate::state::State;
use crate::stream::Stream;
use crate::user::User;
use crate::{Declared, ScriptError};

/// The command that drives events.
const RUN: &str = "run";

/// How a command of a script runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Once.
    Single,
    /// On all threads at once.
    Parallel,
}

impl Command {
    fn of(kind: &str) -> Self {
        if kind == "parallel" { Self::Parallel } else { Self::Single }
    }
}

/// How many users share a state. LuaJIT's collector works in small steps, except that it ends each round by walking
/// the stacks of all coroutines at once: all users of the thread wait for that, so a state has few of them. What a
/// state itself takes (its library, and machine code for the script) is shared by enough of them.
const MOST_USERS: u32 = 64;

/// Creates the users of one thread. Dozens of them share a Lua state, and with it the script's
/// code, unless the script does something that needs a state of its own.
pub struct Vm {
    plan: Arc<ScriptPlan>,
    output: Output,
    state: Rc<State>,
    /// The number of users in the state.
    users: u32,
}

impl Vm {
    /// A state for this script, with its output to `output`.
    ///
    /// # Errors
    /// LuaJIT is out of memory.
    pub fn new(plan: Arc<ScriptPlan>, output: Output) -> Result<Self, ScriptError> {
        let state = Rc::new(State::new(&plan, &output)?);
        Ok(Self { plan, output, state, users: 0 })
    }

    /// The user of this number, counted over all shards: its script is loaded and its options are
    /// set; nothing else has run. It is not loaded yet if [`User::is_loading`].
    ///
    /// # Errors
    /// The script cannot be loaded, or options were given that it does not have.
    pub fn user(&mut self, number: u64) -> Result<User, ScriptError> {
        let needs_own_state = self.state.needs_own_state();
        if needs_own_state || self.users == MOST_USERS {
            if !needs_own_state {
                // The next state takes the memory of what is left of loading here.
                self.state.call::<()>("collect_garbage", ())?;
            }
            self.state = Rc::new(State::new(&self.plan, &self.output)?);
            self.users = 0;
        }
        self.users += 1;
        let mut user = self.load(number)?;
        if user.is_loading() {
            // Its request stays in the state's mailbox.
            self.state.need_own_state();
        } else {
            self.configure(&mut user)?;
        }
        Ok(user)
    }

    /// The options that the script declares, sorted by name. Given values are ignored.
    ///
    /// # Errors
    /// The script cannot be loaded.
    pub fn declared(&self) -> Result<Vec<Declared>, ScriptError> {
        let user = self.reader()?;
        Ok(self.options(&user)?.unwrap_or_default())
    }

    /// The first user, with its script loaded and no options set: for reading its declarations.
    fn reader(&self) -> Result<User, ScriptError> {
        self.load(0)
    }

    /// The same for what runs once: its `init()` and `done()` have the globals of the loaded file, and it draws other
    /// numbers than the users.
    pub(crate) fn once(&self) -> Result<User, ScriptError> {
        let user = self.load_with(0, Stream::apart)?;
        self.state.call::<()>("run_once", user.record())?;
        Ok(user)
    }

    /// The options that this user's script declares; `None`: it takes any.
    pub(crate) fn options(&self, user: &User) -> Result<Option<Vec<Declared>>, ScriptError> {
        self.state.declared(user.record())
    }

    /// The commands that it declares.
    pub(crate) fn commands(&self, user: &User) -> Result<BTreeMap<String, Command>, ScriptError> {
        let kinds: BTreeMap<String, String> = self.state.call("commands", user.record())?;
        Ok(kinds.into_iter().map(|(name, kind)| (name, Command::of(&kind))).collect())
    }

    /// Those of these names that are functions of the script.
    pub(crate) fn functions(
        &self,
        user: &User,
        names: &[&'static str],
    ) -> Result<Vec<&'static str>, ScriptError> {
        let is_one = |name: &&'static str| self.state.call("has_function", (user.record(), *name));
        let mut found = Vec::new();
        for name in names {
            if is_one(name)? {
                found.push(*name);
            }
        }
        Ok(found)
    }

    /// The names of its hooks.
    pub(crate) fn hooks(&self, user: &User) -> Result<Vec<String>, ScriptError> {
        Ok(self.state.call("hooks", user.record())?)
    }

    /// Prints its options in sysbench's format.
    pub(crate) fn print_options(&self, user: &User) -> Result<(), ScriptError> {
        Ok(self.state.call("print_options", user.record())?)
    }

    /// Prints what follows its last report.
    pub(crate) fn end_reports(&self, user: &User) -> Result<(), ScriptError> {
        Ok(self.state.call("end_reports", user.record())?)
    }

    /// Whether the plan's command is `run`.
    pub(crate) fn is_run(&self) -> bool {
        self.plan.command.as_deref() == Some(RUN)
    }

    /// The error code that the script gets if there is no server.
    pub(crate) fn gone(&self) -> Code {
        self.plan.gone
    }

    /// How the plan's command runs.
    ///
    /// # Errors
    /// The script has no command of that name.
    pub fn command(&self, user: &User) -> Result<Command, ScriptError> {
        let name = self.plan.command.as_deref().unwrap_or_default();
        let found: Option<String> = self.state.call("command", (user.record(), name))?;
        match found.as_deref() {
            Some(kind) => Ok(Command::of(kind)),
            None => Err(ScriptError::NoCommand {
                script: self.plan.script.clone(),
                command: name.to_owned(),
            }),
        }
    }

    /// The bytes of memory that Lua uses for the users of the newest state.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.state.used_bytes()
    }

    fn load(&self, number: u64) -> Result<User, ScriptError> {
        self.load_with(number, |stream| stream)
    }

    fn load_with(
        &self,
        number: u64,
        numbers: impl FnOnce(Stream) -> Stream,
    ) -> Result<User, ScriptError> {
        let plan = &self.plan;
        let stream = Stream::new(plan.seed, plan.distribution, number, plan.users.max(1))
            .map_err(|error| ScriptError::Load { message: error.to_string() })?;
        let (record, thread) = self.state.user(number, numbers(stream), &plan.script)?;
        let mut user = User::new(self.state.clone(), number, record, thread);
        user.load(plan)?;
        Ok(user)
    }

    pub(crate) fn configure(&self, user: &mut User) -> Result<(), ScriptError> {
        configure(&self.state, &self.plan, user.record())
    }

    /// From now on this plan holds, for the options that are not set yet.
    pub(crate) fn replace_plan(&mut self, plan: ScriptPlan) {
        self.plan = Arc::new(plan);
    }

    /// Checks that there is something to run.
    ///
    /// # Errors
    /// The script has neither `event` nor a `thread_run` of its own.
    pub fn check_run(&self, user: &User) -> Result<(), ScriptError> {
        if self.state.call("can_run", user.record())? {
            return Ok(());
        }
        Err(ScriptError::NoEvent { script: self.plan.script.clone() })
    }
}
